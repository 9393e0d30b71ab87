"""The network's fingerprint in short: kept for later sessions, and stored with their results.

Each session stores the last fingerprint that was taken from this machine, or the one that it was
given, as facts ``network_fingerprint_…``: figures with their intervals, so that sessions can be
compared by them long after the file is gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import msgspec

from tare.decoding import DecodeError
from tare.errors import StoreError
from tare.experiment.fingerprints.network import file
from tare.experiment.fingerprints.network.difference import DECIDING, Difference, between, decisive
from tare.experiment.fingerprints.network.document import VERSION, Figure, NetworkFingerprint, Unit
from tare.experiment.fingerprints.network.messages import shaping_of
from tare.experiment.journal import MachineFact
from tare.host import state
from tare.render.words import text

SOURCE = "tare net fingerprint"
PREFIX = "network_fingerprint_"
#: Other ends that are kept, the newest.
_MOST = 16
#: How the fingerprint came to the session: only what somebody gave is about its results for sure.
GIVEN, REMEMBERED = "given", "remembered"
#: Last word of a fact's name, by unit.
_SUFFIXES: dict[Unit, str] = {"ns": "ns", "bits/s": "bps", "bits": "bits", "1": "share"}
_UNITS: dict[str, Unit] = {suffix: unit for unit, suffix in _SUFFIXES.items()}
_FROM, _TO = "from", "to"
_LONGEST = 100


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    fingerprints: Annotated[tuple[NetworkFingerprint, ...], msgspec.Meta(max_length=_MOST)] = ()


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What a session's facts say of its network."""

    #: ``given`` or ``remembered``.
    origin: str
    figures: dict[str, Figure]
    #: Of both ends, and what shapes it.
    texts: dict[str, str]


def remember(fingerprint: NetworkFingerprint) -> None:
    """Keep a fingerprint that was taken here, in place of an older one of the same end.

    Raises
    ------
    StoreError
        If it cannot be written.
    """
    others = [
        one
        for one in kept()
        if (one.end, one.direction) != (fingerprint.end, fingerprint.direction)
    ]
    state.write(state.NETWORKS, _Kept(fingerprints=(fingerprint, *others)[:_MOST]))


def kept() -> tuple[NetworkFingerprint, ...]:
    """Return what is remembered, the last first, whatever the clock was set to meanwhile.

    Nothing where the file is damaged, and none that another tare took, whose figures have other
    names.
    """
    found = state.read(state.NETWORKS)
    try:
        some = () if found is None else msgspec.convert(found, _Kept).fingerprints
        some = tuple(one for one in some if one.version == VERSION)
        for one in some:
            file.check(one)
    except (DecodeError, msgspec.ValidationError):
        return ()
    return some


def facts() -> list[MachineFact]:
    """Return the newest fingerprint that was taken here as facts of a session; mostly none."""
    newest = next(iter(kept()), None)
    return [] if newest is None else of(newest, REMEMBERED)


def of(fingerprint: NetworkFingerprint, origin: str) -> list[MachineFact]:
    """Return a fingerprint as facts of a session.

    Parameters
    ----------
    fingerprint : NetworkFingerprint
    origin : str
        :data:`GIVEN` or :data:`REMEMBERED`.
    """
    texts: dict[str, str] = {
        "origin": origin,
        "date": fingerprint.started[:16].replace("T", " "),
        "end": fingerprint.end,
        "shaping": text(shaping_of(fingerprint)),
        "kind": "not looked for" if fingerprint.shaping is None else fingerprint.shaping.kind,
    }
    for side, told in (("here", fingerprint.here), ("there", fingerprint.there)):
        texts |= {f"{side}_{name}": told[name] for name in DECIDING if name in told}
    values: dict[str, float | str] = {name: _plain(text) for name, text in texts.items()}
    for name, figure in fingerprint.figures.items():
        stem, suffix = name.replace(".", "_"), _SUFFIXES[figure.unit]
        values[f"{stem}_{suffix}"] = _short(figure.value)
        if figure.ci is not None:
            values[f"{stem}_{_FROM}_{suffix}"] = _short(figure.ci[0])
            values[f"{stem}_{_TO}_{suffix}"] = _short(figure.ci[1])
    return [
        MachineFact(name=f"{PREFIX}{name}", value=value, source=SOURCE)
        for name, value in values.items()
    ]


def read(facts: Iterable[tuple[str, Any]]) -> Told | None:
    """Return what a session's facts, by name, say of its network; None: nothing."""
    own = {name.removeprefix(PREFIX): value for name, value in facts if name.startswith(PREFIX)}
    if "origin" not in own:
        return None
    figures = {}
    for name, value in own.items():
        stem, _, suffix = name.rpartition("_")
        unit = _UNITS.get(suffix)
        if unit is None or stem.endswith((f"_{_FROM}", f"_{_TO}")) or isinstance(value, str):
            continue
        low, high = (own.get(f"{stem}_{end}_{suffix}") for end in (_FROM, _TO))
        ci = None if low is None or high is None else (float(low), float(high))
        figures[stem.replace("_", ".")] = Figure(value=float(value), ci=ci, unit=unit, n=0)
    texts = {name: str(value) for name, value in own.items() if isinstance(value, str)}
    return Told(origin=str(own["origin"]), figures=figures, texts=texts)


def difference(before: Told, after: Told) -> Difference:
    """Compare what the facts of two sessions say of their networks."""
    names = [n for n in {**before.texts, **after.texts} if n not in ("origin", "date", "shaping")]
    unlike = {
        name.replace("_", " ", 1): (before.texts.get(name), after.texts.get(name))
        for name in names
        if before.texts.get(name) != after.texts.get(name)
    }
    kinds = (before.texts.get("kind"), after.texts.get("kind"))
    deciding = decisive(unlike)
    # That one has a bucket and the other none may be for want of looking.
    return between(
        before.figures,
        after.figures,
        unlike,
        deciding,
        open_end="bucket" in kinds and kinds[0] != kinds[1],
    )


def given(path: Any) -> list[MachineFact]:
    """Read a fingerprint from a file as facts of a session.

    Raises
    ------
    StoreError
        If it is none.
    """
    found = file.read(path)
    if not found.figures:
        raise StoreError(
            f"{path} has no figure of a network", "take one with tare net fingerprint HOST"
        )
    return of(found, GIVEN)


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def _plain(text: str) -> str:
    """Keep a text from another machine short, and to letters that every table has."""
    return "".join(c for c in text if " " <= c <= "~")[:_LONGEST]
