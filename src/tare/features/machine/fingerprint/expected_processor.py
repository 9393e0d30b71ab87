"""What is expected of the core itself: its clock, loops, calls, branches, reads of the counter."""

from __future__ import annotations

import re

from tare.features.machine.fingerprint.expectation import (
    FREQUENCY,
    Machine,
    Prediction,
    needed,
    rests,
)
from tare.results.message import Amount, message

_WHY_COUNTER_TEXTS = {
    "tsc": "rdtsc",
    "tscp": "rdtscp",
    "tsc_fenced": "rdtsc between two fences",
    "vdso": "rdtsc, a fence, and the kernel's scale",
}
_WHY_TEXTS = {
    "branch": "one taken branch a cycle",
    "addition": "one addition a cycle",
}

#: Cycles of a fence after which nothing waits, of the arithmetic of the vDSO (a sequence counter,
#: a multiplication, a shift), and of a coarse clock, which is that without the counter.
_FENCE, _VDSO, _COARSE = 4, 22, 14
#: ``rdtscp`` waits for what is before it and reads one register more (Fog, Instruction tables).
_TSCP = 8
#: A call and its return are taken branches, a cycle or two each; the return address goes through
#: memory, which is the latency of the first cache.
_CALL = 4
#: Registers that the C calling convention of x86-64 has for integers; floating point: eight.
_INTEGER_REGISTERS = 6


def loop(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect one cycle of an empty loop and of an addition that waits for the one before."""
    what = "branch" if found[0] == "loop.empty" else "addition"
    return machine.cycles(1, message(_WHY_TEXTS[what]), promised=True)


def frequency(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect the clock's highest promise, or its base where that is hidden."""
    clock = machine.hardware.clock
    if clock.maximum_hz:
        return rests(clock.maximum_hz, message("the maximum of one core, by cpufreq"))
    value = needed(clock.base_hz or clock.tsc_hz)
    real = machine.measured.get(found[0])
    beyond = None
    if real and real > 1.03 * value:
        beyond = message(
            "it runs faster, by turbo{% if guest %}; the host hides its limit from guests"
            "{% endif %}",
            guest=machine.guest,
        )
    elif real and real < 0.97 * value:
        beyond = message("it runs slower: a power-saving governor, heat, or a limit of the host")
    return rests(
        float(value),
        message(
            "{% if base %}its base frequency{% else %}the rate of its time-stamp counter"
            "{% endif %}",
            base=clock.base_hz is not None,
        ),
        beyond,
    )


def tsc_frequency(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect what the kernel takes the counter's rate for."""
    hz = needed(machine.hardware.clock.tsc_hz)
    return rests(float(hz), message("the rate by which the kernel counts"))


def counter(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect the published cycles of a read of the counter, and what is put around it."""
    if found[0] == "clock.coarse":
        return machine.cycles(_COARSE, message("the kernel's last tick, without the counter"))
    name, read = found[1], needed(machine.core.rdtsc)
    more = {"tsc": 0, "tscp": _TSCP, "tsc_fenced": 2 * _FENCE, "vdso": _FENCE + _VDSO}[name]
    what = message(_WHY_COUNTER_TEXTS[name])
    return machine.cycles(read + more, what)


def call(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect a call, its return, and the moves of its arguments."""
    arguments = int(found[2])
    registers = _INTEGER_REGISTERS if found[1] == "int" else 8
    stacked = max(0, arguments - registers)
    cycles = _CALL + (arguments - stacked) / machine.core.issue + stacked
    return machine.cycles(
        cycles, message("call, return and {moves | counted('move')}", moves=arguments)
    )


def mispredict(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect the published penalty."""
    return machine.cycles(machine.core.mispredict, message("refilling the pipeline"))


def steady(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect the base under full load: that is what it promises."""
    base = needed(machine.hardware.clock.base_hz or machine.hardware.clock.tsc_hz)
    return rests(
        float(base),
        message(
            "its base of {base}; more is turbo, which is not guaranteed", base=Amount(base, "Hz")
        ),
    )


RULES = (
    (r"loop\.(empty|dependent_add)", loop),
    (re.escape(FREQUENCY), frequency),
    (r"clock\.tsc_frequency", tsc_frequency),
    (r"clock\.(tsc|tscp|tsc_fenced|vdso|coarse)", counter),
    (r"call\.(int|float|double)\.(\d+)", call),
    (r"branch\.mispredict(?:ed|ion|_penalty)?", mispredict),
    (r"cpu\.frequency\.steady(?:\.\d+)?", steady),
)
