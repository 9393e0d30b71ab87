"""What is expected of the kernel, the network and files: floors made of what is beneath them."""

from __future__ import annotations

import re

from tare.fingerprint.expectation import Machine, Prediction

#: Cycles of ``syscall``, ``sysret``, the entry's saves and the least of work (Fog; the kernel's
#: ``entry_64.S``), and of what mitigations add on the way in and out: the writes of CR3 of page
#: table isolation with PCID, the writes of SPEC_CTRL of IBRS, the untraining of returns, the
#: clearing of buffers by VERW. Sources: Gregg, KPTI/KAISER Meltdown initial performance
#: regressions, 2018; Linux, Documentation/admin-guide/hw-vuln.
_ENTRY = 200
_ADDED = (
    ("meltdown", "PTI", 250, "page table isolation"),
    ("spectre_v2", "Mitigation: IBRS", 300, "IBRS"),
    ("retbleed", "IBRS", 300, "IBRS"),
    ("retbleed", "untrained return thunk", 150, "untrained returns"),
    ("spec_rstack_overflow", "Mitigation: Safe RET", 20, "safe returns"),
    ("mds", "Clear CPU buffers", 250, "cleared buffers"),
    ("mmio_stale_data", "Clear CPU buffers", 250, "cleared buffers"),
    ("tsa", "Clear CPU buffers", 250, "cleared buffers"),
)
#: Milliseconds of a disk of 7200 revolutions a minute: the mean seek and half a turn (makers'
#: data sheets), and bytes a second of its outer tracks.
_SEEK_NS, _TURN_NS, _TRACK = 8.5e6, 4.17e6, 180e6
#: A read of 4 KiB of flash over SATA and over NVMe, and what SATA's 6 Gbit/s carry (8b/10b).
_FLASH_NS = {"SATA SSD": 100e3, "NVMe": 75e3}
_SATA = 600e6
#: System calls of which a round trip of a message is made, and switches where its ends share
#: the work: each sends, and each waits and receives.
_CALLS, _SWITCHES = 4, 2


def system_call(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Expect the entry and exit, and what this kernel's mitigations add."""
    told, cycles = [], float(_ENTRY)
    for flaw, words, cost, name in _ADDED:
        if words in machine.hardware.mitigations.get(flaw, "") and name not in told:
            told.append(name)
            cycles += cost
    vdso = machine.measured.get("clock.vdso", 0.0) if "clock" in found[0] else 0.0
    added = f", with {' and '.join(told)}" if told else ", and no costly mitigation"
    made = machine.cycles(cycles, found[0], f"at least entry and exit{added}")
    if made is None or made.value is None or not vdso:
        return made
    return Prediction(value=made.value + vdso, why=f"{made.why}; and the clock itself")


def round_trip(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Expect at least the system calls and the switches that a round trip is made of."""
    call = machine.measured.get("syscall.getpid")
    switch = machine.measured.get("switch.thread") or machine.measured.get("switch.process")
    if not call or not switch:
        return None
    return Prediction(
        value=_CALLS * call + _SWITCHES * switch,
        why=(
            f"at least {_CALLS} system calls and {_SWITCHES} switches, as measured here; the "
            "protocol comes on top, and waking another CPU"
        ),
    )


def growing(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Say of what no specification tells what it grows with."""
    why = {
        "process.fork": "no specification tells it: it grows with the page tables to be copied",
        "process.fork_exec": "no specification tells it: it grows with what is loaded and linked",
        "process.vfork": "no specification tells it: a fork that copies no page tables",
    }.get(found[0])
    return None if why is None else Prediction(value=None, why=why)


def random_read(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Expect of a read of 4 KiB what its kind of disk takes."""
    disk = machine.hardware.disk
    kind = None if disk is None else disk.kind
    if kind == "rotating":
        return Prediction(
            value=_SEEK_NS + _TURN_NS, why="a mean seek and half a turn at 7200 a minute"
        )
    if kind in _FLASH_NS:
        return Prediction(value=_FLASH_NS[kind], why=f"one read of flash, as of a {kind}")
    return _hidden(kind)


def sequential_read(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Expect of reads in order what the disk's tracks or its link carry."""
    disk = machine.hardware.disk
    kind = None if disk is None else disk.kind
    if kind == "rotating":
        return Prediction(value=_TRACK, why="the outer tracks of a disk at 7200 a minute")
    if kind == "SATA SSD":
        return Prediction(value=_SATA, why="6 Gbit/s of SATA, less its coding")
    if kind == "NVMe":
        return Prediction(value=None, why="it depends on the lanes of its link and its flash")
    return _hidden(kind)


def hidden_read(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Say what hides a disk, for sizes of which nothing else is told."""
    disk = machine.hardware.disk
    return None if disk is None else _hidden(disk.kind)


def remote_read(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Say what decides on another machine's files."""
    return _hidden("remote")


def cache_size(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Expect that the page cache takes all memory, though a probe never asks for that much."""
    memory = machine.hardware.memory_bytes
    if memory is None:
        return None
    why = "it takes what memory is free"
    if machine.measured.get(found[0], memory) < 0.9 * memory:
        why += "; the probe asks for no more than it is allowed"
    return Prediction(value=float(memory), why=why)


def kept(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Expect that a machine of one's own keeps its speed."""
    if machine.hardware.virtual is False:
        return Prediction(value=1.0, why="on bare metal nobody shapes the CPUs; heat may")
    return None


def _hidden(kind: str | None) -> Prediction | None:
    why = {
        "virtual": "a virtual disk: what the host has behind it, its cache or a network, it hides",
        "remote": "the other machine's disk, its cache and the network between decide",
        "memory": "there is no disk beneath: it is memory",
    }.get(kind or "")
    return None if why is None else Prediction(value=None, why=why)


def major_fault(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Expect of a fault that waits for the disk what the disk takes."""
    return random_read(machine, found)


def stolen(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Expect that nobody takes anything where there is nobody."""
    if machine.hardware.virtual is False:
        return Prediction(value=0.0, why="on bare metal there is nobody to take it")
    if machine.guest:
        return Prediction(value=None, why="the host's other guests decide")
    return None


RULES = (
    (r"syscall\.(?:getpid|clock_gettime)|clock\.syscall", system_call),
    (r"network\.round_trip\.(?:tcp|udp)_p50", round_trip),
    (r"process\..*", growing),
    (r"file\.read\.random\.latency\.4096", random_read),
    (r"file\.read\.sequential\.bandwidth\.\d+", sequential_read),
    (r"file\.read\.(?:random|sequential)\..*", hidden_read),
    (r"file\.remote\..*", remote_read),
    (r"file\.cache\.size", cache_size),
    (r"cpu\.credit\.step", kept),
    (r"fault\.major", major_fault),
    (r"steal\.share", stolen),
)
