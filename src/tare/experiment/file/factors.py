"""The factors of an experiment file and their levels, checked against what they refer to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from tare.experiment.file.table import Table, shown, suggestion
from tare.experiment.specification import (
    HALVING,
    INSTANCE_TYPES,
    KNOWN_FACTORS,
    NO_LOAD,
    OF_MACHINE,
    PINNINGS,
    WHOLE_SIZE,
    Experiment,
    LoadSpec,
    SizeSpec,
    listed_cpus,
    named_size,
)
from tare.options import kinds
from tare.options.kinds import Kind
from tare.options.measuring import MOST_WORKERS
from tare.registry import Catalogue

#: Docker makes no container with less than 6 MiB; the agent alone takes about 3.
LEAST_MEMORY_BYTES = 6 << 20
#: Key of a workload with the levels at which it alone is measured.
ONLY = "only"
#: A name that can stand in a placeholder and in an environment variable.
NAME = re.compile(r"[a-z][a-z0-9_]{0,30}")
#: Names that no factor may have: columns of the tables of results, and of the table of all cells,
#: in whose rows a level of that name would replace the number.
RESERVED = frozenset(
    {
        "workload", "trial", "session", "block", "position", "cell", "seed", "status", "reason",
        "failure_kind", "limit_kind", "above_ns", "above", "started", "duration_ns", "worker",
        "iteration", "phase", "metric", "source", "value", "unit", "n", "median", "median_low",
        "median_high", "median_above", "ratio", "low", "high", "spread", "verdict", "direction",
        "within_margin", "killed", "failed", "crowded", "crowded_low", "crowded_high",
    }
)  # fmt: skip


def factors(
    table: Table,
    catalogue: Catalogue,
    loads: Mapping[str, LoadSpec],
    sizes: Mapping[str, SizeSpec],
) -> dict[str, tuple[Any, ...]]:
    """Read every factor with its levels.

    Raises
    ------
    ExperimentError
        If a factor has no levels, the same one twice, or one that it cannot have.
    """
    kinds_of = _kinds(loads, sizes)
    found: dict[str, tuple[Any, ...]] = {}
    for name in table.values:
        if name not in KNOWN_FACTORS:
            _check_name(table, name)
        found[name] = _levels(table, name, kinds_of.get(name, _OWN))
    for stack in found.get("platform", ()):
        _check_stack(table, stack, catalogue)
    _check_used(table, "load", loads, found)
    _check_used(table, "size", sizes, found)
    _check_quota(table, sizes, found)
    _check_memory(table, sizes, found)
    return found


def _kinds(loads: Iterable[str], sizes: Iterable[str]) -> dict[str, Kind]:
    """Return what levels of tare's own factors may be."""
    return {
        "platform": Kind('a platform, such as "bare" or "docker/isolate"', kinds.NAME.read),
        "workers": kinds.whole(1, MOST_WORKERS),
        "pinning": kinds.either(
            PINNINGS, kinds.fitting('a list of CPUs, such as "0-1,3"', listed_cpus)
        ),
        "load": kinds.choice((NO_LOAD, *loads)),
        "size": kinds.either(
            (WHOLE_SIZE, *sizes, *INSTANCE_TYPES),
            kinds.fitting(
                'cores and memory in GiB or MiB, such as "2c8g", "0.5c", "1c512m"', named_size
            ),
        ),
        "quota": kinds.CPUS,
        "period": kinds.seconds(positive=True),
        "network": Kind('how a network is shaped, such as "rate 200Mbit"', kinds.NAME.read),
    }


def only(tables: list[Table], experiment: Experiment) -> dict[str, dict[str, tuple[Any, ...]]]:
    """Read at which levels single workloads are measured: ``only`` of each, by its name.

    Raises
    ------
    ExperimentError
        If it names what is no factor or no level, or if a level is left to no workload.
    """
    known, factors = _kinds(experiment.loads, experiment.sizes), experiment.factors
    found: dict[str, dict[str, tuple[Any, ...]]] = {}
    for table, workload in zip(tables, experiment.workloads, strict=True):
        if ONLY not in table.values:
            continue
        own = Table(table.source, f"{table.path}.{ONLY}", table.value(ONLY, kinds.LEVELS))
        for factor in own.values:
            if factor not in factors:
                raise own.error(factor, "is no factor of this file", suggestion(factor, factors))
            some = _some_levels(own, factor, known.get(factor, _OWN), factors[factor])
            found.setdefault(workload.name, {})[factor] = some
    _check_taken(tables, experiment, found)
    return found


