"""Whether something can be had on this machine, as data."""

from __future__ import annotations

import msgspec

from tare.results.message import Said


class Availability(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a platform or a load works here; if not, why, and what would fix it."""

    name: str
    works: bool
    why: Said | None = None
    #: The line to type, where there is one.
    fix: str | None = None
    #: Instructions are translated: what is measured there is no measure of a machine.
    emulated: bool = False
