"""What a finding is: an answer with its evidence, as data that the report only lays out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import msgspec

if TYPE_CHECKING:
    from tare.frames import Results
    from tare.registry import Description

#: How sure the answer is; the report colours by it, and always with the word beside it.
Answer = Literal[
    "yes", "no", "inconclusive", "partly", "none", "nothing to compare", "TRUST", "DOUBT", "REJECT"
]  # fmt: skip


#: What readers see for a verdict: its sign and its word, so that no one depends on colour.
_BADGES: dict[Answer, tuple[str, str]] = {
    "yes": ("✓", "yes"),
    "no": ("✕", "no"),
    "inconclusive": ("?", "inconclusive"),
    "partly": ("?", "partly"),
    "nothing to compare": ("–", "nothing to compare"),
    "TRUST": ("✓", "TRUST"),
    "DOUBT": ("?", "DOUBT"),
    "REJECT": ("✕", "REJECT"),
}


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One column of a table."""

    key: str
    title: str
    #: Unit of the numbers as stored ("ns", "bytes", "%", "1"); None for words.
    unit: str | None = None


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of evidence; absent values are None, never zero.

    A row may hold more than its columns show: of a verdict, its direction as data.
    """

    title: str
    #: By which charts find it, where a finding has several.
    id: str | None = None
    columns: tuple[Column, ...]
    rows: tuple[dict[str, Any], ...]
    note: str | None = None
    #: Of the intervals in it.
    confidence: float = 0.95


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """One number that an answer rests on."""

    name: str
    #: The levels that it belongs to, e.g. {"platform": "docker", "workers": "2"}.
    levels: dict[str, str]
    value: float | None
    unit: str
    low: float | None = None
    high: float | None = None
    confidence: float | None = None
    method: str
    #: Trials (not samples) behind it.
    n: int
    trials: tuple[int, ...] = ()


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """An answer with its estimate, unit, interval, method, and the trials it rests on."""

    name: str
    question: str
    #: Whether "yes" or "no" answers it.
    closed: bool = True
    #: One to three sentences, complete in themselves.
    answer: str
    verdict: Answer
    #: One sentence for the head of the page and the terminal; None: not told there.
    summary: str | None = None
    #: What to do, a line each, at most six; told before all summaries.
    advice: tuple[str, ...] = ()
    #: "metric (source)" of the values, e.g. "kernel_cpu_ns (self)".
    basis: str | None = None
    estimates: tuple[Estimate, ...] = ()
    tables: tuple[Table, ...] = ()
    #: What weakens the answer or could not be compared, and why; each a sentence.
    caveats: tuple[str, ...] = ()
    #: Names of the charts (registry) that show it.
    charts: tuple[str, ...] = ()
    #: The only session that it is about; None: all.
    session: int | None = None

    @property
    def shown(self) -> Answer:
        """The verdict as an answer to the question: an open one is not answered by yes or no."""
        return self.verdict if self.closed or self.verdict not in ("yes", "no") else "none"

    @property
    def sign(self) -> str:
        """The sign of the verdict that is shown; empty for what only measures something."""
        return _BADGES.get(self.shown, ("", ""))[0]

    @property
    def word(self) -> str:
        """The word of the verdict that is shown: the same on the page and in the terminal."""
        return _BADGES.get(self.shown, ("", ""))[1]


@dataclass(frozen=True)
class FindingUnit:
    """The unit of this package: a question and how it is answered.

    Attributes
    ----------
    description : Description
        Name and question, as in the findings that it makes.
    order : int
        Place in the report, in steps of ten, so that others fit between.
    find : callable
        Results to the finding; None where the question does not apply, such as a comparison
        of platforms where there is one.
    of_sweeps : bool
        Whether it is asked where steps of CPU are swept: cells are then points of one line, with
        few trials each, and no conditions to be compared.
    of_rates : bool
        Whether it is asked where the metric is one of which more is better: what speaks of times
        that grow would have it the wrong way round.
    over_sessions : bool
        Whether it compares within blocks, or sessions themselves, so that it holds over sessions of
        a machine that changed between them. All others are then asked of one session.
    """

    description: Description
    order: int
    find: Callable[[Results], Finding | None]
    of_sweeps: bool = False
    of_rates: bool = False
    over_sessions: bool = False


def settled(parts: Iterable[bool]) -> Answer:
    """Judge a question that yes and no do not answer by whether each part of it is decided.

    What is given here is what the answer is written from, so that badge and text cannot differ.
    """
    known = list(parts)
    if all(known):
        return "none"
    return "partly" if any(known) else "inconclusive"


def uncompared(description: Description, why: str) -> Finding:
    """Answer a question for which no values can be compared."""
    return Finding(
        name=description.name,
        question=description.question,
        answer=why,
        verdict="nothing to compare",
    )
