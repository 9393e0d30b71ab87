"""``tare net plan --spend measured``: a trial of each cell, and what leaves the host meanwhile."""

from __future__ import annotations

import shlex
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from tare.cli import console
from tare.cli.command_line import folder_in_memory
from tare.cli.progress import Bar
from tare.errors import ExperimentError, TrialError, Typed
from tare.features.network.plan import interface
from tare.features.network.plan.spending import Count
from tare.platforms.layer import Ground
from tare.render.words import sentence
from tare.results.message import message

if TYPE_CHECKING:
    from tare.experiment.pipeline import Prepared
    from tare.experiment.session import Outcome
    from tare.experiment.specification import Cell

#: For which the background is watched, before the trials and after them.
_BACKGROUND_S = 2.0
#: After a trial: the kernel still sends what a program wrote before it ended, and some devices
#: count once a second.
_SETTLING_S = 1.0


class _Counting(Bar):
    """Reads the counters of an interface between trials."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name, self._mtu = name, interface.mtu(name)
        self._before = interface.counted(name)
        #: For each good trial: its cell, bits that the interface sent meanwhile, seconds over which
        #: these were counted, and seconds of the trial.
        self.counts: list[tuple[int, float, float, float]] = []
        self.failed: dict[int, str] = {}

    def begins(self, *, serves: bool, application: bool) -> None:
        """Begin to count with the first trial."""
        super().begins(serves=serves, application=application)
        self._before = interface.counted(self._name)

    def ended(self, cell: Cell, outcome: Outcome, done: int, seconds_left: float | None) -> None:
        """Count what has left since the last trial ended."""
        super().ended(cell, outcome, done, seconds_left)
        time.sleep(_SETTLING_S)
        now = interface.counted(self._name)
        before, self._before = self._before, now
        if outcome.status != "ok":
            self.failed[cell.cell] = outcome.reason or "it failed"
            return
        bits = interface.between(before, now, self._mtu)
        self.counts.append((cell.cell, bits, now.at_s - before.at_s, outcome.seconds))


def _away(platform: str) -> bool:
    """Tell whether trials on a platform take place on another machine."""
    from tare import platforms

    outermost = next(iter(platforms.layers(platform)), None)
    return isinstance(outermost, Ground) and outermost.foreign


def measured(prepared: Prepared, name: str) -> dict[int, Count]:
    """Execute one trial of each cell, and return what each sent by an interface.

    Parameters
    ----------
    prepared : Prepared
    name : str
        Of the interface; empty: the one of the default route.

    Raises
    ------
    ExperimentError
        If there is no such interface, or trials do not send by any of this host.
    TrialError
        If a cell has no good trial.
    """
    from tare.experiment import pipeline

    if prepared.experiment.networked:
        raise ExperimentError(
            "trials of this experiment take place in a network of their own, which counts them",
            "name with --spend the folder that tare experiment run has measured",
        )
    if away := sorted(filter(_away, {cell.platform for cell in prepared.cells})):
        raise ExperimentError(
            f"trials on {away[0]} send from another machine, whose interfaces are not read here",
            Typed("--spend 10Gbit   (or the same command there)"),
        )
    name = name or interface.default()
    interface.counted(name)
    begins = message(
        "counting what leaves by {interface} in one trial of each of {cells | counted('cell')}",
        interface=name,
        cells=len(prepared.cells),
    )
    console.err.print(sentence(begins), soft_wrap=True)
    stopping = msgspec.structs.replace(prepared.experiment.stopping, trials=1, compare=None)
    experiment = msgspec.structs.replace(prepared.experiment, stopping=stopping, fingerprint=False)
    before = interface.background_bps(name, _BACKGROUND_S)
    with folder_in_memory() as folder, _Counting(name) as counting:
        pipeline.execute(replace(prepared, experiment=experiment, text=None), folder, counting)
    background = (before + interface.background_bps(name, _BACKGROUND_S)) / 2
    found = {
        cell: Count(name, max(0.0, bits - background * counted_s), trial_s, background)
        for cell, bits, counted_s, trial_s in counting.counts
    }
    for cell in prepared.cells:
        if cell.cell not in found:
            why = counting.failed.get(cell.cell, "the budget ended before it")
            raise TrialError(
                f"no good trial of {cell.workload.name} says what it sends: {why}",
                Typed(f"--spend {shlex.quote(str(cell.workload.name))}=10Gbit"),
            )
    return found
