"""What is expected of processes, threads and switches: system calls, pages and cycles."""

from __future__ import annotations

import re

from tare.features.machine.fingerprint.expectation import Machine, Prediction, rests
from tare.results.message import message

#: Pages that the kernel makes for a task's kernel stack (x86-64: 16 KiB), and for the page tables
#: of a small process: the top level, and three levels for its program, its heap and its stack.
_STACK_PAGES, _TABLE_PAGES = 4, 10
#: Pages that a parent and its child each copy when they first write after a fork: stack and data.
_COPIED_PAGES = 2
#: Pages that a program touches until it ends: the smallest one, and a dynamically linked shell.
#: Counted as minor faults (wait4).
_SMALLEST_PAGES, _DYNAMIC_PAGES = 6, 60
#: System calls. Of a process: fork, exit, waitpid. Of glibc's pthread_create: clone3 between two
#: changes of the signal mask. Of the thread and its join: rseq, set_robust_list, madvise, exit,
#: futex. Of a stack that is not cached: mmap, mprotect, munmap.
_PROCESS_CALLS, _THREAD_CALLS, _JOIN_CALLS, _MAPPING_CALLS = 3, 3, 5, 3
#: Cycles of a switch of threads: a pinned pair of threads takes 1.2 µs at 3.9 GHz for a switch with
#: half a round trip through a pipe, of which the pipe is about a third (Bendersky, Measuring
#: context switching and memory overheads for Linux threads, 2018).
_SWITCH = 3000
#: Cycles that another address space adds: the write of CR3 and the refill of some 20 entries of
#: the TLB, with a walk of about 30 cycles each (Fog; Intel's optimization manual).
_ADDRESS_SPACE = 800


def process(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect the calls, switches and pages that a child of this kind is made of."""
    kind = found[1]
    copies = 0 if kind == "vfork" else _COPIED_PAGES
    made = _STACK_PAGES + (0 if kind == "vfork" else _TABLE_PAGES)
    if kind == "create":
        return _sum(machine, calls=1, made=made, copied=copies)
    # The child writes as well, and both its start and its end are switches.
    return _sum(machine, calls=_PROCESS_CALLS, switches=2, made=made, copied=2 * copies)


def program(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect a new program in place of a child's: page tables and the pages that it touches."""
    kind = found[1]
    base = "process.vfork" if kind == "posix_spawn_smallest" else "process.fork"
    touched = _DYNAMIC_PAGES if kind == "shell" else _SMALLEST_PAGES
    return _sum(machine, base=base, calls=1, made=_TABLE_PAGES, mapped=touched)


def thread(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect the calls, switches and pages of a thread."""
    kind = found[1]
    if kind == "create":
        return _sum(machine, calls=_THREAD_CALLS, made=_STACK_PAGES)
    if kind == "create_join":
        calls = _THREAD_CALLS + _JOIN_CALLS
        return _sum(machine, calls=calls, switch_of="switch.thread", switches=2, made=_STACK_PAGES)
    # Of the new stack two pages are touched, and a table is made for them.
    return _sum(machine, base="thread.create_join", calls=_MAPPING_CALLS, made=3)


def _sum(
    machine: Machine,
    *,
    base: str | None = None,
    calls: int = 0,
    switch_of: str = "switch.process",
    switches: int = 0,
    made: int = 0,
    copied: int = 0,
    mapped: int = 0,
) -> Prediction:
    """Return the sum of measured figures times their counts."""
    counts = {
        base: 1,
        "syscall.getpid": calls,
        switch_of: switches,
        "fault.minor_anonymous": made,
        "fault.copy_on_write": copied,
        "fault.minor_file": mapped,
    }
    some = {name: count for name, count in counts.items() if name and count}
    value = sum(count * machine.value(name) for name, count in some.items())
    parts = [
        message("{% if count > 1 %}{count} × {% endif %}{metric}", count=count, metric=name)
        for name, count in some.items()
    ]
    return rests(value, message("at least {parts | listing}, as measured here", parts=parts))


def switch(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect the published cycles of a switch, and for a round trip twice that and the pipe."""
    process_too = found[2] == "process"
    what = message(
        "registers, stacks and the scheduler{% if address_space %}, and another address space"
        "{% endif %}, as published for one pair of tasks",
        address_space=process_too,
    )
    one = machine.cycles(_SWITCH + (_ADDRESS_SPACE if process_too else 0), what)
    if not found[1]:
        return one
    return rests(
        2 * (one.value + machine.value("switch.pipe")),
        message("two switches and two passes through the pipe (switch.pipe)"),
        *one.why,
    )


def pipe(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect a write and a read of one byte, as measured of devices that hold nothing."""
    value = machine.value("syscall.write_byte") + machine.value("syscall.read_byte")
    return rests(
        value,
        message(
            "at least syscall.write_byte and syscall.read_byte, as measured here; plus the "
            "pipe's buffer and lock"
        ),
    )


RULES = (
    (r"process\.(create|fork|vfork)", process),
    (r"process\.(posix_spawn_smallest|exec_smallest|shell)", program),
    (r"thread\.(create|create_join|create_join_cold)", thread),
    (r"switch\.(round_trip_)?(process|thread)", switch),
    (r"switch\.pipe", pipe),
)
