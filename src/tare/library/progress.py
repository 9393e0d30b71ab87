"""Progress display that prints nothing and collects the session's notes."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from tare.experiment.session.request import Silent

if TYPE_CHECKING:
    from tare.experiment.session import Outcome
    from tare.experiment.specification import Cell


class NoteCollector(Silent):
    """Keeps what is to be known of the figures, and shows nothing.

    Attributes
    ----------
    notes : list of str
        Notes of the session, in order.
    has_begun : bool
        Whether a trial has ended.
    """

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.has_begun = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    def note(self, message: str) -> None:
        """Keep a note."""
        self.notes.append(message)

    def ended(self, cell: Cell, outcome: Outcome, done: int, seconds_left: float | None) -> None:
        """Take note that a trial has ended."""
        self.has_begun = True
