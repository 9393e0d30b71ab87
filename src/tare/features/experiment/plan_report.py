"""Makes the report of ``tare experiment plan``: the cells, and how long their trials take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tare.experiment import pilot
from tare.experiment.pilot import Forecast
from tare.experiment.pipeline import Prepared
from tare.experiment.placement import Machine, driver_cpus
from tare.experiment.specification import Cell, Experiment
from tare.networks import replay
from tare.networks.shaping import messages, specification
from tare.networks.shaping.specification import Bucket, Shaping
from tare.results.finding import Column, Table
from tare.results.message import Chosen, Duration, Message, message
from tare.results.report import NextStep, Report
from tare.statistics.platform_size import FEWEST_SIZES

_NETWORK_BUDGET_TEXTS = {
    "reset": "each trial starts with the budget of its level",
    "carry": "each trial starts with what the last one at its level left of the budget",
}

#: Levels that a sentence names.
MOST_LEVELS = 4
#: Cells whose trials take as long, within this ratio, have no column for it.
ALIKE = 1.2


def make(prepared: Prepared, forecast: Forecast, measure: str) -> Report:
    """Make the report of a plan: its cells, and the time that their trials take.

    ``measure`` is the command that measures them.
    """
    experiment, cells = prepared.experiment, prepared.cells
    stopping = experiment.stopping
    has_network = experiment.networked and not experiment.network_of_services
    return Report(
        command="experiment plan",
        name=experiment.name,
        question=experiment.question,
        figures={
            "trials_per_cell": stopping.trials,
            "budget_s": stopping.budget_s,
            "forecast": {
                "block_s": forecast.block_s,
                "starts_s": forecast.starts_s,
                "once_s": forecast.once_s,
                "probes_s": forecast.probes_s,
                "trials_s": forecast.trials_s,
                "total_s": forecast.total_s(stopping.trials, stopping.budget_s),
                "blocks": blocks(experiment, forecast),
                "executed_cells": forecast.executed,
                "unknown": forecast.unknown,
                "done_trials": forecast.done,
                "failures": forecast.failures,
            },
            **({"network": network_json(experiment)} if experiment.networked else {}),
            "left_out": [note.detail for note in prepared.notes if note.detail],
        },
        answers=tuple(answers(experiment, forecast)),
        cells=_cells([cell.levels() for cell in cells], forecast),
        further=(_network(experiment),) if has_network else (),
        failed=tuple(
            message(
                "failed: {cells | listing}: {reason}", cells=failure.cells, reason=failure.reason
            )
            for failure in forecast.failures
        ),
        notes=(
            *_unknown(forecast, measure),
            *shared_cpus(experiment, cells, prepared.machine),
            *sizes_for_overheads(experiment, cells, prepared.machine),
            *(message("{note}", note=note.message) for note in prepared.notes),
        ),
        next_steps=(NextStep(measure),),
    )


def _unknown(forecast: Forecast, measure: str) -> list[Message]:
    """Name the levels of which no trial was executed, and say how to measure them."""
    levels = [f"{f} {x}" for f, some in forecast.unknown.items() for x in some]
    if not levels:
        return []
    return [
        message(
            "not known is how long a trial takes with {levels | join(', ')}{% if more %} and "
            "{more | counted('more level')}{% endif %}, of which none was executed: the "
            "others' mean stands for it. To measure a first block: {command} (then Ctrl-C, "
            "and plan with the same --out)",
            levels=levels[:MOST_LEVELS],
            more=len(levels[MOST_LEVELS:]),
            command=measure,
        )
    ]


def announcement(experiment: Experiment, cells: Sequence[Cell]) -> list[Message]:
    """Say which trials are executed before there is a plan, and about how long they take."""
    told = [
        message(
            "runs {trials | counted('trial')} in {% if first < cells %}{first} of "
            "{cells | counted('cell')}{% elif cells > 1 %}each of {cells | counted('cell')}"
            "{% else %}the only cell{% endif %} now, to estimate the time: at most ≈ {most}, "
            "mostly far less; results are not kept",
            trials=pilot.FIRST.trials,
            first=len(pilot.first_cells(experiment, cells)),
            cells=len(cells),
            most=Duration(pilot.MOST_S),
        )
    ]
    applications = {
        w.application.name: w.application for w in experiment.workloads if w.application
    }
    # What builds images is not loaded where there are none.
    if applications:
        from tare.applications import image

        missing = [
            name
            for name, one in applications.items()
            if one.image.root is None and image.size_bytes(one) is None
        ]
        if missing:
            told.append(
                message(
                    "before, it builds the image of {names | listing}, which takes minutes and "
                    "is kept for the run",
                    names=missing,
                )
            )
    serving = [name for name, one in applications.items() if one.services]
    if serving:
        told.append(
            message("each trial of {names | listing} starts and ends its services", names=serving)
        )
    return told


def shared_cpus(experiment: Experiment, cells: Sequence[Cell], machine: Machine) -> list[Message]:
    """Say at which sizes load generators share CPUs with the services that they drive."""
    driven = [c for c in cells if c.workload.application and c.workload.application.driver]
    by_size: dict[str, dict[bool, list[str]]] = {}
    for cell in driven:
        is_shared = driver_cpus(experiment, cell, machine) is None
        by_size.setdefault(cell.size, {}).setdefault(is_shared, []).append(cell.workload.name)
    told = []
    for size, names in by_size.items():
        if True in names:
            shared = message(
                "size {size}: the driver{% if names %} of {names | listing}{% endif %} "
                "shares {% if cpus > 1 %}all {cpus} CPUs{% else %}the CPU{% endif %} with "
                "the services, so response times include its own waiting",
                size=size,
                names=list(dict.fromkeys(names[True])) if False in names else None,
                cpus=len(machine.compact),
            )
            told.append(shared)
    if told and any(False in names for names in by_size.values()):
        told.append(message("do not compare sizes of which only one shares CPUs with the driver"))
    return told


def sizes_for_overheads(
    experiment: Experiment, cells: Sequence[Cell], machine: Machine
) -> list[Message]:
    """Say how many sizes PTO and PSO need, and how many each pinning and workload has."""
    varied = {f for f, levels in experiment.factors.items() if len(levels) > 1}
    if not varied & {"size", "quota"} or not varied & {"platform", "pinning"}:
        return []
    found: dict[tuple[str, str], set[float]] = {}
    for cell in cells:
        cores = experiment.given_cores(cell)
        sizes = found.setdefault((cell.workload.name, cell.pinning), set())
        sizes.add(len(machine.spread) if cores is None else cores)
    by_count: dict[tuple[str, int], list[str]] = {}
    for (name, pinning), sizes in found.items():
        by_count.setdefault((pinning, len(sizes)), []).append(name)
    several = len(experiment.workloads) > 1
    cases = [
        message(
            "{% if pinning == 'none' %}unpinned{% else %}{pinning}{% endif %} {% if names %}"
            "for {names | listing} {% endif %}has {n}{% if few %}, too few{% endif %}",
            pinning=pinning,
            n=n,
            names=names if several and [p for p, _ in by_count].count(pinning) > 1 else None,
            few=n < FEWEST_SIZES,
        )
        for (pinning, n), names in by_count.items()
    ]
    fractions = {cores % 1 for sizes in found.values() for cores in sizes} != {0.0}
    pinned = "pinned" in experiment.factors.get("pinning", ())
    return [
        message(
            "PTO and PSO (overhead by platform type and by size) need {needs} sizes: "
            "{cases | join(', ')}{% if fractions %}; fractions of a core cannot be pinned"
            "{% endif %}",
            needs=FEWEST_SIZES,
            cases=cases,
            fractions=fractions and pinned,
        )
    ]


def _cells(cells: Sequence[Mapping[str, str]], forecast: Forecast) -> Table:
    """Return the cells by the factors that vary, with the time of a trial where it does."""
    varied = [f for f in cells[0] if len({str(cell.get(f)) for cell in cells}) > 1] or ["workload"]
    columns = [Column(key=factor, title=factor) for factor in varied]
    if _differ(forecast):
        columns.append(Column(key="trial_s", title="one trial ≈", unit="s"))
    rows: list[dict[str, Any]] = [dict(cell) for cell in cells]
    for row, trial_s in zip(rows, forecast.trials_s, strict=False):
        if all(row.get(f) not in some for f, some in forecast.unknown.items()):
            row["trial_s"] = trial_s
    return Table(title=message("Cells"), columns=tuple(columns), rows=tuple(rows))


def _differ(forecast: Forecast) -> bool:
    some = forecast.trials_s
    return len(some) > 1 and max(some) > ALIKE * min(some)


def blocks(experiment: Experiment, forecast: Forecast) -> int | None:
    """Return how many whole blocks there will be; None: the precision decides."""
    stopping = experiment.stopping
    if stopping.budget_s is None:
        return stopping.trials
    fitting = forecast.blocks(stopping.budget_s)
    return fitting if stopping.trials is None else min(stopping.trials, fitting)


def answers(experiment: Experiment, forecast: Forecast) -> list[Message]:
    """Say how long an experiment takes, and what a budget leaves of it."""
    first, *others = _totals(experiment, forecast)
    if forecast.done and forecast.left(experiment.stopping.trials or 1 << 30) == 0:
        return [first]
    probes = message(
        "≈ {time} of {% if budget %}the budget{% else %}that{% endif %} are for probing the "
        "machine before and after the trials; on a busy machine up to 4 × as long",
        time=Duration(forecast.probes_s),
        budget=experiment.stopping.budget_s is not None,
    )
    told = [first, *[probes] * bool(forecast.probes_s), *others, _block(forecast)]
    if len(some := forecast.trials_s) > 1 and not _differ(forecast):
        told.append(
            message(
                "a trial takes about as long in every cell: {time}",
                time=Duration(sum(some) / len(some)),
            )
        )
    if experiment.networked and experiment.network.rest == "refill":
        told.append(
            message(
                "idle periods until buckets are full come on top; they count towards the budget"
            )
        )
    return told


def _totals(experiment: Experiment, forecast: Forecast) -> list[Message]:
    stopping = experiment.stopping
    trials, budget_s = stopping.trials, stopping.budget_s
    goal = message(
        "{% if compared %}all comparisons have a verdict{% else %}medians are known to "
        "± {precision}{% endif %}",
        compared=stopping.compare is not None,
        precision=Chosen(stopping.precision),
    )
    total = Duration(forecast.total_s(trials, budget_s) or 0.0)
    room = blocks(experiment, forecast)
    if trials is None:
        if budget_s is None:
            return [
                message(
                    "ends when {goal}; no budget ends it earlier",
                    goal=goal,
                )
            ]
        return [
            message(
                "takes at most {total}: ends when {goal}",
                total=total,
                goal=goal,
            ),
            message("the budget has room for ≈ {room | counted('trial')} per cell", room=room),
        ]
    if forecast.done and room == trials:
        every = trials * forecast.cells - sum(forecast.skipped)
        return [
            message(
                "{% if left %}takes ≈ {total}: {left} of {trials | counted('trial')} are left"
                "{% else %}complete: all of {trials | counted('trial')} are there{% endif %}",
                total=total,
                left=forecast.left(trials),
                trials=every,
            )
        ]
    if room == trials:
        return [
            message(
                "takes ≈ {total}: {% if fewer %}{all | counted('trial')}, at most {trials} "
                "{% else %}{trials | counted('trial')} {% endif %}{% if cells > 1 %}in each "
                "of {cells | counted('cell')}{% else %}of the only cell{% endif %}",
                total=total, trials=trials, cells=forecast.cells,
                all=forecast.left(trials), fewer=any(forecast.skipped),
            )
        ]  # fmt: skip
    needed, budget = Duration(forecast.measuring_s(trials)), Duration(budget_s or 0.0)
    if room:
        ended = message(
            "takes ≈ {total}: the budget of {budget} ends it after ≈ {room} of "
            "{trials | counted('trial')} per cell",
            total=total,
            budget=budget,
            room=room,
            trials=trials,
        )
        return [ended, message("without a budget: ≈ {time}", time=needed)]
    return [
        message("the budget of {budget} is too short for one trial of every cell", budget=budget),
        message("{trials | counted('trial')} per cell take ≈ {time}", trials=trials, time=needed),
    ]


def _block(forecast: Forecast) -> Message:
    basis: Message | str = ""
    if forecast.executed < forecast.cells:
        basis = message(
            "(estimated from {executed} of {cells} cells)",
            executed=forecast.executed,
            cells=forecast.cells,
        )
    elif forecast.done:
        basis = message("(measured in earlier sessions)")
    return message(
        "one trial{% if cells > 1 %} of each of {cells | counted('cell')}{% endif %} takes ≈ "
        "{block}{% if starts %}, starting the platforms once ≈ {starts}{% else %}, starts "
        "included{% endif %}{% if basis %} {basis}{% endif %}",
        cells=forecast.cells,
        block=Duration(forecast.block_s),
        starts=Duration(forecast.starts_s) if forecast.starts_s else None,
        basis=basis,
    )


def network_json(experiment: Experiment) -> dict[str, Any]:
    """Return the network, its levels, and their longest idle periods."""
    network = experiment.network
    return {
        "hosts": network.hosts,
        "serve": [list(words) for words in network.serve],
        "budget": network.budget,
        "rest": network.rest,
        "levels": _network_levels(experiment),
    }


def _network_levels(experiment: Experiment) -> list[dict[str, Any]]:
    return [
        {
            "network": level,
            "specification": messages.specification(shaping),
            "rest_s_at_most": longest_rest_s(experiment, shaping),
            "shaping": messages.describe(shaping),
        }
        for level, shaping in _shapings(experiment).items()
    ]


def _network(experiment: Experiment) -> Table:
    """Return how each level shapes the network, and its longest idle period."""
    network = experiment.network
    title = message(
        "Network: {hosts | counted('host')}{% if servers %}, {servers | counted('server')} on "
        "each but the first{% endif %}; {budget}",
        hosts=network.hosts,
        servers=len(network.serve) or None,
        budget=message(_NETWORK_BUDGET_TEXTS[network.budget]),
    )
    columns = [Column(key="network", title="level")]
    if network.rest != "none":
        columns.append(Column(key="rest_s_at_most", title="longest idle period", unit="s"))
    columns.append(Column(key="shaping", title="shaping of every host"))
    return Table(title=title, columns=tuple(columns), rows=tuple(_network_levels(experiment)))


def longest_rest_s(experiment: Experiment, shaping: Shaping) -> float:
    """Return how long a trial waits at most: for a bucket, until it is full from nothing."""
    rest = experiment.network.rest
    if isinstance(rest, float | int):
        return float(rest)
    if rest == "none" or not isinstance(shaping, Bucket) or not shaping.refill_bps:
        return 0.0
    return shaping.capacity_bits / shaping.refill_bps


def _shapings(experiment: Experiment) -> dict[str, Shaping]:
    return {
        level: replay.resolved(specification.parse(experiment.shaped(level)))
        for level in map(str, experiment.factors["network"])
    }
