"""What ``tare run`` does: options to an experiment, its trials to a summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tare.cli import lines
from tare.cli.command_line import COMMAND_LINE, in_options, metric_name, places, workload
from tare.errors import ExperimentError, TrialError, UsageError
from tare.render.escaping import on_one_line

if TYPE_CHECKING:
    from tare.cli.progress import SessionProgress
    from tare.experiment.pipeline import Prepared
    from tare.features.run.summary import Summary
    from tare.measure.comparison.session import Execution

#: Default budget of one command, and the least for each of several, in seconds.
BUDGET_S, CELL_S = 10, 3


@dataclass(frozen=True)
class Asked:
    """Commands to measure.

    Attributes
    ----------
    table : dict
        As an experiment file would have it.
    lines : list of Line
        The commands.
    platforms : list of str
    main : str
        The platform that shares the fewest files with this machine: commands are written for it.
    """

    table: dict[str, Any]
    lines: list[lines.Line]
    platforms: list[str]
    main: str

    @property
    def several(self) -> bool:
        """Whether several commands, or one on several platforms, are measured."""
        return len(self.platforms) * len(self.lines) > 1


def ask(
    command: Sequence[str],
    *,
    application: str | None,
    set_: Sequence[str] | None,
    name: Sequence[str] | None,
    metric: Sequence[str] | None,
    quantile: str,
    trials: int | None,
    precision: str | None,
    budget: str | None,
    timeout: str | None,
    platform: list[str] | None,
    image: str | None,
    size: str,
    workers: int,
    pinning: str,
    network: str | None,
    out: Path | None,
    resume: bool,
    capture: bool,
    fingerprint: bool,
    warmup: int,
    setup: Sequence[str] | None,
    prepare: Sequence[str] | None,
    conclude: Sequence[str] | None,
    cleanup: Sequence[str] | None,
    shell: str | None,
    ignore_failure: str | None,
    context_switches: bool,
    steady: bool,
    parameter_scan: Sequence[str] | None,
    parameter_step_size: str | None,
    parameter_list: Sequence[str] | None,
    input: str | None,
    hosts: int | None,
    serve: Sequence[str] | None,
    grace: str,
) -> Asked:
    """Return the experiment that the options of ``tare run`` describe.

    ``input`` is a file. All other parameters are options as they are typed.

    Raises
    ------
    ExperimentError
        If an option is wrong, or excludes another.
    """
    from tare.experiment.catalogue import catalogue
    from tare.features.run import application as applications
    from tare.platforms import own_files

    known = catalogue()
    if resume and out is None:
        raise ExperimentError("--resume goes on with what a folder holds", "add --out DIR")
    if trials and resume and out is not None:
        trials = total_trials(trials, out)
    platforms = platform or ["bare"]
    around = lines.Around(
        setup or (), prepare or (), conclude or (), cleanup or (), shell, ignore_failure
    )
    parameters = lines.scanned(parameter_scan or (), parameter_step_size, parameter_list or ())
    if application is None:
        if not command:
            raise UsageError("there is no command", "tare run -- COMMAND…, or --application NAME")
        if set_:
            raise UsageError("--set is of an application", "--application NAME")
        measured = lines.typed(command, around, name or (), parameters, several=False)
    else:
        of_commands = {
            "a command": bool(command), "--name": bool(name), "--input": input is not None,
            "--image": image is not None, "--shell": shell is not None,
            "--ignore-failure": ignore_failure is not None,
            "lines around it": any(around.lines.values()),
            applications.PARAMETERS: bool(parameters),
        }  # fmt: skip
        measured = [applications.line(application, set_ or (), of_commands)]
    # Words of a command are taken as for the platform that has the fewest files of this machine.
    main = next((one for one in platforms if own_files(one)), platforms[0])
    where = places(
        platforms, workers, pinning, image, size, network, hosts, serve or (),
        networked=application is not None and applications.needs_network(application),
    )  # fmt: skip
    several = len(platforms) * len(measured) > 1
    compared = "platform" if len(platforms) > 1 else "workload"
    default_s = max(BUDGET_S, CELL_S * len(platforms) * len(measured))
    table = {
        "experiment": {
            "name": "run",
            "question": _question(measured, several=several),
            "warmup": warmup,
            "linger": grace,
            "quantile": quantile,
            "fingerprint": fingerprint,
            "context_switches": context_switches,
            **({"steady": True} if steady else {}),
            **({"trials": trials} if trials else {"budget": f"{default_s} s"}),
            **({"precision": precision} if precision else {}),
            "early": not (trials or several) and quantile == "median",
            **({"budget": budget} if budget else {}),
            **({"metric": [metric_name(m, known.metrics) for m in metric]} if metric else {}),
            **({"compare": compared} if several else {}),
        },
        "workload": [
            workload(
                line.name, line.words, main, capture=capture, timeout=timeout,
                input=input, hosts=network is not None, options=line.options,
            )
            if application is None
            else {
                **line.options, "capture": capture,
                **({"timeout": timeout} if timeout else {}),
            }
            for line in measured
        ],
        **where,
    }  # fmt: skip
    return Asked(table, measured, platforms, main)


def _question(measured: Sequence[lines.Line], *, several: bool) -> str:
    if len(measured) > 1:
        return "Do their times differ?"
    command = on_one_line(measured[0].text)
    if several:
        return f"Does the platform change the time of {command}?"
    return f"How long does {command} take?"


def prepare(asked: Asked, execution: Execution) -> Prepared:
    """Check that this machine can measure a single command on a single platform.

    Raises
    ------
    ExperimentError
        If an option is wrong, or more is asked for than the machine has.
    PlatformError
        If the platform is missing.
    """
    from tare.experiment import file, pipeline
    from tare.experiment.catalogue import catalogue

    try:
        experiment = file.from_table(asked.table, COMMAND_LINE, catalogue())
    except ExperimentError as error:
        raise in_options(error) from error
    return pipeline.check(experiment, network=execution.network)


def measure(
    prepared: Prepared, folder: Path, execution: Execution, bar: SessionProgress
) -> tuple[Summary, TrialError | None]:
    """Measure a single command on a single platform, and summarise its trials.

    Returns
    -------
    (Summary, TrialError or None)
        The second is what failed, or None.
    """
    from tare.experiment.fingerprints.machine.activity import Watch, others_share
    from tare.features.run.summary import summarize
    from tare.measure.comparison import session

    watch = Watch()
    ended, failure = session.conduct(prepared, folder, execution, bar)
    # A container engine's programs are not children of this process: their CPU time would count
    # as that of other programs.
    children = all(cell.platform == "bare" for cell in prepared.cells)
    results = prepared.results(folder)
    others = others_share(watch.activity()) if children else None
    return summarize(results, ended, others), failure


def total_trials(asked: int, folder: Path) -> int:
    """Return the trials that every cell of a folder is to have after a session of so many.

    What an earlier session left unfinished is completed; else they come on top of what there is.
    """
    from tare.experiment import journal, plan_file
    from tare.experiment.session import folder as folders
    from tare.experiment.session.resume_state import past

    if not folders.has_begun(folder):
        return asked
    stored = plan_file.read(folder)
    good = past(journal.read_all(folder), stored).good
    done = [good.get(cell.cell, 0) for cell in stored.cells]
    before = stored.experiment.stopping.trials
    if before is not None and min(done) < before:
        return max(asked, before)
    return asked + max(done)
