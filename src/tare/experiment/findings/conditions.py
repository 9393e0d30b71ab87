"""What applications were run with: their parameters, the network, where the load generator ran."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from tare import workloads
from tare.experiment.findings.finding import FindingUnit, answered
from tare.experiment.findings.network_cells import FACTOR, levels_of
from tare.experiment.findings.service_cells import driven
from tare.experiment.results import STATUSES, Results
from tare.experiment.specification import Experiment
from tare.networks.shaping.messages import describe
from tare.registry import Description, Parameter
from tare.results.finding import Column, Finding, Table
from tare.results.message import Message, message

_GENERATOR_TEXTS = {
    "own": "on {cpus | counted('CPU')} of its own",
    "shared": "on the CPUs of the services",
    "both": "in some cells on CPUs of its own, in the others on those of the services",
    "unknown": "on CPUs that were not recorded",
}

_DESCRIPTION = Description(
    name="conditions",
    title="Parameters, network and load generator of each application",
    question="What were the applications run with?",
)


def find(results: Results) -> Finding | None:
    """Give the conditions of each application; none where no application was measured."""
    found = rows(results)
    if not found:
        return None
    return answered(
        _DESCRIPTION,
        answer=sentences(found),
        verdict="none",
        tables=(_table(found),),
    )


def rows(results: Results) -> list[dict[str, Any]]:
    """Return the conditions of all applications, as :func:`conditions` does."""
    levels = [own for own, _ in results.cells(STATUSES)]
    own: dict[str, set[float | None]] = {}
    for cell in driven(results):
        own.setdefault(cell.levels["workload"], set()).add(cell.own_cpus)
    return [*conditions(results.experiment, levels, own)]


#: Rows that are no parameters; of these, what says what the application is.
_NETWORK, _GENERATOR = "network", "load generator"
_IS = ("application", "question")


def conditions(
    experiment: Experiment,
    cells: Iterable[Mapping[str, str]],
    own_cpus: Mapping[str, Collection[float | None]],
) -> Iterator[dict[str, Any]]:
    """Return what each application was run with, a row a parameter or other condition.

    Parameters
    ----------
    experiment : Experiment
    cells : iterable of mapping
        Levels of each cell; a factor that has a parameter's name sets it.
    own_cpus : mapping
        How many CPUs a workload's load generator had for itself, in each cell or trial.
    """
    every = [*cells]
    for spec in experiment.workloads:
        own = [levels for levels in every if levels["workload"] == spec.name]
        if spec.application is None or not own:
            continue
        about = {"workload": spec.name}
        known = (spec.application.name, spec.application.question)
        for name, value in zip(_IS, known, strict=True):
            yield {**about, "name": name, "value": value}
        values = [workloads.parameters(spec, levels) for levels in own]
        for parameter in spec.application.parameters:
            if any(parameter.applies(one) for one in values):
                yield {**about, **_parameter(parameter, values)}
        networks = [*dict.fromkeys(one[FACTOR] for one in own if FACTOR in one)]
        if networks and experiment.joins(spec):
            said = [
                describe(one.shaping) for one in levels_of(networks, experiment.networks).values()
            ]
            yield {**about, "name": _NETWORK, "value": _several(said), "levels": networks}
        if own_cpus.get(spec.name):
            yield {**about, "name": _GENERATOR, "value": _cpus(own_cpus[spec.name])}


def _parameter(parameter: Parameter, cells: Iterable[Mapping[str, str]]) -> dict[str, Any]:
    values = dict.fromkeys(one.get(parameter.name) for one in cells if parameter.applies(one))
    return {
        "name": parameter.name,
        "value": ", ".join(one for one in values if one is not None),
        "unit": parameter.unit,
        "meaning": parameter.meaning,
    }


def _several(said: list[Message]) -> Message:
    return said[0] if len(said) == 1 else message("{parts | join('; ')}", parts=[*said])


def _cpus(own: Collection[float | None]) -> Message:
    """Say on whose CPUs a load generator ran."""
    kinds = {"unknown" if one is None else "own" if one else "shared" for one in own}
    kind = kinds.pop() if len(kinds) == 1 else "both"
    most = max((one for one in own if one), default=0)
    return message(_GENERATOR_TEXTS[kind], cpus=round(most))


def sentences(found: Iterable[Mapping[str, Any]]) -> tuple[Message, ...]:
    """Say in a sentence for each application what it was run with, without its question."""
    by_workload: dict[str, list[Message]] = {}
    for row in found:
        parts = by_workload.setdefault(row["workload"], [])
        if row["name"] not in _IS:
            parts.append(
                message(
                    "{name} {value}{% if unit %} {unit}{% endif %}",
                    name=row["name"],
                    value=row["value"],
                    unit=row.get("unit"),
                )
            )
    return tuple(
        message("{workload}: {parts | join(', ')}", workload=workload, parts=parts)
        for workload, parts in by_workload.items()
        if parts
    )


def _table(found: list[dict[str, Any]]) -> Table:
    several = len({row["workload"] for row in found}) > 1
    return Table(
        title=message("What each application was run with"),
        columns=(
            *([Column(key="workload", title="workload")] if several else []),
            Column(key="name", title="condition"),
            *(Column(key=key, title=key) for key in ("value", "unit", "meaning")),
        ),
        rows=tuple(found),
    )


UNIT = FindingUnit(
    description=_DESCRIPTION, order=130, find=find, of_sweeps=True, of_rates=True,
    over_sessions=True, killed="used",
)  # fmt: skip
