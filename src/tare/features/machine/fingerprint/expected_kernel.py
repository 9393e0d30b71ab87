"""What is expected of the kernel, the network and files: floors made of what is beneath them."""

from __future__ import annotations

import re

from tare.features.machine.fingerprint.expectation import Machine, Prediction, needed, rests
from tare.results.message import Amount, message

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


def system_call(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect the entry and exit, and what this kernel's mitigations add."""
    told, cycles = [], float(_ENTRY)
    for flaw, words, cost, name in _ADDED:
        if words in machine.hardware.mitigations.get(flaw, "") and name not in told:
            told.append(name)
            cycles += cost
    calls = 2 if found[0] == "syscall.open_close" else 1
    vdso = machine.measured.get("clock.vdso", 0.0) if "clock" in found[0] else 0.0
    what = message(
        "at least entry and exit{% if calls > 1 %} of {calls} calls{% endif %}, "
        "{% if mitigations %}with {mitigations | listing}{% else %}no costly mitigation"
        "{% endif %}",
        calls=calls,
        mitigations=told,
    )
    made = machine.cycles(calls * cycles, what)
    if not vdso:
        return made
    return rests(made.value + vdso, *made.why, message("plus reading the clock"))


def round_trip(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect at least the system calls and the switches that a round trip is made of.

    The round trip that ping reports for as many bytes is named as a reference.
    """
    call = machine.value("syscall.getpid")
    switch = machine.measured.get("switch.thread") or machine.value("switch.process")
    value = _CALLS * call + _SWITCHES * switch
    ping = machine.measured.get("network.ping.loopback") if "tcp56" in found[0] else None
    return rests(
        value,
        message(
            "at least {calls} system calls and {switches} switches, as measured here; plus "
            "the protocol, and waking another CPU",
            calls=_CALLS,
            switches=_SWITCHES,
        ),
        message(
            "for reference: ping reports {time} for as many bytes (ICMP, no process at the "
            "other end)",
            time=Amount(ping, "ns"),
        )
        if ping
        else None,
    )


def random_read(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect of a read of 4 KiB what its kind of disk takes."""
    kind = needed(needed(machine.hardware.disk).kind)
    if kind == "rotating":
        return rests(_SEEK_NS + _TURN_NS, message("a mean seek and half a turn at 7200 a minute"))
    return rests(
        needed(_FLASH_NS.get(kind)), message("one read of flash, as of a {kind}", kind=kind)
    )


def sequential_read(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect of reads in order what the disk's tracks or its link carry."""
    kind = needed(machine.hardware.disk).kind
    if kind == "rotating":
        return rests(_TRACK, message("the outer tracks of a disk at 7200 a minute"))
    needed(kind == "SATA SSD")
    return rests(_SATA, message("6 Gbit/s of SATA, less its coding"))


RULES = (
    (r"syscall\.\w+|clock\.(?:syscall|thread_cpu)", system_call),
    (r"network\.round_trip\.(?:tcp|tcp56|udp)_p50", round_trip),
    (r"file\.read\.random\.latency\.4096|fault\.major", random_read),
    (r"file\.read\.sequential\.bandwidth\.\d+", sequential_read),
)
