"""From an experiment file to an experiment: hostile until parsed, complaints that help."""

from __future__ import annotations

import math
import re
import shlex
from pathlib import Path
from typing import Any

import msgspec

from tare import files, platforms
from tare.decoding import DecodeError, toml
from tare.errors import ExperimentError, Typed
from tare.experiment import plan
from tare.experiment.file import (
    application,
    factors,
    keys,
    networks,
    sections,
    substitution,
    windows,
)
from tare.experiment.file.table import File, Source, Table, closest, suggestion
from tare.experiment.specification import NO_NETWORK, OF_MACHINE, Experiment, Limit
from tare.registry import Catalogue
from tare.streams import NULL
from tare.workloads.specification import Enforced

__all__ = ["TASKS", "from_table", "parse", "read", "tables", "template"]

#: No question is that long.
SIZE_LIMIT = 1 << 20

TABLES = (
    "experiment", "workload", "factors", "loads", "sizes", "network", "networks", "platforms",
    "window", "fleet",
)  # fmt: skip

#: The table that makes a file one of a task set, which is no experiment in blocks.
TASKS = "tasks"


def read(path: Path, hint: str | None = None) -> str:
    """Return the text of an experiment file.

    Parameters
    ----------
    path : Path
    hint : str or None
        What to do where there is none; None: what makes a new experiment.

    Raises
    ------
    ExperimentError
        If it cannot be read, is too large, or is no text.
    """
    try:
        with files.open_plain(path, links=True) as file:
            data = file.read(SIZE_LIMIT + 1)
    except OSError as error:
        raise ExperimentError(
            f"cannot read {path}: {error.strerror}",
            None
            if path.exists()
            else hint or Typed(f"tare experiment new {shlex.quote(str(path))}"),
        ) from error
    if len(data) > SIZE_LIMIT:
        raise ExperimentError(f"{path} is larger than {SIZE_LIMIT} bytes: no experiment file")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ExperimentError(
            f"{path} is no text in UTF-8: byte {error.start} cannot be read"
        ) from error


def parse(text: str, name: str, catalogue: Catalogue) -> Experiment:
    """Parse the text of an experiment file.

    Parameters
    ----------
    text : str
        TOML.
    name : str
        The file, as complaints name it.
    catalogue : Catalogue
        The kernels, platforms, loads and metrics that there are.

    Raises
    ------
    ExperimentError
        Names the file, the key (tables of a list are counted from 1), and what was expected.
    """
    return from_table(tables(text, name), File(name), catalogue)


def tables(text: str, name: str) -> dict[str, Any]:
    """Return what the text of a file in TOML holds; raises ExperimentError."""
    try:
        return toml(text)
    except DecodeError as error:
        raise ExperimentError(
            f"{name} is no TOML: {error}", _line(text, str(error)) or Typed("tare experiment new")
        ) from error


def from_table(values: dict[str, Any], source: Source, catalogue: Catalogue) -> Experiment:
    """Read an experiment from what a TOML file would hold.

    Parameters
    ----------
    values : dict
        Tables by name.
    source : Source
        Where they come from.
    catalogue : Catalogue
        The kernels, platforms, loads and metrics that there are.

    Raises
    ------
    ExperimentError
        As ``parse`` does.
    """
    file = Table(source, "", values)
    if TASKS in values:
        raise file.error(
            TASKS,
            "is a set of tasks, which another command runs",
            Typed(f"tare tasks run {shlex.quote(files.argument(source.place('', None)))}"),
        )
    file.only(TABLES)
    if "experiment" not in values:
        raise file.error("experiment", "is missing", '[experiment] with name = "…", question = "…"')
    top = file.table("experiment")
    top.only([key.name for key in (*keys.EXPERIMENT, *keys.STOPPING)])
    loads = sections.loads(file.table("loads"), catalogue)
    sizes = sections.sizes(file.table("sizes"))
    given = top.part(key.name for key in keys.EXPERIMENT).read(keys.EXPERIMENT)
    first, *also = given.pop("metrics", (None,))
    workloads = sections.workloads(file.tables("workload"), file, catalogue)
    chosen = factors.factors(file.table("factors"), catalogue, loads, sizes)
    if any(workload.needs_network for workload in workloads):
        # Services are driven, or asked, from another host, whether or not anything shapes the way.
        chosen.setdefault("network", (NO_NETWORK,))
    experiment = Experiment(
        **given,
        metric=first,
        stopping=sections.stopping(top, tuple(also)),
        workloads=workloads,
        factors=chosen,
        loads=loads,
        sizes=sizes,
        platforms=sections.platforms(file.table("platforms"), catalogue),
        network=networks.network(file.table("network")),
        networks=networks.named(file.table("networks")),
        window=windows.window(file),
        fleet=sections.fleet(file.table("fleet")),
    )
    only = factors.only(file.tables("workload"), experiment)
    experiment = msgspec.structs.replace(experiment, only=only)
    _check_arguments(file, experiment)
    _check_trials(file, experiment)
    _check_serving(top, file, experiment)
    _check_tasks(top, file, experiment)
    networks.check(file, experiment)
    substitution.check(source, experiment)
    windows.check(file, experiment)
    _check_commands(top, experiment, catalogue)
    _check_fresh(top, experiment)
    _check_prepared(top, experiment)
    _check_compared(top, experiment)
    _check_limits(top, experiment, catalogue)
    return experiment


