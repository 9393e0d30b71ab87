"""Copies altair's objects without constructing them again.

Altair copies a chart at each step of making it. Its copy calls the constructor of every object in
the chart, and constructors of layered and concatenated charts copy their parts again: the cost
grows exponentially with the depth. Constructors change nothing in what they have already made.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from altair import SchemaBase, Undefined


def install() -> None:
    """Replace the copy of all altair objects; the copies are equal to altair's own."""
    SchemaBase.copy = copy  # type: ignore[method-assign, assignment]


def copy(
    original: Any, deep: bool | Iterable[str] = True, ignore: Iterable[str] | None = None
) -> Any:
    """Copy an altair object as `altair.SchemaBase.copy` does."""
    if deep is True:
        return _deep(original, frozenset(ignore or ()))
    made = _with(original, original._args, dict(original._kwds))
    for attribute in deep or ():
        made[attribute] = _shallow(made._get(attribute))
    return made


def _deep(value: Any, by_reference: frozenset[str]) -> Any:
    if isinstance(value, SchemaBase):
        if copier := getattr(type(value), "__deepcopy__", None):
            return copier(value, None)
        args = tuple(_deep(one, by_reference) for one in value._args)
        return _with(value, args, _deep_values(value._kwds, by_reference))
    if isinstance(value, list):
        return [_deep(one, by_reference) for one in value]
    return _deep_values(value, by_reference) if isinstance(value, dict) else value


def _deep_values(named: dict[str, Any], by_reference: frozenset[str]) -> dict[str, Any]:
    return {
        name: value
        if value is Undefined or name in by_reference or type(value) is str
        else _deep(value, by_reference)
        for name, value in named.items()
    }


def _shallow(value: Any) -> Any:
    if isinstance(value, SchemaBase):
        return copy(value, deep=False)
    return value.copy() if isinstance(value, list | dict) else value


def _with(original: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    made = object.__new__(type(original))
    vars(made).update(vars(original))
    object.__setattr__(made, "_args", args)
    object.__setattr__(made, "_kwds", named)
    return made
