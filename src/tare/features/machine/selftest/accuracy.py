"""Run the programs that know their own truth, and judge what tare measured of them."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

from tare.errors import PlatformError
from tare.experiment import machine_facts, pipeline, session, store
from tare.experiment.catalogue import catalogue
from tare.experiment.pipeline import Prepared
from tare.experiment.results import Results
from tare.experiment.specification import Experiment
from tare.features.machine.selftest import phrases
from tare.features.machine.selftest.document import Accuracy, Unchecked, now
from tare.features.machine.selftest.errors import errors
from tare.features.machine.selftest.lines import lines
from tare.features.machine.selftest.programs import BY_NAME, PROGRAMS, worthwhile
from tare.results.columns import Columns
from tare.results.message import Message, message

_MISSING_TEXTS = {
    "perf_cpu": "the kernel does not let tare watch the CPUs",
    "perf_task": "the kernel does not let the agents watch their own children",
    "cgroup": "no control group can be made there",
}

#: Sources that a machine may not have (``selftest.missing``).
_MAY_BE_MISSING = ("perf_cpu", "perf_task", "cgroup")
#: The source with which another is not tried: agents watch their children where CPUs cannot be.
_INSTEAD_OF = {"perf_task": "perf_cpu"}


def prepare(experiment: Experiment) -> Prepared:
    """Look which platforms work here; leave out the others, and say so.

    Raises
    ------
    PlatformError
        If none works.
    """
    prepared = pipeline.check(experiment, skip_missing=True)
    prepared.cells = worthwhile(prepared.cells)
    if not prepared.cells:
        raise PlatformError("no program is worth its time like this", "--workers 1")
    return prepared


def measure(
    prepared: Prepared, folder: Path, progress: session.Progress, *, as_root: bool = False
) -> Accuracy:
    """Run the programs and judge every figure.

    Parameters
    ----------
    prepared : Prepared
        What is to be done.
    folder : Path
        For trials and output.
    progress : Progress
        Who wants to know how far it is.
    as_root : bool
        Under sudo: run the programs as root, not as the calling user.

    Raises
    ------
    TrialError
        If every trial failed.
    """
    began = time.monotonic()
    ended = pipeline.execute(prepared, folder, progress, as_root=as_root)
    results = store.load(folder)
    found = errors(results, folder)
    unmeasured = _unmeasured(found, prepared)
    return Accuracy(
        date=now(),
        boot_id=machine_facts.boot_id(),
        platforms=tuple(str(p) for p in prepared.experiment.factors["platform"]),
        workers=tuple(int(w) for w in prepared.experiment.factors["workers"]),
        trials=len(results.trial_table),
        seconds=time.monotonic() - began,
        ended=ended,
        lines=lines(found),
        unchecked=tuple(_unchecked(found, prepared)),
        notes=(
            *results.notes,
            *_failures(results),
            *_cut_short(ended, prepared, results),
        ),
        cells=len(prepared.cells),
        unmeasured=unmeasured,
    )


def _unmeasured(found: Columns, prepared: Prepared) -> int:
    """Count what was to be measured, and of which there is no figure at all."""
    have = set(zip(found["program"], found["platform"], found["workers"], strict=True))
    asked = {(c.workload.name, c.platform, c.workers) for c in prepared.cells}
    return len(asked - have)


def _failures(results: Results) -> list[Message]:
    """Return which trials did not end as expected."""
    told = []
    trials = results.trial_table
    for (name, platform), some in trials.groups("workload", "platform"):
        wrong = some.rows(some["status"] != BY_NAME[str(name)].expected_status)
        if wrong:
            reasons = [r for r in wrong["reason"] if isinstance(r, str)]
            told.append(
                message(
                    "{trials | counted('trial')} of {place} did not end as expected"
                    "{% if reason %}: {reason}{% endif %}",
                    trials=len(wrong),
                    place=message(phrases.PLACE, program=str(name), platform=str(platform)),
                    reason=reasons[0] if reasons else None,
                )
            )
    return told


def _cut_short(ended: str, prepared: Prepared, results: Results) -> list[Message]:
    if ended != "budget":
        return []
    # Those that are to fail are given up early, as all that keep failing.
    wanted = [c.cell for c in prepared.cells if not BY_NAME[c.workload.name].known]
    counts = Counter(results.trial_table["cell"].tolist())
    least = min((counts[cell] for cell in wanted), default=0)
    asked = prepared.experiment.stopping.trials
    return [
        message(
            "The budget ended when some programs had {least} of {asked} trials: use a larger "
            "--budget, which each program has for itself.",
            least=least,
            asked=asked,
        )
    ]


def _unchecked(found: Columns, prepared: Prepared) -> list[Unchecked]:
    """Name the sources that a metric has, but not on every platform here."""
    known = catalogue().metrics
    # A program that had no trial says nothing of what there is.
    ran = set(found["program"])
    asked = {m for p in PROGRAMS if p.name in ran for m in p.metrics if m in known}
    platforms = [str(p) for p in prepared.experiment.factors["platform"]]
    have = set(zip(found["platform"], found["metric"], found["source"], strict=True))
    told = []
    for source in _MAY_BE_MISSING:
        better = _INSTEAD_OF.get(source)
        missing: dict[tuple[str, ...], list[str]] = {}
        for m in sorted(asked):
            if source in {s.name for s in known[m].sources}:
                lacking = (p for p in platforms if not {(p, m, source), (p, m, better)} & have)
                if where := tuple(lacking):
                    missing.setdefault(where, []).append(m)
        why = message(_MISSING_TEXTS[source])
        for where, some in missing.items():
            told.append(Unchecked(source=source, metrics=tuple(some), platforms=where, why=why))
    return told