def _some_levels(table: Table, factor: str, kind: Kind, levels: tuple[Any, ...]) -> tuple[Any, ...]:
    """Read some of the levels of a factor, in its order."""
    if levels == (OF_MACHINE.get(factor),):
        raise table.error(
            factor,
            f"cannot choose from {levels[0]}, whose levels are the machine's",
            f"list the levels of {factor} in [factors]",
        )

    def read(value: Any) -> Any:
        try:
            return kind.read(value)
        except ValueError:
            # No level then, which is told with those that there are.
            return str(value)

    given = _levels(table, factor, Kind(kind.expected, read))
    for level in given:
        if level not in levels:
            raise table.error(
                factor,
                f"{shown(level)} is no level of {factor} in [factors]",
                suggestion(str(level), map(str, levels)),
            )
    return tuple(level for level in levels if level in given)


def _check_taken(
    tables: list[Table], experiment: Experiment, only: Mapping[str, Mapping[str, tuple[Any, ...]]]
) -> None:
    """Refuse a level that no workload takes."""
    for factor, levels in experiment.factors.items():
        chosen = [only.get(workload.name, {}).get(factor) for workload in experiment.workloads]
        taken = {level for some in chosen for level in some or levels}
        unused = [level for level in levels if level not in taken]
        if unused:
            raise Table(tables[0].source, "factors", {}).error(
                factor,
                f"{shown(unused[0])} is left out by only of every workload",
                "remove it, or add it to the only of one",
            )


def _check_name(table: Table, name: str) -> None:
    if name in RESERVED:
        raise table.error(name, "means something else in results", "choose another name")
    if not NAME.fullmatch(name):
        raise table.error(name, "is no name for a factor; expected small letters, digits and _")


def _levels(table: Table, name: str, kind: Kind) -> tuple[Any, ...]:
    given = table.values[name]
    if not isinstance(given, list):
        if given == OF_MACHINE.get(name):
            return (given,)
        raise table.error(
            name, f"{shown(given)} is no list of levels", f"write {name} = [{_toml(given)}]"
        )
    if not given:
        raise table.error(name, "has no levels", "give it some, or remove it")
    if (all_levels := OF_MACHINE.get(name)) in given:
        if len(given) > 1:
            raise table.error(name, f"{all_levels} stands for all levels, so it stands alone")
        return (all_levels,)
    levels: dict[Any, None] = {}
    for one in given:
        level = Table(table.source, table.path, {name: one}).value(name, kind)
        if level in levels:
            raise table.error(name, f"has the level {shown(level)} twice", "remove one")
        levels[level] = None
    return tuple(levels)


def _level(value: Any) -> str:
    """Read a level of a factor of the user's: the text that commands will see."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    text: str = kinds.TEXT.read(value)
    return text


#: Of factors of the user's.
_OWN = Kind("a text or a number", _level)


def _toml(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _check_stack(table: Table, stack: str, catalogue: Catalogue) -> None:
    for word in stack.split("/"):
        # What is after a colon, ``ssh:HOST``, is the layer's to judge.
        layer = word.partition(":")[0]
        if layer not in catalogue.platforms:
            raise table.error(
                "platform",
                f"there is no platform layer {layer!r}"
                + (f" (in {stack!r})" if layer != stack else ""),
                suggestion(layer, catalogue.platforms),
            )


def _check_quota(
    table: Table, sizes: Mapping[str, SizeSpec], found: Mapping[str, tuple[Any, ...]]
) -> None:
    """Refuse two quotas for one instance."""
    named = {name: named_size(name) for name in found.get("size", ())}
    held = [
        name
        for name, size in {**named, **sizes}.items()
        if name == HALVING or (size is not None and size.cores is not None)
    ]
    if "quota" in found and held:
        raise table.error(
            "quota",
            f"and the cores of size {held[0]!r} are both quotas of an instance",
            f"remove cores from [sizes.{held[0]}], or leave quota out"
            if held[0] in sizes
            else f"leave quota or size {held[0]} out",
        )
    if "period" in found and "quota" not in found and not held:
        raise table.error(
            "period",
            "is that of a quota, and there is none",
            "add quota = [0.1, 0.5] to [factors], or call a factor of your own otherwise",
        )


def _check_memory(
    table: Table, sizes: Mapping[str, SizeSpec], found: Mapping[str, tuple[Any, ...]]
) -> None:
    """Refuse what a name says where no agent could live in it."""
    for name in found.get("size", ()):
        size = None if name in sizes else named_size(name)
        if size is not None and (size.memory_bytes or LEAST_MEMORY_BYTES) < LEAST_MEMORY_BYTES:
            raise table.error(
                "size",
                f"{name} is less memory than an instance with the agent in it needs",
                '"1c8m" at least; what is measured comes on top',
            )


def _check_used(
    table: Table, factor: str, defined: Mapping[str, Any], found: Mapping[str, tuple[Any, ...]]
) -> None:
    for name in defined:
        if name not in found.get(factor, ()):
            raise Table(table.source, "", {}).error(
                f"{factor}s.{name}",
                f"is no level of the factor {factor}, so it would never be used",
                f"add it to {factor} in [factors], or remove it",
            )
