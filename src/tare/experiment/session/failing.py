"""Why a trial failed: in words, and of which kind it is."""

from __future__ import annotations

from typing import NamedTuple, Self

from tare.applications.refusal import Refusal
from tare.errors import TareError, TrialError, advice
from tare.render.escaping import on_one_line
from tare.render.words import text


class Why(NamedTuple):
    """Why a trial failed.

    Attributes
    ----------
    reason : str
        For a person.
    kind : str or None
        The same for other numbers and other lines of a log; None: the reason alone says it.
    """

    reason: str
    kind: str | None = None

    @classmethod
    def of(cls, refusal: Refusal) -> Self:
        """Write it in words."""
        return cls(text(refusal.said), refusal.kind)

    @classmethod
    def of_error(cls, error: TareError) -> Self:
        """Take what an error says."""
        hint = f" ({advice(error.hint)})" if error.hint else ""
        kind = error.failure_kind if isinstance(error, TrialError) else None
        return cls(f"{error.message}{hint}", kind)

    def followed_by(self, later: Self) -> Self:
        """Return it with another reason after it, which is no kind of its own."""
        return self._replace(reason=f"{self.reason}; {later.reason}")

    @property
    def in_one_line(self) -> Self:
        """The same, where programs wrote parts of it."""
        return self._replace(reason=on_one_line(self.reason))

    @property
    def error(self) -> TrialError:
        """The same as an error."""
        return TrialError(self.reason, failure_kind=self.kind)
