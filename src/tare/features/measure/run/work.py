"""What ``tare run`` does: options to an experiment, its trials to a summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tare.cli import lines
from tare.cli.command_line import places, workload
from tare.errors import ExperimentError, TrialError, UsageError
from tare.options.option import Parsed
from tare.render.escaping import on_one_line

if TYPE_CHECKING:
    from tare.cli.progress import SessionProgress
    from tare.experiment.pipeline import Prepared
    from tare.features.measure.comparison.execution import Execution
    from tare.features.measure.run.options import RunOptions
    from tare.features.measure.run.summary import Summary

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


def ask(given: RunOptions) -> Asked:
    """Return the experiment that the options of ``tare run`` describe; ``input`` is a file.

    Raises
    ------
    ExperimentError
        If an option is wrong, or excludes another.
    """
    from tare.features.measure.run import application as applications
    from tare.platforms import own_files

    if given.resume and given.out is None:
        raise ExperimentError(
            "--resume goes on with what a folder holds", "name the folder with --out"
        )
    if given.trials and given.resume and given.out is not None:
        given = given.replace(trials=total_trials(given.trials, given.out))
    platforms = given.platform or ["bare"]
    around = lines.Around.of(given)
    parameters = lines.scanned(
        given.parameter_scan, given.parameter_step_size, given.parameter_list
    )
    if given.application is None:
        if not given.command:
            raise UsageError(
                "there is no command",
                "write a command after --, or name an application with --application",
            )
        if given.set_:
            raise UsageError(
                "--set is of an application", "name the application with --application"
            )
        measured = lines.typed(given.command, around, given.name, parameters, several=False)
    else:
        of_commands = {
            "a command": bool(given.command), "--name": bool(given.name),
            "--input": given.input is not None, "--image": given.image is not None,
            "--shell": given.shell is not None,
            "--ignore-failure": given.ignore_failure is not None,
            "lines around it": any(around.lines.values()),
            applications.PARAMETERS: bool(parameters),
        }  # fmt: skip
        measured = [applications.line(given.application, given.set_, of_commands)]
    # Words of a command are taken as for the platform that has the fewest files of this machine.
    main = next((one for one in platforms if own_files(one)), platforms[0])
    is_networked = given.application is not None and applications.needs_network(given.application)
    where = places(platforms, given, networked=is_networked)
    several = len(platforms) * len(measured) > 1
    default_s = max(BUDGET_S, CELL_S * len(platforms) * len(measured))
    compared = "platform" if len(platforms) > 1 else "workload"
    # Median: the default.
    is_early = not (given.trials or several) and given.quantile in (None, 0.5)
    saves = given.out is not None or given.save is not None
    table: dict[str, Any] = {
        "experiment": {
            "name": "run",
            "question": _question(measured, several=several),
            **({} if given.trials else {"budget": Parsed(float(default_s))}),
            **({"early": True} if is_early else {}),
            **({"metric": given.metric} if given.metric else {}),
            **({"compare": compared} if several else {}),
            **given.keys("stopping"),
            **given.keys("experiment"),
            "fingerprint": given.fingerprint and saves,
        },
        "workload": [
            workload(
                line.name, line.words, main, input=given.input, hosts=given.network is not None,
                keys={**given.keys("workload"), **given.keys("command"), **line.options},
            )
            if given.application is None
            else {**line.options, **given.keys("workload"), "output": Parsed(given.output)}
            for line in measured
        ],
        **where,
    }  # fmt: skip
    return Asked(table, measured, platforms, main)


#: Characters of a command in the question that it answers.
_MOST_SHOWN = 1_000


def _question(measured: Sequence[lines.Line], *, several: bool) -> str:
    if len(measured) > 1:
        return "Do their times differ?"
    command = on_one_line(measured[0].text)
    if len(command) > _MOST_SHOWN:
        command = f"{command[:_MOST_SHOWN]} …"
    if several:
        return f"Does the platform change the time of {command}?"
    return f"How long does {command} take?"


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
    from tare.features.measure.comparison import session
    from tare.features.measure.run.summary import summarize

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
