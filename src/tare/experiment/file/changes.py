"""What differs between two experiments, as their files would write it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from tare.experiment.file import keys
from tare.experiment.file.table import Key
from tare.experiment.specification import Experiment

#: What decides about no single trial: when to stop, and what is made of the results.
FREE = ("stopping", "skip_missing", "fingerprint", "question", "margin")
#: Characters of a value that are shown.
_WIDTH = 200
#: Tables of which each key is a table with a name of its own.
_NAMED = ("loads", "sizes", "networks", "platforms", "workload")

#: Where a value is, and what it was and is; None: it was not given.
Change = tuple[tuple[str, ...], Any, Any]


def changes(then: Experiment, now: Experiment) -> list[Change]:
    """Return what differs in what decides about single trials.

    Parameters
    ----------
    then, now : Experiment

    Returns
    -------
    list of (path, value, value)
        With the names and values of an experiment file.
    """
    return [*_differences(_tables(then), _tables(now), ())]


def edited(found: Iterable[Change], then: str, now: str) -> list[Change]:
    """Return those changes that somebody wrote into a file.

    The others follow from them, or from the machine, as where a platform is left out now.

    Parameters
    ----------
    found : iterable of Change
    then, now : str
        The texts of both files; what is no TOML has no changes.
    """
    try:
        was, is_ = tomllib.loads(then), tomllib.loads(now)
    except ValueError:
        return []
    written = {path[:2] for path, *_ in _differences(was, is_, ())}
    # Workloads are a list there.
    return [one for one in found if written & {one[0][:1], one[0][:2]}]


def sentence(change: Change) -> str:
    """Write a change: ``[sizes.small] cores was 1 and is 2``, ``[[workload]] b is gone``."""
    (first, *rest), was, is_ = change
    named = [rest.pop(0)] if first in _NAMED and rest else []
    head = f"[[{first}]] {named[0]}" if first == "workload" else f"[{'.'.join([first, *named])}]"
    where = " ".join([head, *([".".join(rest)] if rest else [])])
    if isinstance(was, dict) or isinstance(is_, dict):
        # Only one of both is a table: it was added, or taken out.
        return f"{where} {'is gone' if is_ is None else 'is new'}"
    return f"{where} was {_shown(was)} and is {_shown(is_)}"


def _differences(then: Any, now: Any, path: tuple[str, ...]) -> Iterator[Change]:
    if isinstance(then, dict) and isinstance(now, dict):
        for key in {**then, **now}:
            yield from _differences(then.get(key), now.get(key), (*path, key))
    elif then != now:
        yield path, then, now


def _tables(experiment: Experiment) -> dict[str, Any]:
    """Return the tables of the file that would make an experiment, every key given."""
    plain: dict[str, Any] = msgspec.to_builtins(experiment)
    plain = {key: value for key, value in plain.items() if key not in FREE}
    window, network = plain.pop("window"), plain.pop("network")
    return {
        "factors": plain.pop("factors"),
        "platforms": plain.pop("platforms"),
        "networks": {name: {"spec": spec} for name, spec in plain.pop("networks").items()},
        "loads": {
            name: {"kind": load["kind"], **load["parameters"]}
            for name, load in plain.pop("loads").items()
        },
        "sizes": {name: _table(size, keys.SIZE) for name, size in plain.pop("sizes").items()},
        "workload": {one["name"]: _workload(one) for one in plain.pop("workloads")},
        "network": _table(network, keys.NETWORK),
        "window": None if window is None else _table(window, keys.WINDOW),
        "experiment": _table(plain, keys.EXPERIMENT),
    }


def _workload(plain: dict[str, Any]) -> dict[str, Any]:
    own = {key: value for key, value in plain.items() if key not in ("name", "parameters")}
    return {**_table(own, (*keys.WORKLOAD, *keys.KERNEL, *keys.COMMAND)), **plain["parameters"]}


def _table(fields: Mapping[str, Any], known: Iterable[Key]) -> dict[str, Any]:
    """Return fields as keys, with the values that a file has for them; None is not given."""
    of = {key.field or key.name: key for key in known}
    return {
        of[field].name if field in of else field: json.loads(of[field].kind.write(value))
        if field in of
        else value
        for field, value in fields.items()
        if value is not None
    }


def _shown(value: Any) -> str:
    text = "not given" if value is None else _toml(value)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def _toml(value: Any) -> str:
    """Write a value on one line, as TOML has it."""
    match value:
        case list() | tuple():
            return f"[{', '.join(map(_toml, value))}]"
        case dict():
            return f"{{{', '.join(f'{key} = {_toml(one)}' for key, one in value.items())}}}"
        case bool() | str():
            return json.dumps(value, ensure_ascii=False)
    return str(value)
