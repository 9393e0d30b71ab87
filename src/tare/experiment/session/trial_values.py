"""What a trial came to, as far as its records have come."""

from __future__ import annotations

from tare.agent import record
from tare.experiment.session.printed import Printed
from tare.platforms import Starter


class Values:
    """What went wrong in a trial, and what an application printed."""

    def __init__(self, printed: Printed | None = None, *, serves: bool = False) -> None:
        self.serves = serves
        #: What an application printed; None: nobody asks.
        self.printed = printed
        #: How the sandbox starts programs; None: the agent does.
        self.starter: Starter | None = None
        self.wrong = False
        #: The kernel ended a process for want of memory, whatever became of the trial.
        self.out_of_memory = False
        #: A load that went to its end was refused, and may do better the next time.
        self.by_chance = False
        #: The first fault for which the trial failed.
        self.fault: record.Fault | None = None
        #: Kind and iteration of all faults, warnings left out.
        self.faults: list[tuple[str, int | None]] = []

    def add(self, sample: record.Sample) -> None:
        """Look at a sample."""
        self.out_of_memory |= sample.metric == "oom_killed" and sample.value > 0

    @property
    def may_do_better(self) -> bool:
        """Whether the next trial may succeed: a program that ran may, a missing one cannot."""
        ended = self.fault is not None and self.fault.kind in (
            "exit", "signal", "timeout", "cpu_time",
        )  # fmt: skip
        return self.by_chance or (ended and not self.serves)
