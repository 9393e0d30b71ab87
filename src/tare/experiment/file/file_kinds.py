"""Kinds of values of experiment files alone; `tare.options.kinds` has the others."""

from __future__ import annotations

from typing import Any

from tare import registry
from tare.applications import expressions
from tare.experiment.specification import Limit
from tare.options.kinds import SIZE, TEXT, Kind, seconds, whole
from tare.registry import Parameter
from tare.workloads.specification import Enforced

_SECONDS = seconds(positive=True)


def _limit(value: Any) -> tuple[Limit, ...]:
    if isinstance(value, str):
        try:
            return (Limit(value=_limit_value("", value)),)
        except ValueError:
            return (Limit(of="memory", value=float(SIZE.read(value))),)
    if not isinstance(value, dict) or not value or not value.keys() <= {"cpu", "wall", "memory"}:
        raise ValueError
    return tuple(Limit(of=of, value=_limit_value(of, one)) for of, one in value.items())


def _limit_value(of: str, value: Any) -> float:
    return float(SIZE.read(value)) if of == "memory" else 1e9 * _SECONDS.read(value)


def _enforced(value: Any) -> Enforced:
    if not isinstance(value, dict) or not value or not value.keys() <= _ENFORCED.keys():
        raise ValueError
    read = {name: (_ENFORCED[name][0], _ENFORCED[name][1].read(v)) for name, v in value.items()}
    return Enforced(**dict(read.values()))


_ENFORCED = {
    "cpu": ("cpu_s", _SECONDS),
    "memory": ("memory_bytes", SIZE),
    "output": ("output_bytes", SIZE),
    "processes": ("processes", whole(1, 1 << 20)),
}
ENFORCED = Kind('a table such as {cpu = "1 s", memory = "64 MiB", output = "1 MB", processes = 8}',
                _enforced, {name: kind for name, (_, kind) in _ENFORCED.items()},
                schema={"type": "object"})  # fmt: skip
LIMIT = Kind('a time or a size, such as "1 s", or {cpu = "1 s", memory = "64 MiB"}', _limit,
             schema={"type": ["string", "object"]})  # fmt: skip


def of(parameter: Parameter) -> Kind:
    """Return the kind of a unit's parameter, from its description."""

    def read(value: Any) -> Any:
        if not registry.fits(parameter, value):
            raise ValueError
        return value

    return Kind(registry.expected(parameter), read)


def _pattern(value: Any) -> str:
    text = str(TEXT.read(value))
    expressions.groups(text)
    return text


def _number_pattern(value: Any) -> str:
    if expressions.groups(text := _pattern(value)) != 1:
        raise ValueError
    return text


PATTERN = Kind("a regular expression of RE2", _pattern)
NUMBER_PATTERN = Kind('a regular expression with one group, such as "took ([0-9.]+) s"',
                            _number_pattern)  # fmt: skip