def _check_arguments(file: Table, experiment: Experiment) -> None:
    """Refuse a parameter of an application that has one value and several levels."""
    for table, workload in zip(file.tables("workload"), experiment.workloads, strict=True):
        twice = next(
            (n for n in workload.arguments if n in table.values and n in experiment.factors), None
        )
        if twice is not None:
            raise table.error(
                twice, "is a factor as well, with levels of its own", f"leave one {twice} out"
            )


def _check_trials(file: Table, experiment: Experiment) -> None:
    """Refuse trials of a workload that are not fewer than those of the experiment."""
    asked = experiment.stopping.trials
    for table, workload in zip(file.tables("workload"), experiment.workloads, strict=True):
        if workload.trials is None:
            continue
        if asked is None:
            raise table.error("trials", "needs trials in [experiment] as well, which are more")
        if workload.trials > asked:
            raise table.error("trials", f"is more than the {asked} trials of [experiment]")


def _check_serving(table: Table, file: Table, experiment: Experiment) -> None:
    """Refuse what services cannot do: several executions of a trial, and several workers."""
    serving = next((w.name for w in experiment.workloads if w.serves), None)
    if serving is None:
        return
    for key, value, most in (
        ("iterations", experiment.iterations, 1),
        ("warmup", experiment.warmup, 0),
    ):
        if value > most:
            raise table.error(key, f"is {most} for {serving}, whose services a trial starts anew")
    if any(workers != 1 for workers in experiment.factors.get("workers", (1,))):
        raise file.error("factors.workers", f"is 1 for {serving}: one driver drives its services")
    if experiment.window is not None:
        raise file.error("window", f"counts executions, of which {serving} has one a trial")
    if experiment.network.hosts < 2:
        raise file.error("network.hosts", f"is at least 2: the driver of {serving} is on host 2")


def _check_tasks(table: Table, file: Table, experiment: Experiment) -> None:
    """Refuse several executions of a trial of a job that leaves its tasks: it has one file."""
    job = next(
        (w.name for w in experiment.workloads if w.application and w.application.tasks), None
    )
    if job is None:
        return
    for key, value, most in (
        ("iterations", experiment.iterations, 1),
        ("warmup", experiment.warmup, 0),
    ):
        if value > most:
            raise table.error(key, f"is {most} for {job}, which leaves the tasks of one execution")
    if any(workers != 1 for workers in experiment.factors.get("workers", (1,))):
        raise file.error("factors.workers", f"is 1 for {job}, which leaves the tasks of one job")
    if experiment.window is not None:
        raise file.error("window", f"has many executions; {job} leaves the tasks of one")


def _check_commands(table: Table, experiment: Experiment, catalogue: Catalogue) -> None:
    """Refuse what only kernels can do where there are commands, and metrics that are none."""
    metrics = [m for m in (experiment.metric, *experiment.stopping.also) if m is not None]
    for metric in metrics:
        if metric not in catalogue.metrics and metric not in experiment.printed:
            raise table.error(
                "metric",
                f"there is no metric {metric!r}",
                closest(metric, [*catalogue.metrics, *experiment.printed])
                or "wall, cpu, memory, or another of: tare describe metrics",
            )
    _check_printed(table, experiment, "metric", metrics)
    commands = [workload.name for workload in experiment.workloads if workload.command]
    if not commands:
        return
    kernels_own = next((m for m in metrics if m.startswith("kernel_")), None)
    if kernels_own is not None:
        raise table.error(
            "metric", f"only kernels have {kernels_own}; {commands[0]!r} is a command", '"wall_ns"'
        )
    if experiment.process == "same":
        raise table.error(
            "process", f"only kernels can iterate in one process; {commands[0]!r} is a command"
        )


