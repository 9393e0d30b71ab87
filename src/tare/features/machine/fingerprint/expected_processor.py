"""What is expected of the core itself: its clock, loops, calls, branches, reads of the counter."""

from __future__ import annotations

import re

from tare.features.machine.fingerprint.expectation import FREQUENCY, Machine, Prediction, rests
from tare.results.message import Amount, message

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


def loop(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Expect one cycle of an empty loop and of an addition that waits for the one before."""
    what = "branch" if found[0] == "loop.empty" else "addition"
    return machine.cycles(1, message(f"fingerprint.why.{what}"), promised=True)


def frequency(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Expect the clock's highest promise, or its base where that is hidden."""
    clock = machine.hardware.clock
    if clock.maximum_hz:
        return rests(clock.maximum_hz, message("fingerprint.why.highest"))
    value = clock.base_hz or clock.tsc_hz
    if value is None:
        return None
    real = machine.measured.get(found[0])
    beyond = None
    if real and real > 1.03 * value:
        beyond = message("fingerprint.why.turbo", guest=machine.guest)
    elif real and real < 0.97 * value:
        beyond = message("fingerprint.why.slow")
    return rests(
        float(value), message("fingerprint.why.nominal", base=clock.base_hz is not None), beyond
    )


def tsc_frequency(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Expect what the kernel takes the counter's rate for."""
    hz = machine.hardware.clock.tsc_hz
    return None if hz is None else rests(float(hz), message("fingerprint.why.kernel_counts"))


def counter(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Expect the published cycles of a read of the counter, and what is put around it."""
    core = machine.core
    if found[0] == "clock.coarse":
        return machine.cycles(_COARSE, message("fingerprint.why.counter.coarse"))
    if core is None or core.rdtsc is None:
        return None
    name = found[1]
    more = {"tsc": 0, "tscp": _TSCP, "tsc_fenced": 2 * _FENCE, "vdso": _FENCE + _VDSO}[name]
    what = message(f"fingerprint.why.counter.{name}")
    return machine.cycles(core.rdtsc + more, what)


def call(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Expect a call, its return, and the moves of its arguments."""
    core, arguments = machine.core, int(found[2])
    if core is None:
        return None
    registers = _INTEGER_REGISTERS if found[1] == "int" else 8
    stacked = max(0, arguments - registers)
    cycles = _CALL + (arguments - stacked) / core.issue + stacked
    return machine.cycles(cycles, message("fingerprint.why.call", moves=arguments))


def mispredict(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Expect the published penalty."""
    core = machine.core
    if core is None:
        return None
    return machine.cycles(core.mispredict, message("fingerprint.why.mispredict"))


def steady(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Expect the base under full load: that is what it promises."""
    base = machine.hardware.clock.base_hz or machine.hardware.clock.tsc_hz
    if base is None:
        return None
    return rests(float(base), message("fingerprint.why.steady", base=Amount(base, "Hz")))


RULES = (
    (r"loop\.(empty|dependent_add)", loop),
    (re.escape(FREQUENCY), frequency),
    (r"clock\.tsc_frequency", tsc_frequency),
    (r"clock\.(tsc|tscp|tsc_fenced|vdso|coarse)", counter),
    (r"call\.(int|float|double)\.(\d+)", call),
    (r"branch\.mispredict(?:ed|ion|_penalty)?", mispredict),
    (r"cpu\.frequency\.steady(?:\.\d+)?", steady),
)
