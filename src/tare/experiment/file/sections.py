"""The tables of an experiment file, each read into its part of the experiment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

from tare.errors import ExperimentError
from tare.experiment.file import application, keys
from tare.experiment.file.factors import LEAST_MEMORY_BYTES, ONLY
from tare.experiment.file.table import Table, closest, suggestion
from tare.experiment.specification import (
    NO_LOAD,
    WHOLE_SIZE,
    FleetSpec,
    LoadSpec,
    SizeSpec,
    Stopping,
)
from tare.options import kinds
from tare.registry import Catalogue, Description
from tare.workloads import serving, written
from tare.workloads.application import SCRATCH
from tare.workloads.specification import WorkloadSpec

#: What a workload is, by the key that says so.
KINDS = ("kernel", "command", "application")


def stopping(table: Table, also: tuple[str, ...] = ()) -> Stopping:
    """Read when enough is enough, from the keys of the experiment that say so."""
    given = table.part(key.name for key in keys.STOPPING).read(keys.STOPPING)
    if "trials" in given:
        if "precision" in given:
            raise table.error(
                "precision",
                "excludes trials: n is either fixed beforehand or follows from a precision",
                "remove one of them",
            )
        for key in ("anytime", "early", "min_trials"):
            if given.get(key):
                raise table.error(
                    key, "excludes trials: a fixed n has no rule to stop by", "remove one of them"
                )
        given.setdefault("budget_s", None)
    elif given.get("early") and (given.get("anytime") or given.get("quantile", 0.5) != 0.5):
        raise table.error(
            "early",
            "is for medians alone, and excludes anytime",
            "remove one of them",
        )
    _check_comparing(table, given)
    return Stopping(**given, also=also)


def fleet(table: Table) -> FleetSpec:
    """Read which hosts of a fleet are asked, and how."""
    return FleetSpec(**table.read(keys.FLEET))


def _check_comparing(table: Table, given: Mapping[str, Any]) -> None:
    """Refuse what says nothing beside ``compare``, and ``gate`` without it."""
    if "compare" not in given:
        if "gate" in given:
            raise table.error("gate", "needs compare, which says what is compared")
        if "gate_on" in given:
            raise table.error("gate_on", "needs compare and gate")
        if "min_trials" in given:
            raise table.error("min_trials", "needs compare, which says what is compared")
        return
    if "gate_on" in given and "gate" not in given:
        raise table.error("gate_on", "needs gate, which says how much is too much", 'gate = "3%"')
    for key in ("precision", "quantile", "anytime", "early"):
        if given.get(key):
            raise table.error(
                key,
                "excludes compare, which goes on until the verdicts are safe",
                "remove one of them",
            )


def workloads(tables: list[Table], file: Table, catalogue: Catalogue) -> tuple[WorkloadSpec, ...]:
    """Read what is measured."""
    if not tables:
        raise file.error(
            None, "there is no workload", '[[workload]]\nkernel = "exp_float"   (or command = …)'
        )
    found: dict[str, WorkloadSpec] = {}
    for table in tables:
        # At which levels it is measured is said of the experiment.
        spec = _workload(table.part(key for key in table.values if key != ONLY), catalogue)
        if spec.name in found:
            raise table.error("name", f"there are two workloads {spec.name!r}", "give each a name")
        _check_application(table, spec, found.values())
        found[spec.name] = spec
    return tuple(found.values())


def _check_application(table: Table, spec: WorkloadSpec, others: Iterable[WorkloadSpec]) -> None:
    """Refuse two applications of one name, by which results call them."""
    for one in (other.application for other in others):
        own = spec.application
        if own and one and own.name == one.name and own.digest != one.digest:
            raise table.error(
                "application", f"there are two applications {own.name!r}", "give each a name"
            )


def _workload(table: Table, catalogue: Catalogue) -> WorkloadSpec:
    given = [kind for kind in KINDS if kind in table.values]
    if len(given) > 1:
        raise table.error(given[1], f"excludes {given[0]}: a workload is one of them", "remove one")
    if not given:
        hint = _meant(table) or 'such as kernel = "exp_float"'
        raise table.error(None, f"expected one of {', '.join(KINDS)}", hint)
    if given == ["application"]:
        return _application(table, catalogue)
    if given == ["command"]:
        found = table.read((*keys.WORKLOAD, *keys.COMMAND))
        found.setdefault("name", PurePath(found["command"][0]).name or found["command"][0])
        return WorkloadSpec(**found)
    name = table.value("kernel", keys.KERNEL[0].kind)
    if name not in catalogue.kernels:
        raise table.error(
            "kernel", f"there is no kernel {name!r}", suggestion(name, catalogue.kernels)
        )
    described = catalogue.kernels[name]
    known = (*keys.WORKLOAD, *keys.KERNEL)
    defaults = {p.name: p.default for p in described.parameters}
    table.only([*(key.name for key in known), *defaults], f"kernel {name}")
    chosen = table.part(defaults).parameters(described.parameters, name)
    own = table.part(key.name for key in known).read(known)
    return WorkloadSpec(**{"name": name, **own, "parameters": {**defaults, **chosen}})


def _application(table: Table, catalogue: Catalogue) -> WorkloadSpec:
    reference = table.value("application", kinds.TEXT)
    try:
        found = application.read(reference)
    except ExperimentError as error:
        raise table.error("application", error.message, error.hint) from error
    own_name = next((m.name for m in found.metrics if m.name in catalogue.metrics), None)
    if own_name is not None:
        raise table.error(
            "application",
            f"a metric of {found.name} would be called {own_name}, as one of tare's own",
            "another name in [metrics.NAME] of its application.toml",
        )
    known = (*keys.WORKLOAD, *keys.APPLICATION)
    defaults = {p.name: p.default for p in found.parameters}
    table.only([*(key.name for key in known), *defaults], f"the application {found.name}")
    chosen = table.part(defaults).parameters(found.parameters, found.name)
    own = table.part(key.name for key in known).read(known)
    own["application"] = found
    if found.driver is not None:
        given = {**defaults, **chosen}
        try:
            serving.asked(found, {k: written(v) for k, v in given.items()})
        except ValueError as error:
            raise table.error(None, str(error)) from error
    return WorkloadSpec(
        **{
            "name": found.name,
            **own,
            "arguments": {**defaults, **chosen},
            # What supervises services is the agent itself.
            "command": found.command or ("supervise",),
            "of_agent": found.command is None,
            "environment": found.environment,
            "inherit": (),
            "directory": SCRATCH,
            "ignore_failure": found.check.exit_codes or None,
        }
    )


def _meant(table: Table) -> str | None:
    """Return what was meant by a key that is almost one of ``KINDS``."""
    for key in table.values:
        hint = closest(key, KINDS)
        if hint is not None:
            return f"by {key!r}, {hint}"
    return None


def loads(table: Table, catalogue: Catalogue) -> dict[str, LoadSpec]:
    """Read what keeps the machine busy beside the trials."""
    found = {}
    for name, one in table.subtables().items():
        if name == NO_LOAD:
            raise table.error(name, "is no load by definition", "choose another name")
        described = _unit(one, catalogue.loads)
        rest = one.part(key for key in one.values if key != "kind")
        given = rest.parameters(described.parameters, f"the load {described.name}")
        found[name] = LoadSpec(kind=described.name, parameters=given)
    return found


def _unit(table: Table, units: Mapping[str, Description]) -> Description:
    expected = kinds.choice(units)
    if "kind" not in table.values:
        raise table.error("kind", f"is missing; expected {expected.expected}")
    kind = table.values["kind"]
    if isinstance(kind, str) and kind not in units:
        raise table.error("kind", f"there is no load {kind!r}", suggestion(kind, units))
    return units[table.value("kind", expected)]


def sizes(table: Table) -> dict[str, SizeSpec]:
    """Read what instances are given."""
    found = {}
    for name, one in table.subtables().items():
        if name == WHOLE_SIZE:
            raise table.error(name, "is the whole machine by definition", "choose another name")
        if not one.values:
            raise table.error(name, "gives nothing; expected cores, cpuset, memory")
        size = SizeSpec(**one.read(keys.SIZE))
        if size.memory_bytes is not None and size.memory_bytes < LEAST_MEMORY_BYTES:
            raise one.error(
                "memory",
                f"{size.memory_bytes} bytes are less than an instance with the agent in it needs",
                'memory = "8 MiB" at least; what is measured comes on top',
            )
        found[name] = size
    return found


def platforms(table: Table, catalogue: Catalogue) -> dict[str, dict[str, Any]]:
    """Read the options of platform layers."""
    table.only(catalogue.platforms, "platforms")
    return {
        name: one.parameters(catalogue.platforms[name].parameters, f"the layer {name}")
        for name, one in table.subtables().items()
    }
