"""Why a measurement ended early, or never began, and what to type."""

from __future__ import annotations

import ipaddress

import msgspec

from tare import units
from tare.agent.record import (
    BeyondLimit,
    CongestionRefused,
    Ended,
    EndFull,
    EndMute,
    EndSilent,
    EndUnreachable,
    KeyNotProved,
    NotTare,
    OtherKey,
    OtherVersion,
    PortClosed,
)
from tare.errors import AgentError, Typed, filled
from tare.render.words import text
from tare.results.message import Chosen, Duration, Message, Value, message

_ENDED_TEXTS = {
    "end_full": "the other end is full: it allows no more data streams",
    "port_closed": "{end} refused the connection: nothing listens there",
    "end_silent": "no answer from {end}: the host is down, or a firewall drops packets",
    "end_unreachable": "cannot reach {end}: {error}",
    "end_mute": (
        "{end} accepted the connection and sent nothing: not a tare server, or the server is full"
    ),
    "not_tare": "{end} is not a tare server",
    "other_version": "{end} has version {theirs} of the protocol, this tare has version {ours}",
    "other_key": "{end} has another key",
    "key_not_proved": "{end} does not have the key: it is not the intended server",
    "congestion_refused": (
        "{% if here %}this host{% else %}the other end{% endif %} refuses congestion control "
        "'{name}': {error}{% if available %}; possible: {available}{% endif %}"
    ),
    "measure_failed": "{message}",
}

#: Options of ``tare net serve`` that set each limit.
_OPTIONS = {
    "time": "--max-duration", "bytes": "--max-bytes", "streams": "--max-streams",
    "total_bytes": "--max-total-bytes",
}  # fmt: skip
#: What to reduce on this end, by limit.
_LESS = {
    "time": "a shorter --duration",
    "bytes": "a smaller --max-bytes",
    "streams": "--streams {allowed}",
}
_START = "on the other host: tare net serve --bind ADDRESS --key FILE   (prints its port)"
_COPY = "copy the key file of the other end to here, and name it with --key"
#: Command to type, by the reason for the end.
_HINTS: dict[type[Ended], str] = {
    EndFull: "the same later, or on the other host: tare net serve --max-streams 1024 …",
    PortClosed: "on the other host: tare net serve --bind {host} --key FILE",
    EndSilent: Typed("ping {host}"),
    EndUnreachable: Typed("ip route get {host}"),
    EndMute: _START,
    NotTare: _START,
    OtherVersion: "install the same tare on both hosts",
    OtherKey: _COPY,
    KeyNotProved: _COPY,
    CongestionRefused: Typed("--congestion kernel   (the kernel's own)"),
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
            super().__init__(text(describe(ended)), advise(ended))
        self.ended = ended


def describe(ended: Ended) -> Message:
    """Return what ended it."""
    if isinstance(ended, BeyondLimit):
        return _beyond(ended)
    tag = str(ended.__struct_config__.tag)
    return message(_ENDED_TEXTS[tag], **msgspec.structs.asdict(ended))


def advise(ended: Ended) -> str | None:
    """Return what to type; None: nothing is known to help."""
    if isinstance(ended, BeyondLimit):
        return _beyond_advice(ended)
    hint = _HINTS.get(type(ended))
    if hint is None:
        return None
    return filled(hint, host=_host(str(getattr(ended, "end", ""))))


def _beyond_advice(ended: BeyondLimit) -> str:
    asked = "MORE" if ended.asked is None else _typed(ended, ended.asked)
    there = f"on the other host: tare net serve {_OPTIONS[ended.limit]} {asked} …"
    if ended.asked is None or ended.limit not in _LESS:
        return there
    less = _LESS[ended.limit].format(allowed=ended.allowed)
    return Typed(f"{less}   (or {there})") if less.startswith("--") else f"{less}, or {there}"


def _beyond(ended: BeyondLimit) -> Message:
    if ended.limit == "streams":
        return message(
            "the other end allows {allowed | counted('data stream')} at a time{% if asked %}"
            ", this measurement takes {asked}{% endif %}",
            allowed=ended.allowed,
            asked=ended.asked,
        )
    asked = None if ended.asked is None else _amount(ended, ended.asked)
    whole = ended.limit == "total_bytes"
    allowed = _amount(ended, ended.allowed)
    return message(
        "{% if asked %}the other end allows {allowed}{% else %}the other end ended it: its "
        "limit of {allowed}{% endif %} {% if whole %}in total{% else %}per measurement"
        "{% endif %}{% if asked %}, this one takes {asked}{% else %} was reached{% endif %}",
        allowed=allowed,
        asked=asked,
        whole=whole,
    )


def _amount(ended: BeyondLimit, value: int) -> Value:
    return Duration(value / 1e9) if ended.limit == "time" else Chosen(value, "bytes")


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
