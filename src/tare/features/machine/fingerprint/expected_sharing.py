"""What is expected of connections, of another machine's files, and of readers that share a disk."""

from __future__ import annotations

import re

from tare.features.machine.fingerprint.expectation import Machine, Prediction, needed, rests
from tare.results.message import Amount, Message, message

_WHY_RATE = (
    "{rate}{% if measured %}, as measured{% else %}, the rate of the fastest link{% endif %}"
)
_WHY_CONNECTION_TEXTS = {
    "setup": "at least the handshake and two system calls; a round trip is {source}",
    "teardown": "at least FIN with its answer, and a system call; a round trip is {source}",
    "later": "at least a system call: the kernel ends the connection later",
    "reset": "at least the handshake, a reset and four system calls; a round trip is {source}",
}

#: Round trip in a local network of Ethernet where none was measured: SYSMEASURE's prediction.
_LAN_NS = 100e3
#: Readers of the probe of contention, the measured one included, and bytes of a read.
_READERS, _BLOCK = 10, 4096


def connection(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect the round trips of a handshake and of an end, and the system calls around them."""
    remote, part = bool(found[1]), found[2]
    call = machine.value("syscall.getpid")
    value, source = needed(_round_trip(machine, remote=remote))
    # On the loopback the third segment of the handshake, and both of the end, are in the calls.
    setup = (1.0 if remote else 1.5) * value + 2 * call
    teardown = call if remote else value + call
    # A reset is one segment, and takes one more call to ask for.
    reset = setup + 2 * call + value / 2
    if part == "teardown":
        end = "later" if remote else part
        return rests(teardown, message(_WHY_CONNECTION_TEXTS[end], source=source))
    if part in ("setup", "reset"):
        expected = setup if part == "setup" else reset
        return rests(expected, message(_WHY_CONNECTION_TEXTS[part], source=source))
    return rests(
        setup + teardown,
        message(
            "at least the handshake, the end and three system calls; a round trip is {source}",
            source=source,
        ),
    )


def _round_trip(machine: Machine, *, remote: bool) -> tuple[float, str] | None:
    """Return the round trip that kernels make by themselves, or else that of a byte over TCP."""
    end = "remote" if remote else "loopback"
    names = (f"network.ping.{end}", f"network.round_trip.{'remote.' if remote else ''}tcp_p50")
    return next(((machine.measured[n], n) for n in names if machine.measured.get(n)), None)


def remote_round_trip(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect what ping reports, and the calls and switches of the processes at both ends."""
    ping = machine.value("network.ping.remote")
    call, switch = machine.value("syscall.getpid"), machine.value("switch.process")
    return rests(
        ping + 4 * call + 2 * switch,
        message("at least network.ping.remote, four system calls and two switches, as measured"),
    )


def remote_read(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect a round trip and the time that the block takes on the link."""
    block = int(found[2])
    trip = _round_trip(machine, remote=True)
    latency = _LAN_NS if trip is None else trip[0]
    rate, link = _rate(machine)
    value = latency + (block / rate * 1e9 if rate else 0.0)
    why = message(
        "one round trip{% if link %} and the block at {link}{% endif %}; a round trip takes "
        "{time} ({% if measured %}as measured to the peer{% else %}usual for a local "
        "network, none was measured: --peer HOST{% endif %}); less where it comes from a "
        "cache of this machine, more where the server's disk is slow",
        time=Amount(latency, "ns"),
        measured=trip is not None,
        link=link,
    )
    return rests(block / value * 1e9 if found[1] == "bandwidth" else value, why)


def _rate(machine: Machine) -> tuple[float | None, Message | None]:
    """Return bytes per second of the network: as measured, or of its fastest link."""
    measured = machine.measured.get("network.bandwidth.remote")
    if measured:
        return measured, message(_WHY_RATE, rate=Amount(measured, "B/s"), measured=True)
    links = [one.link_mbit_per_s for one in machine.hardware.network if one.link_mbit_per_s]
    if not links:
        return None, None
    rate = max(links) * 1e6 / 8
    return rate, message(_WHY_RATE, rate=Amount(rate, "B/s"), measured=False)


def contention(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect that one head serves readers in turn, and that other disks serve them at once.

    What the disk carries at most, and the CPUs' part of each read, bound the latter.
    """
    disk = machine.hardware.disk
    if disk is not None and disk.kind == "rotating":
        return rests(
            float(_READERS), message("one head serves {readers} readers in turn", readers=_READERS)
        )
    alone = machine.value(f"file.read.random.latency.{_BLOCK}")
    rates = [
        value
        for name, value in machine.measured.items()
        if re.fullmatch(r"file\.read\.sequential\.bandwidth\.\d+", name)
    ]
    call, switch = machine.value("syscall.getpid"), machine.value("switch.process")
    disk_ns = _READERS * _BLOCK / max(needed(rates)) * 1e9
    cpu_ns = _READERS * (call + 2 * switch) / needed(machine.hardware.cpus)
    return rests(
        max(1.0, disk_ns / alone, cpu_ns / alone),
        message(
            "the disk serves {readers} readers at once, within its {rate} and what the CPUs "
            "do for each read; up to {readers} where they wait for one queue, such as a "
            "host's limit",
            readers=_READERS,
            rate=Amount(max(rates), "B/s"),
        ),
    )


RULES = (
    (r"network\.connect\.(remote\.)?(whole|setup|teardown|least|reset)", connection),
    (r"network\.round_trip\.remote\.(?:tcp|tcp56|udp)_p50", remote_round_trip),
    (r"file\.remote\.(?:sequential|random)\.(latency|bandwidth)\.(\d+)", remote_read),
    (r"file\.contention\.slowdown", contention),
)
