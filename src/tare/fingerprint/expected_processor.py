"""What is expected of the core itself: its clock, loops, calls, branches, reads of the counter."""

from __future__ import annotations

import re

from tare.fingerprint.expectation import FREQUENCY, Machine, Prediction
from tare.units import chosen

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
    what = "one taken branch a cycle" if found[0] == "loop.empty" else "one addition a cycle"
    return machine.cycles(1, found[0], what, promised=True)


def frequency(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Expect the clock's highest promise, or its base where that is hidden."""
    clock = machine.hardware.clock
    if clock.maximum_hz:
        return Prediction(
            value=clock.maximum_hz, why="the highest that one core reaches, cpufreq says"
        )
    value = clock.base_hz or clock.tsc_hz
    if value is None:
        return None
    why = "its base" if clock.base_hz else "at which its time-stamp counter ticks"
    real = machine.measured.get(found[0])
    if real and real > 1.03 * value:
        hidden = "; a guest is not told how far the host lets it run" if machine.guest else ""
        why += f"; it runs faster, by turbo{hidden}"
    elif real and real < 0.97 * value:
        why += "; it runs slower: a governor that saves, heat, or a host that holds it back"
    return Prediction(value=float(value), why=why)


def tsc_frequency(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Expect what the kernel takes the counter's rate for."""
    hz = machine.hardware.clock.tsc_hz
    return None if hz is None else Prediction(value=float(hz), why="what the kernel counts by")


def counter(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Expect the published cycles of a read of the counter, and what is put around it."""
    core = machine.core
    if found[0] == "clock.coarse":
        return machine.cycles(_COARSE, found[0], "the kernel's last tick, without the counter")
    if core is None or core.rdtsc is None:
        return None
    more, what = {
        "clock.tsc": (0, "rdtsc"),
        "clock.tscp": (_TSCP, "rdtscp"),
        "clock.tsc_fenced": (2 * _FENCE, "rdtsc between two fences"),
        "clock.vdso": (_FENCE + _VDSO, "rdtsc, a fence, and the kernel's scale"),
    }[found[0]]
    return machine.cycles(core.rdtsc + more, found[0], what)


def call(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Expect a call, its return, and the moves of its arguments."""
    core, arguments = machine.core, int(found[2])
    if core is None:
        return None
    registers = _INTEGER_REGISTERS if found[1] == "int" else 8
    stacked = max(0, arguments - registers)
    cycles = _CALL + (arguments - stacked) / core.issue + stacked
    return machine.cycles(cycles, found[0], f"call, return and {arguments} moves")


def mispredict(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Expect the published penalty."""
    core = machine.core
    if core is None:
        return None
    return machine.cycles(core.mispredict, found[0], "the pipeline filled anew")


def steady(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Expect the base under full load: that is what it promises."""
    base = machine.hardware.clock.base_hz or machine.hardware.clock.tsc_hz
    if base is None:
        return None
    return Prediction(
        value=float(base),
        why=f"its base of {chosen(base, 'Hz', 3)}; more is turbo, which nobody promises",
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
