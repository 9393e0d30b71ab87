"""Why a measurement ended early, or never began, in words, and what to type."""

from __future__ import annotations

import ipaddress
from typing import Any

import msgspec

from tare import units
from tare.errors import AgentError
from tare.record import (
    BeyondLimit,
    CongestionRefused,
    Ended,
    EndFull,
    EndMute,
    EndSilent,
    EndUnreachable,
    KeyNotProved,
    MeasureFailed,
    NotTare,
    OtherKey,
    OtherVersion,
    PortClosed,
)

#: What the other end is told at its start.
_OPTIONS = {
    "time": "--max-duration", "bytes": "--max-bytes", "streams": "--max-streams",
    "total_bytes": "--max-total-bytes",
}  # fmt: skip
#: What to ask less of here.
_LESS = {
    "time": "a shorter --duration",
    "bytes": "a smaller --max-bytes",
    "streams": "--streams {allowed}",
}
#: What ended it, and what to type.
_WORDS: dict[type[Ended], tuple[str, str | None]] = {
    EndFull: (
        "the other end is full: as many are measured there as it allows",
        "the same later, or on the other host: tare net serve --max-streams 1024 …",
    ),
    PortClosed: (
        "{end} refused the connection: nothing listens there",
        "on the other host: tare net serve --bind {host} --key FILE",
    ),
    EndSilent: (
        "no answer from {end}: the host is down, or a firewall drops packets",
        "ping {host}",
    ),
    EndUnreachable: ("cannot reach {end}: {error}", "ip route get {host}"),
    EndMute: (
        "{end} took the connection and did not greet: not a tare server, or the server is full",
        "on the other host: tare net serve --bind ADDRESS --key FILE   (prints its port)",
    ),
    NotTare: (
        "{end} is not a tare server",
        "on the other host: tare net serve --bind ADDRESS --key FILE   (prints its port)",
    ),
    OtherVersion: (
        "{end} speaks version {theirs}, this tare version {ours}",
        "install the same tare on both hosts",
    ),
    OtherKey: (
        "{end} has another key",
        "copy the key file of the other end to here, and name it with --key",
    ),
    KeyNotProved: (
        "{end} does not have the key: it is not the server that you mean",
        "copy the key file of the other end to here, and name it with --key",
    ),
    CongestionRefused: (
        "{which} refuses congestion control {name!r}: {error}{possible}",
        "--congestion kernel   (the kernel's own)",
    ),
    MeasureFailed: ("{message}", None),
}


class EndedError(AgentError):
    """The agent reports why it does not measure, or no longer.

    Attributes
    ----------
    ended : Ended or None
        The reason; None: it gave none.
    """

    def __init__(self, ended: Ended | None) -> None:
        if ended is None:
            super().__init__("the measuring agent ended, and did not say why")
        else:
            super().__init__(describe(ended), advise(ended))
        self.ended = ended


def describe(ended: Ended) -> str:
    """Return what ended it."""
    if isinstance(ended, BeyondLimit):
        return _beyond(ended)
    return _WORDS[type(ended)][0].format_map(_fields(ended))


def advise(ended: Ended) -> str | None:
    """Return what to type; None: nothing is known to help."""
    if isinstance(ended, BeyondLimit):
        return _beyond_advice(ended)
    hint = _WORDS[type(ended)][1]
    return None if hint is None else hint.format_map(_fields(ended))


def _fields(ended: Ended) -> dict[str, Any]:
    fields = msgspec.structs.asdict(ended)
    if isinstance(ended, CongestionRefused):
        fields["which"] = "this host" if ended.here else "the other end"
        fields["possible"] = f"; possible: {ended.available}" if ended.available else ""
    return fields | {"host": _host(str(fields.get("end", "")))}


def _beyond_advice(ended: BeyondLimit) -> str:
    asked = "MORE" if ended.asked is None else _typed(ended, ended.asked)
    there = f"on the other host: tare net serve {_OPTIONS[ended.limit]} {asked} …"
    if ended.asked is None or ended.limit not in _LESS:
        return there
    return f"{_LESS[ended.limit].format(allowed=ended.allowed)}, or {there}"


def _beyond(ended: BeyondLimit) -> str:
    most = _told(ended, ended.allowed)
    if ended.limit == "streams":
        asked = "" if ended.asked is None else f", this measurement takes {ended.asked}"
        return f"the other end allows {most} at once{asked}"
    what = "in all" if ended.limit == "total_bytes" else "for one measurement"
    if ended.asked is not None:
        asked = _told(ended, ended.asked)
        return f"the other end allows {most} {what}, this one takes {asked}"
    return f"the other end ended it: it allows {most} {what}, and that was reached"


def _told(ended: BeyondLimit, value: int) -> str:
    match ended.limit:
        case "time":
            return units.amount("ns", value)
        case "streams":
            return f"{value} data stream{'s' * (value != 1)}"
        case _:
            return units.chosen(value, "bytes")


def _typed(ended: BeyondLimit, value: int) -> str:
    match ended.limit:
        case "time":
            return f"{-(-value // 10**9)}s"
        case "streams":
            return str(value)
        case _:
            return units.chosen(value, "bytes").replace(" ", "")


def _host(end: str) -> str:
    host = end.rpartition(":")[0].strip("[]")
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return "ADDRESS"
