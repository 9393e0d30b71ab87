"""Options of ``tare doctor``."""

from __future__ import annotations

from collections.abc import Iterable

from tare.host.check import PURPOSES, Purpose
from tare.options import kinds, shared
from tare.options.option import HOW_MANY, OUTPUT, WHAT, Options, argument, flag, option


def _settings() -> Iterable[str]:
    from tare.host.settings import units

    return ("all", *units())


class DoctorOptions(Options):
    """Options of ``tare doctor``."""

    command: list[str] = argument(
        kinds.WORD, "[-- COMMAND…]", "With --fix: hold while this runs.", repeatable=True
    )
    fix: str | None = option(
        kinds.WORD.offering(_settings, "NAME[=VALUE],…"),
        "Hold settings, or all that help, and restore them afterwards.", group=WHAT,
    )  # fmt: skip
    purpose: list[Purpose] = option(
        kinds.choice(PURPOSES, "NAME"), "Judge by this purpose: times, speed, …; repeatable.",
        group=WHAT, repeatable=True,
    )  # fmt: skip
    duration: float | None = option(
        kinds.DURATION, "With --fix: hold so long.", group=HOW_MANY, shown="1 h"
    )
    quick: bool = flag("Do not watch the machine, nor measure noise.", group=HOW_MANY)
    noise_window: float = option(
        kinds.DURATION, "How long to measure noise.", group=HOW_MANY, default=10.0, shown="10 s"
    )
    as_root: bool = shared.AS_ROOT
    json: str | None = shared.JSON
    all: bool = flag("Print values and reasons of all checks.", group=OUTPUT)
