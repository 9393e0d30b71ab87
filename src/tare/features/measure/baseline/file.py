"""A baseline as a file: read with suspicion, added to session by session."""

from __future__ import annotations

import shlex
from pathlib import Path

import msgspec
import numpy as np

from tare import files
from tare.decoding import DecodeError, decode
from tare.errors import StoreError, Typed
from tare.experiment import store
from tare.features.measure.baseline.agreement import disagreements, refusal, unlike_settings
from tare.features.measure.baseline.stored import VERSION, Baseline, of
from tare.units import chosen

#: A file larger than this is no baseline.
_SIZE_LIMIT = 256 << 20


def read(
    path: Path, metric: str, workload: str | None = None, like: dict[str, str] | None = None
) -> Baseline:
    """Read a baseline from an experiment's folder, or from a file that ``save`` wrote.

    Raises
    ------
    StoreError
        If it cannot be read, is no baseline, or holds another metric or several cells.
    """
    if path.is_dir():
        return of(store.load(path), metric, workload, like)
    try:
        with files.open_plain(path, links=True) as file:
            data = file.read(_SIZE_LIMIT + 1)
    except OSError as error:
        raise StoreError(
            f"cannot read the baseline {path}: {error.strerror or ''}",
            "write one with tare run --save, a session each time",
        ) from error
    try:
        if len(data) > _SIZE_LIMIT:
            raise DecodeError(f"it is larger than {chosen(_SIZE_LIMIT, 'bytes')}")
        found = decode(data, Baseline)
    except DecodeError as error:
        raise StoreError(
            f"{path} is no baseline: {error}",
            "name a folder of results, or a file that tare run --save wrote",
        ) from error
    _check(found, path, metric)
    return found


def _check(found: Baseline, path: Path, metric: str) -> None:
    again = "measure the baseline again"
    if found.version != VERSION:
        layouts = f"layout {found.version}, this one reads {VERSION}"
        raise StoreError(f"{path} was written by another tare ({layouts})", again)
    values = [v for s in found.sessions for some in (*s.values.values(), s.above) for v in some]
    full = (s.values and (s.above or all(s.values.values())) for s in found.sessions)
    if not all(full) or not values:
        raise StoreError(f"{path} has a session without trials", again)
    if not all(np.isfinite(v) and v > 0 for v in values):
        raise StoreError(f"{path} has values that are not above 0", again)
    if found.metric != metric:
        raise StoreError(
            f"{path} holds {found.metric}, not {metric}",
            Typed(shlex.join(["--metric", found.metric])),
        )


def save(path: Path, new: Baseline) -> Baseline:
    """Write a baseline, or add its sessions to the one that the file holds.

    Returns
    -------
    Baseline
        What the file holds now.

    Raises
    ------
    StoreError
        If the file holds something else, or a cell measured in another way.
    """
    whole = new
    if path.exists():
        old = read(path, new.metric)
        unlike = [
            *unlike_settings(old.settings, new.settings),
            *disagreements(old, new.sessions[0]),
        ]
        if unlike:
            raise refusal(path, unlike, "save to another file: this is another baseline")
        known = {s.started for s in old.sessions}
        added = [s for s in new.sessions if s.started not in known]
        whole = msgspec.structs.replace(old, sessions=(*old.sessions, *added))
    files.write(path, msgspec.json.encode(whole) + b"\n", "choose another --save FILE")
    return whole
