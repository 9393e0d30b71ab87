"""The page of task sets: answers, pictures, and a table of all tasks."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from tare.experiment.task_sets.answers import configurations, findings
from tare.experiment.task_sets.charts import quantiles, scatters
from tare.experiment.task_sets.every_task import RUNS, every_task
from tare.experiment.task_sets.ranking import rank_by_design
from tare.features.tasks.caveats import caveats, failed, missing
from tare.features.tasks.configurations import ScoredRuns, scored
from tare.features.tasks.options import Metric
from tare.features.tasks.runs import Runs
from tare.render.large_table import LargeTable
from tare.results import phrases
from tare.results.finding import Column, Finding, Table
from tare.results.message import each, message
from tare.results.report import Origin, Report, Section
from tare.units import counted


def make(runs: Runs, metric: Metric, command: str) -> tuple[Report, dict[str, LargeTable]]:
    """Lay the page out, and the table that stands in it.

    Parameters
    ----------
    runs : Runs
    metric : str
        The time that scores are about.
    command : str
        That makes the page again.
    """
    some = scored(runs, metric)
    ranking, compared = rank_by_design(some)
    found = findings(some, runs.tasks, ranking, compared)
    figures = {"faster": scatters(compared)}
    question = message(phrases.TASKS_QUESTION_RUNS)
    table = Finding(name=RUNS, question=question, answer=(), closed=False, verdict="none")
    names = dict.fromkeys(one.experiment for one in runs.folders)
    questions = {one.question for one in runs.folders if one.question}
    alone = runs.folders[0] if len(runs.folders) == 1 else None
    report = Report(
        figures={
            "folders": runs.folders,
            "configurations": runs.configurations,
            "tasks": len(runs.tasks),
        },
        name=", ".join(names),
        question=questions.pop() if len(questions) == 1 else found[0].question,
        answers=tuple(said for one in found for said in each(one.summary)),
        caveats=tuple(caveats(runs, some)),
        missing=tuple(missing(runs, some)),
        failed=tuple(failed(runs)),
        notes=tuple(dict.fromkeys(note for one in runs.folders for note in one.notes)),
        strip=_strip(runs, some),
        overview=tuple(f for f in [quantiles(some, compared)] if f is not None),
        cells=configurations(some),
        sections=(*(Section(f, figures.get(f.name, ())) for f in found), Section(table)),
        lead=found[0].name,
        machine=(_setup(runs, some),),
        origin=Origin(
            commands=(command,),
            title="How to make this page again",
            seed=None if alone is None else alone.seed,
            file=None if alone is None else alone.file,
        ),
        calm="No run was lost.",
        rest=f"{command} --json -",
    )
    note = message(
        "Of so many configurations it has the result and the {time} alone; tare tasks export "
        "DIR --file runs.csv has all",
        time=some[0].time.title,
    )
    return report, {RUNS: every_task(some, runs.tasks, compared, note)}


def _strip(runs: Runs, some: Sequence[ScoredRuns]) -> tuple[tuple[str, str], ...]:
    trials = sorted({one.trials for one in some})
    strip = [
        ("tasks", f"{len(runs.tasks):,}"),
        ("configurations", f"{len(some)}"),
        ("trials of each task", " to ".join(map(str, dict.fromkeys((trials[0], trials[-1]))))),
    ]
    if days := sorted({one.started[:10] for one in runs.folders if one.started}):
        strip.append(("run on", " to ".join(dict.fromkeys((days[0], days[-1])))))
    machines = runs.machines
    if len(machines) == 1:
        cpu, cpus, kernel = machines.pop()
        machine = [str(cpu)] if cpu else []
        machine += [counted(cpus, "CPU")] if isinstance(cpus, int) and 0 < cpus < 1 << 20 else []
        strip += [("machine", ", ".join(machine))] if machine else []
        strip += [("kernel", str(kernel))] if kernel else []
    elif machines:
        strip.append(("machines", f"{len(machines)} different ones"))
    return tuple(strip)


def _setup(runs: Runs, some: Sequence[ScoredRuns]) -> Table:
    """Return what each configuration was given: its command, and its limits."""
    rows = []
    for one in some:
        own, enforced = one.configuration, one.configuration.enforce
        asked = runs.folders[own.folder].asked
        rows.append((
            one.label, shlex.join(own.command),
            asked and (shlex.join(asked.checker) if asked.checker else asked.compare),
            None if own.timeout_s is None else 1e9 * own.timeout_s,
            enforced and enforced.cpu_s and 1e9 * enforced.cpu_s,
            enforced and enforced.memory_bytes, enforced and enforced.output_bytes,
            enforced and enforced.processes, asked and asked.cpus, asked and asked.parallel,
        ))  # fmt: skip
    heads = (
        Column(key="name", title="configuration"),
        "command",
        Column(key="judged", title="judged by"),
        Column(key="timeout", title="wall time", unit="ns"),
        Column(key="cpu", title="CPU time", unit="ns"),
        Column(key="memory", title="memory", unit="bytes"),
        Column(key="output", title="output", unit="bytes"),
        Column(key="processes", title="processes", unit="1"),
        Column(key="cpus", title="CPUs of a run", unit="1"),
        Column(key="parallel", title="runs at a time", unit="1"),
    )
    return Table.of(message("How runs were made"), heads, rows)
