"""From a file to runs: the one place where the parts are put together."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tare.agent import record
from tare.errors import ExperimentError, StoreError, Typed
from tare.experiment import availability_filter, journal, machine_facts, remnants
from tare.experiment import file as experiment_file
from tare.experiment.catalogue import catalogue
from tare.experiment.placement import Machine, cpu_sets
from tare.experiment.session import folder as folders
from tare.experiment.task_sets.outcomes import Result
from tare.features.tasks import file as task_file
from tare.features.tasks import folder as own_folders
from tare.features.tasks import hiding, session
from tare.features.tasks.specification import TASK, Plan
from tare.render.words import text as words
from tare.results.message import message


@dataclass
class Prepared:
    """A task set that this machine can run."""

    plan: Plan
    machine: Machine
    facts: list[journal.MachineFact]
    notes: list[journal.Note]
    text: str


def prepare(
    file: Path,
    *,
    skip_missing: bool = False,
    parallel: int | None = None,
    trials: int | None = None,
    user: record.User | None = None,
) -> Prepared:
    """Read a file with ``[tasks]``, find its tasks, and check what it needs.

    Raises
    ------
    ExperimentError
        If the file is wrong, or asks for more than the machine has.
    PlatformError
        If a platform is missing and must not be skipped; says what would make it work.
    """
    text = experiment_file.read(file, "examples/tasks.toml is such a file")
    experiment, asked = task_file.parse(text, str(file), catalogue())
    given = {"parallel": parallel, "trials": trials}
    changed = {key: value for key, value in given.items() if value is not None}
    asked = msgspec.structs.replace(asked, **changed)
    tasks = task_file.find(asked, str(file))
    hiding.check_links(tasks, user)
    found = machine_facts.topology()
    here = Machine.parse(found)
    wanted = asked.parallel * asked.cpus
    if wanted > len(here.compact):
        raise ExperimentError(
            f"{file}: tasks.parallel: {asked.parallel} runs with {asked.cpus} CPUs each need "
            f"{wanted}, and tare may use {len(here.compact)}",
            f"parallel = {max(1, len(here.compact) // asked.cpus)}, or --parallel",
        )
    # What is looked for on the machine is looked for with a task that there is.
    factors = {**experiment.factors, TASK: (tasks[0].input,)}
    experiment = msgspec.structs.replace(experiment, factors=factors)
    experiment, cells, notes = availability_filter.fitted(
        experiment, here, skip=skip_missing or experiment.skip_missing
    )
    if (shared := _shared_cores(here, asked.cpus, asked.parallel)) > 0:
        said = message(
            "{lanes} of the runs at a time share a core with another one, as its hardware threads",
            lanes=shared,
        )
        notes = [*notes, journal.Note(message=words(said))]
    if read := hiding.readable(cells, tasks, experiment.platforms, user):
        said = message(
            "programs on {platforms | listing} can read the expected outputs: "
            "docs/how-to/tasks.md says which platforms hide them",
            platforms=read,
        )
        notes = [*notes, journal.Note(message=words(said))]
    plan = Plan(
        experiment=experiment,
        tasks=tasks,
        set=asked,
        cells=cells,
        programs=task_file.programs(cells, asked, tasks, str(file)),
    )
    return Prepared(plan, here, machine_facts.facts(found), notes, text)


def _shared_cores(machine: Machine, each: int, lanes: int) -> int:
    """Return how many lanes share a core with another one, by its hardware threads."""
    core = {one.cpu: one.core for one in machine.cpus}
    users = Counter(
        core[cpu]
        for some in cpu_sets(machine, each, lanes)
        for cpu in {core.get(c): c for c in some if c in core}.values()
    )
    return sum(n for n in users.values() if n > 1)


def execute(
    prepared: Prepared,
    folder: Path,
    progress: session.Progress,
    *,
    resume: bool = False,
    user: record.User | None = None,
) -> Counter[Result]:
    """Run what is missing into a folder; return how the runs of this session ended.

    Raises
    ------
    StoreError
        If the folder is not empty, or another session writes to it.
    """
    plan = prepared.plan
    with folders.held(folder):
        if own_folders.has_begun(folder):
            if not resume:
                raise StoreError(
                    f"{folder} is not empty: it holds a task set, so nothing was run",
                    Typed("--resume   (goes on with it; or choose another --out)"),
                )
            done = own_folders.go_on(plan, prepared.text, folder)
            remnants.cleanup()
        else:
            done = own_folders.begin(plan, prepared.text, folder)
        if next(session.works(plan, done.done), None) is None:
            progress.note(f"{folder} is complete, so nothing was run.")
            return Counter()
        return session.conduct(
            session.Request(
                folder,
                plan,
                prepared.machine,
                prepared.facts,
                prepared.notes,
                progress,
                done,
                user,
            )
        )