def _check_fresh(table: Table, experiment: Experiment) -> None:
    """Refuse what a sandbox that starts each execution itself cannot do."""
    if experiment.fresh != "run":
        return
    stacks = experiment.factors.get("platform", ("bare",))
    if not any(platforms.starts_programs(stack) for stack in stacks):
        raise table.error(
            "fresh", 'is "run" where a platform starts programs itself', 'platform = ["isolate"]'
        )
    for key, value, needed in (
        ("process", experiment.process, "fresh"),
        ("instances", experiment.instances, "own"),
    ):
        if value != needed:
            raise table.error(key, f'must be "{needed}" with fresh = "run"', f'"{needed}"')
    for workload in experiment.workloads:
        for what, is_given in (
            ("is an application", workload.application),
            ("has its output read", workload.output != NULL),
            ("has limits", workload.enforce),
            ("ignores exit codes", workload.ignore_failure is not None),
            ("has an empty variable", "" in workload.environment.values()),
        ):
            if is_given:
                raise table.error(
                    "fresh",
                    f'is not "run" for {workload.name}, which {what}: the sandbox prevents that',
                    '"trial"',
                )
    if experiment.window is not None:
        raise table.error("fresh", 'is not "run" with a window, in which the agent counts')


def _check_limits(table: Table, experiment: Experiment, catalogue: Catalogue) -> None:
    """Refuse a limit of time where the answers are about something else, and one above timeouts."""
    for limit in experiment.limit:
        if limit.of is None and not plan.metric(experiment).endswith("_ns"):
            raise table.error(
                "limit",
                f"is a time, and the answers are about {plan.metric(experiment)}",
                'limit = { wall = "1 s" }',
            )
        if limit.value > _most(experiment, limit):
            raise table.error(
                "limit", "is above timeout or enforce, which stop what is within the limit"
            )
    if experiment.true_time is None:
        return
    if not experiment.limit:
        raise table.error("true_time", "says nothing without limit", 'limit = "1 s"')
    known = [*catalogue.metrics, *experiment.printed]
    if experiment.true_time not in known or not experiment.true_time.endswith("_ns"):
        times = [name for name in known if name.endswith("_ns")]
        raise table.error(
            "true_time",
            f"there is no time {experiment.true_time!r}",
            closest(experiment.true_time, times) or "one of: tare describe metrics",
        )
    _check_printed(table, experiment, "true_time", [experiment.true_time])


def _most(experiment: Experiment, limit: Limit) -> float:
    """Return what the workloads may take of what a limit is of."""
    given: list[float | None] = []
    for workload in experiment.workloads:
        enforced = workload.enforce or Enforced()
        if limit.of == "memory":
            given.append(enforced.memory_bytes)
        else:
            times = (workload.timeout_s, enforced.cpu_s)
            given += [None if time is None else 1e9 * time for time in times]
    return min((most for most in given if most is not None), default=math.inf)


def _check_printed(table: Table, experiment: Experiment, key: str, metrics: list[str]) -> None:
    """Refuse a metric that one application prints, and another workload does not."""
    for metric in metrics:
        if metric not in experiment.printed:
            continue
        for workload in experiment.workloads:
            own = () if workload.application is None else workload.application.metrics
            if metric not in [one.name for one in own]:
                raise table.error(
                    key,
                    f"{workload.name} does not print {metric}",
                    "another metric, or each of them in an experiment of its own",
                )


def _check_prepared(table: Table, experiment: Experiment) -> None:
    """Refuse executions of a trial that would find what another one left of what was prepared."""
    if not any(workload.prepare for workload in experiment.workloads):
        return
    if experiment.warmup:
        raise table.error(
            "warmup",
            "is executed after prepare, so that the measured execution would find what it left",
            "leave one of both out",
        )
    if experiment.iterations > 1:
        raise table.error("iterations", "excludes prepare, which is done once a trial", "1")


def _check_compared(table: Table, experiment: Experiment) -> None:
    """Refuse to compare what is no factor, has one level, or never meets in a block."""
    factor = experiment.stopping.compare
    if factor is None:
        return
    levels = {"workload": experiment.workloads, **experiment.factors}
    if factor not in levels:
        raise table.error(
            "compare", f"there is no factor {factor!r}", suggestion(factor, tuple(levels))
        )
    if len(levels[factor]) < 2 and tuple(levels[factor]) != (OF_MACHINE.get(factor),):
        raise table.error(
            "compare", f"{factor!r} has one level, so there is nothing to compare", "add a level"
        )
    if experiment.order != "blocks":
        raise table.error("order", "is to be blocks where cells are compared within blocks")


def template(reference: str | None = None) -> str:
    """Return an experiment file to start from, every key explained; or that of an application."""
    if reference is not None:
        return application.template(reference)
    return Path(__file__).with_name("template.toml").read_text()


def _line(text: str, message: str) -> str | None:
    """Return the line that TOML's message names."""
    found = re.search(r"line (\d+)", message)
    lines = text.splitlines()
    if found is None or not 0 < int(found[1]) <= len(lines):
        return None
    return f"line {found[1]}: {lines[int(found[1]) - 1].strip()[:100]}"
