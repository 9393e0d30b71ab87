"""Does a file say how its numbers came about? The criteria of CLOUDNET's survey, as a score."""

from __future__ import annotations

from dataclasses import dataclass

from tare.readers import Specification
from tare.results.message import Said

#: Criterion, and what it asks.
CRITERIA = (
    ("repetitions", "how often it was measured"),
    ("statistic", "mean, median or single values"),
    ("spread", "how far values vary"),
    ("environment", "where it was measured"),
)


@dataclass(frozen=True)
class Score:
    """How well a file specifies its numbers.

    Attributes
    ----------
    said : tuple of (str, Said or None)
        Each criterion, and what the file says of it; None where it says nothing.
    """

    said: tuple[tuple[str, Said | None], ...]

    @property
    def points(self) -> int:
        """Criteria that are met."""
        return sum(said is not None for _, said in self.said)

    @property
    def of(self) -> int:
        """Criteria that there are."""
        return len(self.said)

    @property
    def missing(self) -> tuple[str, ...]:
        """Criteria that are not met."""
        return tuple(name for name, said in self.said if said is None)


def score(specification: Specification) -> Score:
    """Score what a file says of its numbers.

    References
    ----------
    CLOUDNET, section 2: of 44 articles over 60 % left out the first two, and of those that gave
    averages 37 % the third. The environment is tare's own addition.
    """
    return Score(tuple((name, getattr(specification, name)) for name, _ in CRITERIA))
