"""Run the programs that know their own truth, and judge what tare measured of them."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any, Literal

import msgspec

from tare.errors import PlatformError, StoreError, Typed
from tare.experiment import machine_facts, pipeline, session, store
from tare.experiment.catalogue import catalogue
from tare.experiment.pipeline import Prepared
from tare.experiment.results import Results
from tare.experiment.specification import Experiment
from tare.features.machine.selftest.errors import errors
from tare.features.machine.selftest.lines import Line, lines
from tare.features.machine.selftest.programs import BY_NAME, PROGRAMS, worthwhile
from tare.host.state import Fact
from tare.results.columns import Columns
from tare.results.message import Levels, Message, Said, message

_MISSING_TEXTS = {
    "perf_cpu": "the kernel does not let tare watch the CPUs",
    "perf_task": "the kernel does not let the agents watch their own children",
    "cgroup": "no control group can be made there",
}

#: Sources that a machine may not have.
_MAY_BE_MISSING = ("perf_cpu", "perf_task", "cgroup")
#: The source with which another is not tried: agents watch their children where CPUs cannot be.
_INSTEAD_OF = {"perf_task": "perf_cpu"}
#: Metrics of the figures that stand for all, by the name that they have in facts.
_HEAD = {"wall": "wall_ns", "cpu": "cpu_ns", "memory": "memory_bytes"}


class Accuracy(msgspec.Struct, frozen=True, kw_only=True):
    """Errors of all figures relative to programs of known cost."""

    date: str
    boot_id: str | None
    platforms: tuple[str, ...]
    workers: tuple[int, ...]
    trials: int
    seconds: float
    #: ``finished``, or ``budget``.
    ended: str
    lines: tuple[Line, ...]
    notes: tuple[Said, ...] = ()
    #: Number of cells (program, platform, workers), and how many of them have no trial.
    cells: int = 0
    unmeasured: int = 0

    @property
    def judged(self) -> tuple[Line, ...]:
        """What tare uses, and of which something is promised."""
        return tuple(one for one in self.lines if one.used and one.verdict != "none")

    @property
    def off(self) -> tuple[Line, ...]:
        """What tare uses, and what is not as promised."""
        return tuple(one for one in self.judged if one.verdict == "no")

    @property
    def open(self) -> tuple[Line, ...]:
        """What tare uses, and what is inconclusive."""
        return tuple(one for one in self.judged if one.verdict == "inconclusive")

    @property
    def few(self) -> int:
        """The least number of trials that a figure rests on, where too few for an interval."""
        timed = (one for one in self.judged if one.promised != (0.0, 0.0))
        return min((one.n for one in timed if one.low is None), default=0)

    @property
    def verdict(self) -> Literal["yes", "no", "inconclusive"]:
        """Whether all that is used is as specified."""
        if self.off:
            return "no"
        doubtful = self.open or self.few or self.unmeasured or not self.judged
        return "inconclusive" if doubtful else "yes"

    @property
    def doubtful_unused(self) -> tuple[Line, ...]:
        """What is off or inconclusive, but where something better is used."""
        return tuple(o for o in self.lines if o.verdict in ("no", "inconclusive") and not o.used)

    def head(self) -> dict[str, Line]:
        """Return the lines that stand for all: of the program that is off most, as in the table.

        On the first platform that has any, with the fewest workers.
        """
        found = {}
        for name, metric in _HEAD.items():
            some = [one for one in self.lines if one.metric == metric and one.used]
            if some:
                first = min(map(self._place, some))
                there = (one for one in some if self._place(one) == first)
                found[name] = max(there, key=lambda one: one.badness)
        return found

    def _place(self, line: Line) -> tuple[int, int]:
        """Where a line stands among platforms and workers."""
        return self.platforms.index(line.platform), line.workers

    def facts(self) -> list[Fact]:
        """Return what later sessions store of it.

        Raises
        ------
        StoreError
            If it has none of the figures that stand for all.
        """
        if not self.head():
            raise StoreError("too little was measured", Typed("tare selftest"))
        facts = [
            Fact(name="selftest_date", value=self.date),
            Fact(name="selftest_verdict", value=self.verdict),
            Fact(name="selftest_platform", value=self.platforms[0]),
        ]
        for name, line in self.head().items():
            stem = f"selftest_{name}_error"
            unit: Any = line.unit
            facts.append(Fact(name=f"{stem}_{unit}", value=line.median, unit=unit))
            if line.half is not None:
                facts.append(Fact(name=f"{stem}_within_{unit}", value=line.half, unit=unit))
        return facts


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
        raise PlatformError("no program is worth its time like this", Typed("--workers 1"))
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
        date=machine_facts.now(),
        boot_id=machine_facts.boot_id(),
        platforms=tuple(str(p) for p in prepared.experiment.factors["platform"]),
        workers=tuple(int(w) for w in prepared.experiment.factors["workers"]),
        trials=len(results.trial_table),
        seconds=time.monotonic() - began,
        ended=ended,
        lines=lines(found),
        notes=(
            *_unchecked(found, prepared),
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
                    place=Levels({"workload": str(name), "platform": str(platform)}),
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


def _unchecked(found: Columns, prepared: Prepared) -> list[Message]:
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
            told.append(
                message(
                    "Not checked: {source} ({metrics | listing}) on {platforms | listing}; {why}",
                    source=source,
                    metrics=[*some],
                    platforms=[*where],
                    why=why,
                )
            )
    return told
