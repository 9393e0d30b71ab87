"""From a file to an answer: the one place where the parts are put together.

``prepare`` reads the question and looks what this machine has, ``execute`` measures,
``answers`` concludes. The command line only adds words.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tare.agent import record
from tare.errors import ChangedError, StoreError, TrialError, Typed
from tare.experiment import availability_filter, journal, pilot, plan, remnants, store
from tare.experiment import file as experiment_file
from tare.experiment import machine_facts as machine
from tare.experiment import session as execution
from tare.experiment.catalogue import catalogue
from tare.experiment.metrics import PRINTED, tick
from tare.experiment.placement import Machine
from tare.experiment.session import folder as folders
from tare.experiment.session.request import LONG_PROBING, Probing
from tare.experiment.session.resume_state import Past
from tare.experiment.session.roots import Roots
from tare.experiment.specification import Cell, Experiment, Stopping
from tare.experiment.store.collector import Collector
from tare.experiment.sweep import cache
from tare.host import state
from tare.platforms import own_files
from tare.platforms.users import calling_user
from tare.render.words import sentence
from tare.results.message import message

if TYPE_CHECKING:
    from tare.experiment.findings.failures import Failure
    from tare.experiment.findings.finding import FindingUnit
    from tare.experiment.findings.sessions import Caveat
    from tare.experiment.results import Results
    from tare.experiment.supplies import Supplies
    from tare.results.finding import Finding
    from tare.statistics.stopping import Decision

_UNPROTECTED_TEXTS = {
    "root": (
        "on {platforms | listing}, programs run as root: they can change this machine and "
        "tare itself. Programs that you do not trust: run tare by sudo from an ordinary "
        "account, or on bubblewrap"
    ),
    "user": (
        "on {platforms | listing}, programs run as you: they can read and change your files, "
        "and this measurement. Programs that you do not trust: run tare by sudo, or on "
        "bubblewrap"
    ),
}


@dataclass
class Prepared:
    """A question that this machine can be asked."""

    experiment: Experiment
    machine: Machine
    facts: list[journal.MachineFact]
    cells: tuple[Cell, ...]
    #: What was left out, and why.
    notes: list[journal.Note] = field(default_factory=list)
    #: The file as given; None for ``tare run``.
    text: str | None = None
    #: What its folder holds, once it is measured.
    collector: Collector | None = None

    def stopping(self, **changes: Any) -> Prepared:
        """Return a copy with other values of the stopping rule, such as ``budget_s``."""
        stopping = msgspec.structs.replace(self.experiment.stopping, **changes)
        experiment = msgspec.structs.replace(self.experiment, stopping=stopping)
        return dataclasses.replace(self, experiment=experiment)

    def results(self, folder: Path, sessions: Sequence[int] = ()) -> Results:
        """Return what was measured into a folder, as :func:`results_of` does, without reading it.

        That the machine was the same is looked at where it was probed in several sessions.
        """
        found = store.load(folder) if self.collector is None else self.collector.results()
        if self.experiment.steady:
            from tare.experiment.steady import steady_part

            found = steady_part(found)
        several = self.experiment.fingerprint and len(found.sessions) > 1
        if not several and not sessions:
            return found
        from tare.experiment.findings.sessions import judged

        return judged(found, sessions, folder)


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """What follows from the results of an experiment."""

    findings: tuple[Finding, ...]
    #: How trials failed, the most frequent reason first.
    failures: tuple[Failure, ...] = ()
    #: What weakens all of it.
    caveats: tuple[Caveat, ...] = ()
    #: Session that levels are taken from, where the machine was not the same in all; None: all.
    levels_of: int | None = None


def prepare(file: Path, *, skip_missing: bool = False, network: Path | None = None) -> Prepared:
    """Read an experiment file and check what it needs.

    ``network`` is a fingerprint of the network that the session is about, to be stored with it.

    Raises
    ------
    ExperimentError
        If the file is wrong, or asks for more than the machine has.
    PlatformError
        If a platform is missing and must not be skipped; says what would make it work.
    """
    text = experiment_file.read(file)
    experiment = experiment_file.parse(text, str(file), catalogue())
    return check(experiment, text=text, skip_missing=skip_missing, network=network)


def check(
    experiment: Experiment,
    *,
    text: str | None = None,
    skip_missing: bool = False,
    network: Path | None = None,
) -> Prepared:
    """Look whether the machine has what an experiment needs; leave out what may be."""
    named = None if network is None else _given_network(network)
    found = machine.topology()
    here = Machine.parse(found)
    experiment, made, notes = availability_filter.fitted(
        experiment, here, skip=skip_missing or experiment.skip_missing
    )
    facts = machine.facts(found)
    facts += cache.facts(facts, experiment.factors.get("platform", ("bare",)))
    facts += _known_network() if named is None else named
    return Prepared(experiment, here, facts, made, notes, text)


def _given_network(fingerprint: Path) -> list[journal.MachineFact]:
    # Only where there is one, since it takes long to load.
    from tare.experiment.fingerprints.network import cache as networks

    return networks.given(fingerprint)


def _known_network() -> list[journal.MachineFact]:
    """Return the newest fingerprint of the network that was taken here; mostly none."""
    if state.read(state.NETWORKS) is None:
        return []
    from tare.experiment.fingerprints.network import cache as networks

    return networks.facts()


def execute(
    prepared: Prepared,
    folder: Path,
    progress: execution.Progress,
    *,
    resume: bool = False,
    as_root: bool = False,
    disturbances: bool = False,
    charts: bool = True,
    spent_s: float = 0.0,
    supplies: Supplies | None = None,
    probing: Probing = LONG_PROBING,
) -> str:
    """Measure one session into a folder.

    Parameters
    ----------
    prepared : Prepared
    folder : Path
        Where the results are stored.
    progress : Progress
    resume : bool
        Continue what the folder holds.
    as_root : bool
        Under sudo: run commands as root, not as the calling user.
    disturbances : bool
        Whether the caller reports how long trials waited for a CPU.
    charts : bool
        Whether charts may be drawn of the results.
    spent_s : float
        Seconds of the budget that are not for measuring.
    supplies : Supplies, optional
        With what probes the machine before and after, where the experiment asks for that.
    probing : Probing
        How long the machine is probed.

    Returns
    -------
    str
        Why it ended: ``finished`` or ``budget``.

    Raises
    ------
    StoreError
        If the folder is not empty, or another session writes to it.
    ExperimentError
        If (resuming) it holds another experiment.
    """
    with folders.held(folder):
        past, prepared.collector, is_complete = _begun(prepared, folder, progress, resume)
        if is_complete:
            progress.note(f"{folder} is complete, so nothing was measured.")
            return "finished"
        asked = request(
            prepared, past, prepared.collector, progress,
            as_root=as_root, disturbances=disturbances, charts=charts, spent_s=spent_s,
            supplies=supplies, probing=probing,
        )  # fmt: skip
        _warn_once(asked.plan, asked.user, progress)
        return execution.conduct(asked)


def _warn_once(made: plan.Plan, user: record.User | None, progress: execution.Progress) -> None:
    """Print, once for each user of a machine, what programs can reach that no layer encloses."""
    stacks = [one for one in dict.fromkeys(c.platform for c in made.cells) if not own_files(one)]
    commands = any(workload.command for workload in made.experiment.workloads)
    if user is not None or not commands or not stacks or state.read(state.WARNED) is not None:
        return
    kind = "root" if os.geteuid() == 0 else "user"
    progress.note(sentence(message(_UNPROTECTED_TEXTS[kind], platforms=stacks)))
    with contextlib.suppress(StoreError):
        state.write(state.WARNED, {"unprotected": kind})


def uses_switches(experiment: Experiment, *, disturbances: bool = False) -> bool:
    """Return whether a result of an experiment uses records of context switches.

    Wall time of a command ends with its last switch; what a platform takes more, and what services
    do under load, is divided into time on and off a CPU. ``disturbances``: the caller reports how
    long trials waited for a CPU.
    """
    commands = any(workload.command for workload in experiment.workloads)
    if not commands or not experiment.context_switches or experiment.window is not None:
        return False
    metrics = {plan.metric(experiment), *experiment.stopping.also}
    return (
        disturbances
        or "wall_ns" in metrics
        or any(limit.of == "wall" for limit in experiment.limit)
        or any(len(experiment.factors.get(one, ())) > 1 for one in ("platform", "pinning"))
        or any(workload.serves for workload in experiment.workloads)
    )


def request(
    prepared: Prepared,
    past: Past,
    collector: Collector,
    progress: execution.Progress,
    *,
    as_root: bool = False,
    disturbances: bool = False,
    charts: bool = True,
    spent_s: float = 0.0,
    supplies: Supplies | None = None,
    probing: Probing = LONG_PROBING,
) -> execution.Request:
    """Return what one session is asked to do, for a folder that is held; see :func:`execute`."""
    return execution.Request(
        folder=collector.folder,
        plan=collector.plan,
        machine=prepared.machine,
        facts=prepared.facts,
        decide=_decide(collector.plan, progress),
        progress=progress,
        past=past,
        collector=collector,
        user=None if as_root else calling_user(),
        context_switches=uses_switches(prepared.experiment, disturbances=disturbances),
        stretches=charts,
        notes=prepared.notes,
        first_look=first_look(prepared.experiment),
        spent_s=spent_s,
        weigh=(
            supplies.probing(progress, probing)
            if supplies and prepared.experiment.fingerprint
            else None
        ),
        probing=probing,
        **({} if supplies is None else {"reading": supplies.reading}),
    )


def forecast(prepared: Prepared, folder: Path, progress: execution.Progress) -> pilot.Forecast:
    """Execute a few trials in a folder that nobody keeps, and tell how long all will take.

    Images of applications are built before, and kept for the run.

    Raises
    ------
    TrialError
        If every trial failed.
    """
    cells, experiment = prepared.cells, prepared.experiment
    probes_s = 2 * LONG_PROBING.seconds if experiment.fingerprint else 0.0
    with contextlib.ExitStack() as stack:
        Roots(cells, folder, progress.stage, stack, calling_user())
    first = pilot.first_cells(experiment, cells)
    sessions = [_piloted(prepared, folder / "first", progress, first, pilot.FIRST)]

    def told() -> pilot.Forecast:
        return pilot.forecast(experiment, cells, prepared.machine, sessions, probes_s)

    longest = pilot.longest_cell(cells, sessions[0][0])
    if longest is not None:
        # That this cell alone always fails is told by the run.
        with contextlib.suppress(TrialError):
            sessions += [_piloted(prepared, folder / "longest", progress, [longest], pilot.FIRST)]
    if (stopping := pilot.stopping_of_all(told(), experiment.stopping)) is not None:
        sessions.append(_piloted(prepared, folder / "all", progress, cells, stopping))
    return told()


def remaining(prepared: Prepared, folder: Path) -> pilot.Forecast | None:
    """Tell from the trials that a folder has how long the missing ones take; None: it has none.

    Raises
    ------
    ExperimentError
        If it holds another experiment.
    StoreError
        If it cannot be read.
    """
    if not folders.has_begun(folder):
        return None
    made = plan.make(prepared.experiment, prepared.cells)
    done, _ = folders.begun(made, prepared.text, folder)
    took = pilot.read(journal.read_all(folder))
    if not took.trials:
        return None
    return pilot.forecast(
        prepared.experiment,
        prepared.cells,
        prepared.machine,
        [(took, pilot.spent_s(took))],
        2 * LONG_PROBING.seconds if prepared.experiment.fingerprint else 0.0,
        tuple(done.good.get(cell.cell, 0) for cell in prepared.cells),
    )


def _piloted(
    prepared: Prepared,
    folder: Path,
    progress: execution.Progress,
    cells: Sequence[Cell],
    stopping: Stopping,
) -> tuple[pilot.Took, float]:
    """Execute some cells; return what they took, and how long it was in all."""
    from tare.experiment.findings import completeness
    from tare.experiment.findings.failures import failures, reasons
    from tare.render.words import text

    numbers = [cell.cell for cell in cells]
    alone = tuple(msgspec.structs.replace(cell, cell=n) for n, cell in enumerate(cells))
    asked = msgspec.structs.replace(prepared.experiment, stopping=stopping, order="blocks")
    began = time.monotonic()
    made = plan.make(asked, alone)
    collector = Collector(folder, made)
    request = execution.Request(
        folder=folder,
        plan=made,
        machine=prepared.machine,
        facts=[],
        decide=lambda *values: {},
        progress=progress,
        past=Past(),
        collector=collector,
        user=calling_user(),
        context_switches=uses_switches(prepared.experiment),
        stretches=False,
    )
    try:
        with folders.held(folder):
            folders.begin(request.plan, None, folder)
            execution.conduct(request)
    except TrialError as error:
        why = reasons(failures(collector.results()))
        raise TrialError(text(why) if why else error.message) from error
    took_s = time.monotonic() - began
    failed = completeness.failing(collector.results())
    took = pilot.read(journal.read_all(folder))._replace(failures=failed)
    renamed = [one._replace(cell=numbers[one.cell]) for one in took.trials]
    return took._replace(trials=renamed), took_s


def _begun(
    prepared: Prepared, folder: Path, progress: execution.Progress, resume: bool
) -> tuple[Past, Collector, bool]:
    """Begin an experiment, or go on with it; and tell whether nothing of it is missing."""
    made = plan.make(prepared.experiment, prepared.cells)
    if folders.has_begun(folder):
        if not resume:
            raise StoreError(
                f"{folder} is not empty: it holds an experiment, so nothing was measured",
                Typed("--resume   (goes on with it; or choose another --out)"),
            )
        past, collector, is_complete = folders.go_on(made, prepared.text, folder)
        remnants.cleanup()
        if not is_complete and (cut := past.cut_block(collector.plan)) is not None:
            progress.note(
                sentence(
                    message(
                        "the last session ended within a block ({trials} of its "
                        "{of | counted('trial')}). These trials are kept, but compared only "
                        "with one "
                        "another; a new block begins",
                        trials=cut[0],
                        of=cut[1],
                    )
                )
            )
        return past, collector, is_complete
    folders.begin(made, prepared.text, folder, resume=resume)
    if resume:
        progress.note(f"{folder} holds nothing to go on with, so that everything is measured.")
        remnants.cleanup()
    return Past(), Collector(folder, made), False


def _decide(made: plan.Plan, progress: execution.Progress) -> execution.Decide:
    """Return the stopping rule: where stability is the question, the spread has a target too."""
    experiment = made.experiment
    stopping = experiment.stopping
    if stopping.compare is not None:
        from tare.experiment.findings.pairing import stopping_rule

        return stopping_rule(made, progress.running)
    metrics = (plan.metric(experiment), *stopping.also)

    def rule(*values: execution.Values) -> Mapping[int, Decision]:
        from tare.statistics.interim_analysis import Target
        from tare.statistics.stopping import decide, spread_target, together

        about_spread = any(len(experiment.factors.get(f, ())) > 1 for f in ("platform", "workers"))
        spread = spread_target(experiment.parallel_growth) if about_spread else None
        by_metric = {
            metric: decide(
                some,
                Target(
                    stopping.precision,
                    spread=spread if metric == metrics[0] else None,
                    quantile=stopping.quantile,
                    anytime=stopping.anytime,
                    family=len(metrics),
                    tick=tick(metric, PRINTED if metric in experiment.printed else None),
                    early=stopping.early,
                ),
            )
            for metric, some in zip(metrics, values, strict=True)
        }
        return {cell: together({m: by_metric[m][cell] for m in metrics}) for cell in values[0]}

    return rule


def first_look(experiment: Experiment) -> int:
    """Trials below which nothing stops; where fewer fit the budget, n is fixed beforehand."""
    if experiment.stopping.compare is not None:
        return 0  # its looks share one error, however early they are
    from tare.statistics import interim_analysis

    return interim_analysis.first_look(experiment.stopping.quantile)


def results_of(folder: Path, sessions: Sequence[int] = ()) -> Results:
    """Load what a folder holds, to conclude from it.

    Parameters
    ----------
    folder : Path
    sessions : sequence of int
        Sessions that were asked for; none: all.

    Returns
    -------
    Results
        With the session that levels are taken from, where the machine was not the same in all.

    Raises
    ------
    StoreError
        If it cannot be read, or has no such session.
    """
    from tare.experiment.findings.sessions import judged

    found = store.load(folder)
    if found.experiment.steady:
        from tare.experiment.steady import steady_part

        found = steady_part(found)
    return judged(found, sessions, folder)


def check_same(
    some: Sequence[Caveat], levels_of: int | None, folder: Path | None, *, strict: bool
) -> None:
    """Raise, where --strict asks for it, at the end of a command if something changed.

    Parameters
    ----------
    some : sequence of Caveat
    levels_of : int or None
        Session that levels are taken from; None: all.
    folder : Path or None
        Where the results are; None: they are not kept.
    strict : bool
        Without it, the caveat of the report is all.

    Raises
    ------
    ChangedError
        If the machine or the network was not the same throughout.
    """
    if not some or not strict:
        return
    from tare.experiment.findings.sessions import changed

    if not changed(some):
        return
    if levels_of is None:
        raise ChangedError(
            "the machine changed during a session: comparisons within blocks hold, levels mix both "
            "states",
            Typed("tare doctor   (then measure again, with nothing else on the machine)"),
        )
    other = next(n for c in some for n in c.sessions if n != levels_of)
    raise ChangedError(
        f"not all sessions are of the same machine and network, so levels are those of session "
        f"{levels_of} alone",
        None
        if folder is None
        else Typed(f"tare experiment report {shlex.quote(str(folder))} --session {other}"),
    )


def answers(
    results: Results,
    questions: Mapping[str, FindingUnit],
    tell: Callable[[int, int], None] = lambda done, of: None,
) -> Answers:
    """Conclude from what a folder holds, as loaded by :func:`results_of`.

    ``questions`` are the supplies' findings; ``tell`` is told how many of how many were asked.
    """
    from tare.experiment.findings.answers import all_findings
    from tare.experiment.findings.failures import failures
    from tare.experiment.findings.sessions import caveats

    found = tuple(all_findings(results, questions, tell))
    return Answers(
        findings=found,
        failures=tuple(failures(results)),
        caveats=caveats(results),
        levels_of=results.levels_of,
    )
