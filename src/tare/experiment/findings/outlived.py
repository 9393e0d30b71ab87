"""Processes that outlived the command of a trial: how many trials left some, and their end."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tare import platforms
from tare.decoding import builtins
from tare.experiment.findings.level_names import where
from tare.experiment.results import Results
from tare.experiment.time_limits import COUNTED
from tare.render.escaping import on_one_line
from tare.results.columns import Columns
from tare.results.message import Duration, Levels, Message, message

#: Sources of CPU time that count processes which the command did not wait for.
_WHOLE_TREE = {"cgroup", "host_cgroup", "reaped"}
#: Most cells that have a sentence each.
_MOST_CELLS = 3
#: Most processes that are named.
_MOST_NAMES = 5


@dataclass(frozen=True)
class Outlived:
    """Processes that outlived the command in trials of a cell, or of several cells.

    Attributes
    ----------
    levels : Levels or None
        Of the cell among others; None: there is only one, or these are of several.
    trials, of : int
        Trials that left processes, and all.
    killed : int
        Trials whose processes were killed at the end of the grace period.
    names : list of str
        Of the processes, each once.
    longest_s, grace_s : float
        How long the last of the processes outlived the command at most; the grace period.
    is_counted : bool
        Whether CPU time includes that of these processes.
    """

    levels: Levels | None
    trials: int
    of: int
    killed: int
    names: list[str]
    longest_s: float
    grace_s: float
    is_counted: bool

    @property
    def sentence(self) -> Message:
        """How many trials left which processes, their end, and which figures include them."""
        return message(
            "{trials} of {of | counted('trial')}{% if levels %} of {levels}{% endif %} left "
            "processes ({names | listing}), which {% if killed == trials %}were killed after "
            "{grace}{% elif killed %}ended or, after {grace}, were killed{% else %}ended by "
            "themselves within {longest}{% endif %}; {% if counted %}CPU time includes theirs, "
            "wall time does not{% else %}neither CPU time nor wall time includes theirs{% endif %}",
            trials=self.trials,
            of=self.of,
            levels=self.levels,
            names=[on_one_line(name) for name in self.names],
            killed=self.killed,
            grace=Duration(self.grace_s),
            longest=Duration(self.longest_s),
            counted=self.is_counted,
        )


def other_warnings(results: Results) -> list[str]:
    """Return what agents warned of besides processes that outlived a command."""
    warnings = results.faults.where(kind="warning").records()
    return [one["message"] for one in warnings if one.get("outlived_names") is None]


def outlived(results: Results) -> list[Outlived]:
    """Return the processes that outlived commands, by cell; of many cells, all together."""
    left: dict[int, list[dict[str, Any]]] = {}
    for fault in results.faults.records():
        if fault.get("outlived_names") is not None:
            left.setdefault(fault["trial"], []).append(fault)
    if not left:
        return []
    ended = results.trial_table.where(status={*COUNTED, "failed"})
    cells = [some for _, some in ended.groups("cell") if left.keys() & set(some["trial"].tolist())]
    is_one = len(results.cells({*COUNTED, "failed"})) == 1 or len(cells) > _MOST_CELLS
    if len(cells) > _MOST_CELLS:
        cells = [ended]
    is_counted = bool(_WHOLE_TREE & {*results.sources("cpu_ns")[:1]})
    return [_outlived(some, left, results, is_one=is_one, is_counted=is_counted) for some in cells]


def _outlived(
    trials: Columns,
    left: Mapping[int, Sequence[dict[str, Any]]],
    results: Results,
    *,
    is_one: bool,
    is_counted: bool,
) -> Outlived:
    """Sum up the trials of a cell; ``left`` has the processes of each trial that left some."""
    found = [left[trial] for trial in trials["trial"].tolist() if trial in left]
    faults = [fault for some in found for fault in some]
    names = [name for fault in faults for name in builtins(fault["outlived_names"])]
    return Outlived(
        levels=None if is_one else where(next(trials.records()), results.varied),
        trials=len(found),
        of=len(trials),
        killed=sum(any(fault["outlived_killed"] for fault in some) for some in found),
        names=[*dict.fromkeys(names)][:_MOST_NAMES],
        longest_s=max(fault["outlived_ns"] for fault in faults) / 1e9,
        grace_s=results.experiment.linger_s,
        is_counted=is_counted,
    )


def in_background(results: Results) -> bool:
    """Return whether a line that left processes has ``&>`` and a shell that does not redirect so.

    ``sh`` takes it as ``&`` and ``>``, except where it is bash. What ``sh`` is on a platform with
    files of its own is not known.
    """
    left = {one["trial"] for one in results.faults.records() if one.get("outlived_names")}
    of = {row["cell"] for row in results.trial_table.where(trial=left).records()}
    return any(
        cell.cell in of
        and not platforms.own_files(cell.platform)
        and _sends_to_background(cell.workload.command or ())
        for cell in results.planned
    )


def _sends_to_background(command: Sequence[str]) -> bool:
    if "-c" not in command[1:-1] or Path(command[0]).name not in ("sh", "dash"):
        return False
    program = shutil.which(command[0])
    if program is None or Path(program).resolve().name == "bash":
        return False
    try:
        # Quoted words keep their quotes.
        words = shlex.shlex(command[-1], posix=False, punctuation_chars=True)
        return any(word.startswith("&>") for word in words)
    except ValueError:
        return False
