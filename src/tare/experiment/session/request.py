"""What a session is asked to do, and by whom it is told when it is enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from tare.agent import record
from tare.applications.output import Reading
from tare.experiment import journal
from tare.experiment.placement import Machine
from tare.experiment.plan import Plan
from tare.experiment.session.outcome import Outcome
from tare.experiment.session.resume_state import Past
from tare.experiment.specification import Cell

if TYPE_CHECKING:
    from tare.experiment.store.collector import Collector
    from tare.statistics.stopping import Decision

#: Trial values by cell, each with the block it belongs to.
Values = Mapping[int, list[tuple[int, float]]]
#: Values of each metric that the stopping rule is about, the experiment's own first, to a
#: decision by cell.
Decide: TypeAlias = "Callable[..., Mapping[int, Decision]]"


#: Probes the machine before or after the trials of a session.
Weigh = Callable[[journal.Moment], list[journal.MachineTake | journal.MachineFigure]]


class Progress(Protocol):
    """Who wants to know how far it is."""

    def stage(self, what: str) -> None:
        """Tell what goes on before the first trial."""

    def note(self, message: str) -> None:
        """Tell what a missing right costs, or what else is to be known of the figures."""

    def begins(self, *, serves: bool, application: bool) -> None:
        """Tell that the first trial begins, which may have to start its platform.

        ``serves``: trials are of services, whose load lasts as long as it was asked to.
        ``application``: trials are of an application, of which many take long.
        """

    def planned(self, trials: int | None, seconds: float | None) -> None:
        """Tell how many trials there will be, and how long they take, as far as known."""

    def running(self, estimate: str) -> None:
        """Tell what a comparison says so far."""

    def ended(self, cell: Cell, outcome: Outcome, done: int, seconds_left: float | None) -> None:
        """Tell that a trial is over."""


class Silent:
    """Progress display that prints nothing; notes are in the journal as well."""

    def stage(self, what: str) -> None:
        """Show nothing."""

    def note(self, message: str) -> None:
        """Show nothing."""

    def begins(self, *, serves: bool, application: bool) -> None:
        """Show nothing."""

    def planned(self, trials: int | None, seconds: float | None) -> None:
        """Show nothing."""

    def running(self, estimate: str) -> None:
        """Show nothing."""

    def ended(self, cell: Cell, outcome: Outcome, done: int, seconds_left: float | None) -> None:
        """Show nothing."""


@dataclass(frozen=True)
class Probing:
    """How the machine is probed before and after the trials of a session.

    Attributes
    ----------
    seconds : float
        Length of one take of its fingerprint.
    repeats : int
        How often a take is repeated at most, while others use the machine or where it differs.
    probes : tuple of str
        Which probes; none: all brief ones.
    """

    seconds: float
    repeats: int
    probes: tuple[str, ...] = ()


#: For experiments.
LONG_PROBING = Probing(5.0, 3)
#: For commands that are to answer within seconds: both takes together are within 3 s, and each has
#: the 7 rounds that show a change. With all brief probes it would have 5, which cannot.
SHORT_PROBING = Probing(1.3, 0, ("clock", "loop", "memory.bandwidth", "memory.latency", "syscall"))


@dataclass
class Request:
    """A session to conduct.

    Attributes
    ----------
    folder : Path
        The experiment's folder; its journal gets one more file.
    plan : Plan
        Cells in the order of the experiment; with the frozen repetitions once they were found.
    facts : list of MachineFact
        Of the machine.
    decide : callable
        The stopping rule, where the plan has no fixed n.
    past : Past
        What earlier sessions did.
    collector : Collector
        Of what the folder holds.
    first_look : int
        Trials from which on the stopping rule peeks; where fewer fit the budget, n is fixed
        beforehand.
    spent_s : float
        Seconds of the budget that are not for measuring, as on starting and concluding; the
        session adds what its probes of the machine take.
    """

    folder: Path
    plan: Plan
    machine: Machine
    facts: list[journal.MachineFact]
    decide: Decide
    progress: Progress
    past: Past
    collector: Collector
    user: record.User | None = None
    #: Record context switches: wall time then includes teardown, and time on and off CPUs is known.
    context_switches: bool = False
    #: Also count stretches on and off a CPU by length, where several platforms are compared.
    stretches: bool = False
    first_look: int = 50
    spent_s: float = 0.0
    notes: list[journal.Note] = field(default_factory=list)
    #: None: what the machine can do is not looked at.
    weigh: Weigh | None = None
    probing: Probing = LONG_PROBING
    #: What reads the formats of other tools.
    reading: Reading = lambda *of: None
