"""What differs between two experiments, in what decides about single trials."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from tare.decoding import DecodeError, toml
from tare.experiment.file import keys
from tare.experiment.specification import Experiment

#: What decides about no single trial: when to stop, and what is made of the results.
FREE = ("stopping", "skip_missing", "fingerprint", "question", "margin", "fleet")
#: The same as keys of a file's table ``experiment``.
_FREE_KEYS = frozenset({*FREE, *(key.name for key in keys.STOPPING)})
#: Characters of a value that are shown.
_WIDTH = 200

#: Where a value is, and what it was and is; None: it was not given.
Change = tuple[tuple[str, ...], Any, Any]


def changes(then: Experiment, now: Experiment) -> list[Change]:
    """Return what differs between two experiments."""
    was, is_ = (
        {key: value for key, value in msgspec.to_builtins(one).items() if key not in FREE}
        for one in (then, now)
    )
    return [*_differences(was, is_)]


def edited(then: str, now: str) -> list[Change]:
    """Return what somebody wrote into a file; what is no TOML has no changes.

    Other changes follow from these, or from the machine, as where a platform is left out now.
    """
    try:
        found = _differences(toml(then), toml(now))
    except DecodeError:
        return []
    return [one for one in found if not _is_free(one[0])]


def _is_free(path: tuple[str, ...]) -> bool:
    return path[0] == "fleet" or (path[0] == "experiment" and path[-1] in _FREE_KEYS)


def sentence(change: Change) -> str:
    """Write a change: ``[sizes.small] cores was 1 and is 2``, ``[workload.b] is gone``."""
    path, was, is_ = change
    if isinstance(was, dict) or isinstance(is_, dict):
        # Only one of both is a table: it was added, or taken out.
        return f"[{'.'.join(path)}] {'is gone' if is_ is None else 'is new'}"
    table = f"[{'.'.join(path[:-1])}] " if path[1:] else ""
    return f"{table}{path[-1]} was {_shown(was)} and is {_shown(is_)}"


def _differences(then: Any, now: Any, path: tuple[str, ...] = ()) -> Iterator[Change]:
    then, now = _by_name(then), _by_name(now)
    if isinstance(then, dict) and isinstance(now, dict):
        for key in {**then, **now}:
            yield from _differences(then.get(key), now.get(key), (*path, key))
    elif then != now:
        yield path, then, now


def _by_name(value: Any) -> Any:
    """Return a list of tables, as workloads are, by their names or else their numbers."""
    is_list = isinstance(value, list | tuple) and bool(value)
    if not is_list or not all(isinstance(one, dict) for one in value):
        return value
    return {str(one.get("name", number)): one for number, one in enumerate(value, 1)}


def _shown(value: Any) -> str:
    text = "not given" if value is None else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"
