"""Options of ``tare net emulate``."""

from __future__ import annotations

from pathlib import Path

from tare import units
from tare.options import kinds, shared
from tare.options.measuring import MOST_HOSTS
from tare.options.option import HOW_MANY, OUTPUT, WHERE, Options, argument, flag, option


def _is_host(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text) >= 1


def _on(text: str) -> int | str:
    if text != "all" and not _is_host(text):
        raise units.QuantityError("is no host from 1, nor all", "all")
    return text if text == "all" else int(text)


def _of_host(text: str) -> tuple[int, str]:
    number, equals, spec = text.partition("=")
    if not equals or not _is_host(number):
        raise units.QuantityError("says not which host, from 1", "2='rate 200Mbit'")
    return int(number), spec


_HOST = kinds.Kind("a host from 1, or all", str, parse=_on, metavar="K|all")
_SHAPE = kinds.Kind('a host and its shape, such as "2=none"', str, parse=_of_host, metavar="K=SPEC")


class EmulateOptions(Options):
    """Options of ``tare net emulate``."""

    spec: list[str] = argument(
        kinds.WORD, "SPEC…", "Shape of every host's egress.", repeatable=True,
    )  # fmt: skip
    command: list[str] = argument(
        kinds.WORD, "-- COMMAND…", "What to run.", repeatable=True, after_dashes=True,
    )  # fmt: skip
    duration: float | None = option(
        kinds.DURATION, "End the command, or the network, after this.", group=HOW_MANY,
    )  # fmt: skip
    hosts: int | None = option(kinds.whole(1, MOST_HOSTS), "Hosts.", group=WHERE, shown="2")
    host: list[tuple[int, str]] = option(
        _SHAPE, "Shape of host K instead; repeatable.", group=WHERE, repeatable=True,
    )  # fmt: skip
    on: int | str = option(
        _HOST.offering(lambda: ("all", "1", "2")), "Host of the command.", group=WHERE, default=1,
    )  # fmt: skip
    serve: list[str] = option(
        kinds.WORD, "Run on the other hosts meanwhile: 'iperf3 -s'.", group=WHERE,
        metavar="COMMAND", repeatable=True,
    )  # fmt: skip
    interface: str | None = option(
        kinds.WORD, "Shape this interface of this host instead.", group=WHERE, metavar="NAME",
    )  # fmt: skip
    as_root: bool = shared.AS_ROOT
    check: bool = flag(
        "Do not measure first whether it delivers what is asked.", group=WHERE, default=True,
    )  # fmt: skip
    log: Path | None = option(kinds.PATH, "Write tokens over time as NDJSON.", group=OUTPUT)
    json: str | None = shared.JSON
