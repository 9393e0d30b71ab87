"""What a series is called: its levels, without those that all have."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping


def varied(keys: Iterable[Mapping[str, str]]) -> list[str]:
    """Return the keys that tell series apart, each beyond what those before it tell."""
    keys = list(keys)
    kept: list[str] = []
    groups = 1
    for name in dict.fromkeys(name for key in keys for name in key):
        now = len({tuple(key.get(k) for k in (*kept, name)) for key in keys})
        if now > groups:
            kept.append(name)
            groups = now
    return kept


def named(key: Mapping[str, str], shown: Collection[str]) -> str:
    """Write levels: "docker · workers 2". What looks like a number has its key before it."""
    return " · ".join(
        f"{name} {level}" if level[:1].isdigit() or not level else level
        for name, level in key.items()
        if name in shown
    )
