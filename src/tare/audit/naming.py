"""What a series is called: its levels, without those that all have."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping


def varied(keys: Iterable[Mapping[str, str]]) -> list[str]:
    """Return the keys that not all series have, or not at the same level."""
    keys = list(keys)
    names = dict.fromkeys(name for key in keys for name in key)
    return [name for name in names if len({key.get(name) for key in keys}) > 1]


def named(key: Mapping[str, str], shown: Collection[str]) -> str:
    """Write levels: "docker, workers 2". What looks like a number has its key before it."""
    return ", ".join(
        f"{name} {level}" if level[:1].isdigit() or not level else level
        for name, level in key.items()
        if name in shown
    )
