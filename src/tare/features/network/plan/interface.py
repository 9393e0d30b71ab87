"""What leaves this host by an interface, as the kernel counts it.

Read from ``/proc/net``, which is that of the reader's own network namespace, as ``/sys/class/net``
is not always.
"""

from __future__ import annotations

import fcntl
import socket
import struct
import time
from dataclasses import dataclass
from pathlib import Path

from tare.errors import ExperimentError, Typed

_DEV, _ROUTES, _ROUTES_6 = (
    Path("/proc/self/net/dev"),
    Path("/proc/self/net/route"),
    Path("/proc/self/net/ipv6_route"),
)
#: linux/sockios.h.
_SIOCGIFMTU = 0x8921
#: linux/route.h: a route that is in use.
_RTF_UP = 0x1
#: Ethernet; and IPv4 and TCP with timestamps.
_ETHERNET_BYTES, _HEADER_BYTES = 14, 52
#: The standard's, where the kernel does not tell.
_MTU = 1500


@dataclass(frozen=True)
class Counted:
    """The counters of an interface at one moment.

    Attributes
    ----------
    at_s : float
        Of the monotonic clock.
    sent_bytes, sent_packets : int
        Since the interface was made.
    """

    at_s: float
    sent_bytes: int
    sent_packets: int


def interfaces() -> dict[str, Counted]:
    """Return the counters of all interfaces by name; none where the kernel does not tell."""
    try:
        lines = _DEV.read_text().splitlines()[2:]
    except OSError:
        return {}
    at_s, found = time.monotonic(), {}
    for line in lines:
        name, _, counters = line.rpartition(":")
        values = counters.split()
        if len(values) >= 16:
            found[name.strip()] = Counted(at_s, int(values[8]), int(values[9]))
    return found


def counted(name: str) -> Counted:
    """Return the counters of one interface.

    Raises
    ------
    ExperimentError
        If there is no such interface.
    """
    found = interfaces()
    if name not in found:
        raise ExperimentError(
            f"there is no interface {name} whose counters can be read", _choose(found)
        )
    return found[name]


def default() -> str:
    """Return the interface of the default route, of several the one that the kernel prefers.

    Raises
    ------
    ExperimentError
        If there is no default route.
    """
    routes = [*_default_4(), *_default_6()]
    if not routes:
        raise ExperimentError(
            "this host has no default route that would say by which interface trials send",
            _choose(interfaces()),
        )
    return min(routes)[1]


def _choose(found: dict[str, Counted]) -> str:
    names = [name for name in found if name != "lo"]
    if not names:
        return "name how much it sends: --spend 10Gbit"
    others = f"   (or {', '.join(names[1:])})" if len(names) > 1 else ""
    return Typed(f"--spend measured:{names[0]}{others}")


def _default_4() -> list[tuple[int, str]]:
    rows = [line.split() for line in _lines(_ROUTES)[1:]]
    return [
        (int(row[6]), row[0])
        for row in rows
        if len(row) >= 8 and int(row[1], 16) == int(row[7], 16) == 0 and int(row[3], 16) & _RTF_UP
    ]


def _default_6() -> list[tuple[int, str]]:
    rows = [line.split() for line in _lines(_ROUTES_6)]
    return [
        (int(row[5], 16), row[9])
        for row in rows
        if len(row) >= 10 and int(row[0], 16) == 0 and row[1] == "00" and row[9] != "lo"
    ]


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except OSError:
        return []


def mtu(name: str) -> int:
    """Return the largest packet of an interface in bytes; 1500 where the kernel does not tell."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            answer = fcntl.ioctl(any_socket, _SIOCGIFMTU, struct.pack("16sI", name.encode(), 0))
        except OSError:
            return _MTU
    return int(struct.unpack("16sI", answer)[1]) or _MTU


def wire_bytes(sent_bytes: float, packets: float, mtu_bytes: int) -> float:
    """Return what counters mean on the wire, where each segment has a header of its own.

    Where the device divides packets (TSO, GSO), the kernel counts one header for up to 64 KiB of
    payload: the others are added as if all were TCP in full segments. Where small packets are among
    them, as acknowledgements, some headers are still missing: up to 4.6 % at an MTU of 1500.

    Parameters
    ----------
    sent_bytes, packets : float
        As the interface counted them.
    mtu_bytes : int
    """
    header = _ETHERNET_BYTES + _HEADER_BYTES
    payload = sent_bytes - header * packets
    segments = payload / max(1, mtu_bytes - _HEADER_BYTES)
    return sent_bytes + header * max(0.0, segments - packets)


def background_bps(name: str, seconds: float) -> float:
    """Return the bits a second that leave by an interface while nothing is measured.

    Raises
    ------
    ExperimentError
        If there is no such interface.
    """
    before = counted(name)
    time.sleep(seconds)
    return between(before, counted(name), mtu(name)) / max(1e-9, seconds)


def between(before: Counted, after: Counted, mtu_bytes: int) -> float:
    """Return the bits that left on the wire between two moments.

    Raises
    ------
    ExperimentError
        If the counters went back: the interface was made anew.
    """
    sent, packets = after.sent_bytes - before.sent_bytes, after.sent_packets - before.sent_packets
    if sent < 0 or packets < 0:
        raise ExperimentError(
            "the interface was made anew meanwhile, and its counters began again",
            "the same command again",
        )
    return 8 * wire_bytes(sent, packets, mtu_bytes)
