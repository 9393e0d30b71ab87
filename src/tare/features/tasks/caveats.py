"""What weakens the answers of task sets, what is missing from them, and what failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tare import platforms
from tare.experiment.task_sets.caveats import crashed_alike, other_tasks
from tare.experiment.task_sets.outcomes import Pair, pairs
from tare.features.tasks.configurations import ScoredRuns
from tare.features.tasks.runs import Configuration, Runs
from tare.features.tasks.specification import TaskSet
from tare.results.message import Amount, Message, message

_RUNS_TEXTS = {
    "lost": (
        "{n | counted('run')} {% if n == 1 %}was{% else %}were{% endif %} lost by the "
        "platform{% if why %}; the last one: {why}{% endif %}"
    ),
    "unchecked": (
        "{n | counted('run')} could not be checked{% if why %}; the last one: {why}{% endif %}"
    ),
}
_GIVEN_TEXTS = {
    "timeout": "the time limit",
    "enforce": "what is enforced",
    "parallel": "the number of runs at a time",
    "cpus": "the CPUs of each run",
    "judged": "how outputs are judged",
}

#: Names in a sentence.
_MOST_SAID = 4
#: Share of their wall time for which runs may wait for a CPU before it is said.
MOST_WAITED = 0.05


def caveats(runs: Runs, some: Sequence[ScoredRuns]) -> Iterator[Message]:
    """Say what weakens all answers: broken configurations, waiting for a CPU, unlike folders."""
    yield from crashed_alike(some, remedy)
    yield from unsolved(some)
    waited = {one.label: share for one in some if (share := one.waited) > MOST_WAITED}
    if waited:
        yield message(
            "{name or n ~ ' of ' ~ of ~ ' configurations'}: runs waited for a CPU for "
            "{% if not name %}{least} to {% endif %}{most} of their wall time, as others "
            "used it; wall times are too long",
            name=next(iter(waited)) if len(waited) == 1 else None,
            n=len(waited),
            of=len(some),
            least=Amount(min(waited.values()), "share"),
            most=Amount(max(waited.values()), "share"),
        )
    if len(runs.folders) > 1:
        yield message(
            "the {n} folders were run at different times: whatever differed between these "
            "times is in the differences between them, and not in the intervals",
            n=len(runs.folders),
        )
    for one in runs.folders:
        if one.replaced:
            yield message(
                "in {folder}, {n | counted('task')} with another input or answer than before "
                "count as tasks of their own: {names | listing}{% if n > names | length %} "
                "and others{% endif %}",
                n=len(one.replaced),
                folder=one.name,
                names=one.replaced[:_MOST_SAID],
            )
    if len(runs.folders) > 1:
        yield from other_tasks([int((one.outcomes.runs > 0).sum()) for one in some])
    compared = pairs(some)
    alike: dict[tuple[str, ...], list[Pair]] = {}
    for pair in compared:
        given = [runs.configurations[one.number] for one in (pair.first, pair.second)]
        if what := _otherwise(runs, *given):
            alike.setdefault(what, []).append(pair)
    for what, own in alike.items():
        yield message(
            "{first} and {second} differ in {what | listing} as well{% if more %}, and "
            "{more | counted('more pair')} in the same{% endif %}",
            first=own[0].first.label,
            second=own[0].second.label,
            more=len(own) - 1,
            what=[message(_GIVEN_TEXTS[name]) for name in what],
        )
    used = {one.number for pair in compared for one in (pair.first, pair.second)}
    alone = [one.label for one in some if one.number not in used and one.broken is None]
    if compared and alone:
        yield message(
            "{names | listing}: no other folder has the same, so it is compared with nothing",
            names=alone,
        )
    if len(runs.machines) > 1:
        yield message("the runs are from {n} different machines", n=len(runs.machines))


def _otherwise(runs: Runs, first: Configuration, second: Configuration) -> tuple[str, ...]:
    """Return what two configurations were given that is not the same."""
    one, two = (runs.folders[c.folder].asked for c in (first, second))
    differing = {
        "timeout": first.timeout_s != second.timeout_s,
        "enforce": first.enforce != second.enforce,
    }
    if one is not None and two is not None:
        differing |= {
            "parallel": one.parallel != two.parallel,
            "cpus": one.cpus != two.cpus,
            "judged": _judged(one) != _judged(two),
        }
    return tuple(name for name, differs in differing.items() if differs)


def _judged(asked: TaskSet) -> tuple[object, ...]:
    return asked.expected, asked.compare, asked.tolerance, asked.checker


def unsolved(some: Sequence[ScoredRuns]) -> Iterator[Message]:
    """Say which sandboxes solve none of the tasks that the same program solves elsewhere."""
    for one in some:
        others = [
            other
            for other in some
            if other.configuration.workload == one.configuration.workload
            and 2 * other.outcomes.times_solved.sum() > other.outcomes.runs.sum()
        ]
        solves_none = one.outcomes.runs.sum() > 1 and not one.outcomes.times_solved.any()
        if one.broken is None and solves_none and others and (how := remedy(one)):
            yield message(
                "{name} solves none of the tasks, {other} most of them: it may miss files, "
                "so the comparison may be one of the set-up. {remedy}",
                name=one.label,
                other=others[0].label,
                remedy=how,
            )


def remedy(*some: ScoredRuns) -> Message | None:
    """Return how to show files to programs that may miss them; None: they see this machine's."""
    platforms_of = [one.configuration.levels.get("platform", "bare") for one in some]
    layers = [layer for layer in map(platforms.showing, platforms_of) if layer is not None]
    return (
        message(
            'show = "/FOLDER" under {% for layer in layers %}[platforms.{layer}]'
            "{% if not loop.last %} and {% endif %}{% endfor %} in the file shows it more than "
            "the system's directories and the files that its command names",
            layers=list(dict.fromkeys(layers)),
        )
        if layers
        else None
    )


def missing(runs: Runs, some: Sequence[ScoredRuns]) -> Iterator[Message]:
    """Say how many runs of each folder there are not."""
    for place, folder in enumerate(runs.folders):
        there = sum(len(one.table) for one in some if one.configuration.folder == place)
        if folder.planned is not None and there < folder.planned:
            yield message(
                "{n} of {of} runs{% if folder %} of {folder}{% endif %} are missing: the set "
                "still runs, was interrupted, or lost its platform. tare tasks run FILE "
                "--resume does them",
                n=folder.planned - there,
                of=folder.planned,
                folder=folder.name if len(runs.folders) > 1 else None,
            )


def failed(runs: Runs) -> Iterator[Message]:
    """Say how many runs say nothing of their program, and why the last does not."""
    for result in ("lost", "unchecked"):
        rows = runs.table.where(result=result)
        if len(rows):
            yield message(_RUNS_TEXTS[result], n=len(rows), why=rows["why"][-1])
