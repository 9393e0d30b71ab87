"""Findings: answers with their evidence, as one document that any machine can render."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from tare.results.message import Chosen, Open, Said, Value, each
from tare.units import chosen, factor

if TYPE_CHECKING:
    Cell = Any
else:
    # So that saved rows come back with the amounts and messages in them.
    Cell = Value

#: How sure the answer is; the report colours by it, and always with the word beside it.
Answer = Literal[
    "yes", "no", "inconclusive", "partly", "none", "nothing to compare", "TRUST", "DOUBT", "REJECT",
    "slower", "faster", "higher", "lower", "equivalent",
    "less stable", "more stable", "equally stable",
]  # fmt: skip


#: What readers see for a verdict: its sign and its word, so that no one depends on colour.
_BADGES: dict[Answer, tuple[str, str]] = {
    # Neither is good or bad by itself.
    "yes": ("●", "yes"),
    "no": ("○", "no"),
    "inconclusive": ("?", "inconclusive"),
    "partly": ("?", "partly"),
    "nothing to compare": ("–", "nothing to compare"),
    "TRUST": ("✓", "TRUST"),
    "DOUBT": ("?", "DOUBT"),
    "REJECT": ("✕", "REJECT"),
    "slower": ("▲", "slower"),
    "faster": ("▼", "faster"),
    "higher": ("▲", "higher"),
    "lower": ("▼", "lower"),
    "equivalent": ("≈", "equivalent"),
    "less stable": ("▲", "less stable"),
    "more stable": ("▼", "more stable"),
    "equally stable": ("≈", "equally stable"),
}


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One column of a table."""

    key: str
    title: str
    #: Unit of the numbers as stored ("ns", "bytes", "%", "1"); None for words, and where each cell
    #: has a unit of its own (:class:`tare.results.message.Amount`).
    unit: str | None = None


def columns_of(unit: str | None = None, /, **titles: str) -> tuple[Column, ...]:
    """Give each key a column with its title, all of one unit."""
    return tuple(Column(key=key, title=title, unit=unit) for key, title in titles.items())


def interval_columns(key: str, title: str, unit: str, prefix: str = "") -> tuple[Column, ...]:
    """Give the columns of an estimate and of its bounds, which are shown as one."""
    return (
        Column(key=key, title=title, unit=unit),
        Column(key=f"{prefix}low", title="from", unit=unit),
        Column(key=f"{prefix}high", title="to", unit=unit),
    )


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of evidence; absent values are None, never zero.

    A row may hold more than its columns show: of a verdict, its direction as data.
    """

    title: Said
    #: By which charts find it, where a finding has several.
    id: str | None = None
    columns: tuple[Column, ...]
    rows: tuple[dict[str, Cell], ...]
    note: Said | tuple[Said, ...] | None = None
    #: Of the intervals in it.
    confidence: float = 0.95

    @classmethod
    def of(
        cls,
        title: Said,
        heads: Sequence[str | Column],
        rows: Iterable[Sequence[Any]],
        note: Said | tuple[Said, ...] | None = None,
        *,
        id: str | None = None,
    ) -> Table:
        """Make a table of rows that have their cells in order; a head that is text is its key."""
        columns = tuple(Column(key=h, title=h) if isinstance(h, str) else h for h in heads)
        keys = [column.key for column in columns]
        return cls(
            title=title,
            id=id,
            columns=columns,
            rows=tuple(dict(zip(keys, row, strict=True)) for row in rows),
            note=note,
        )


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """One number that an answer rests on."""

    name: str
    #: The levels that it belongs to, e.g. {"platform": "docker", "workers": "2"}.
    levels: dict[str, str]
    value: float | None
    unit: str
    low: float | None = None
    high: float | None = None
    #: Bounds that values above a time limit leave open; unset: none.
    open: Open | msgspec.UnsetType = msgspec.UNSET
    confidence: float | None = None
    method: str
    #: Trials (not samples) behind it.
    n: int
    trials: tuple[int, ...] = ()

    @classmethod
    def of(
        cls,
        name: str,
        levels: dict[str, str],
        ends: tuple[float, float | None, float | None],
        method: str,
        n: int,
        *,
        trials: tuple[int, ...] = (),
        unit: str = "1",
    ) -> Estimate:
        """Return a value with its bounds, at a confidence of 95 %."""
        value, low, high = ends
        return cls(
            name=name, levels=levels, value=value, unit=unit, low=low, high=high, confidence=0.95,
            method=method, n=n, trials=trials,
        )  # fmt: skip


class Unsettled(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a summary that says how many more trials would settle it.

    Attributes
    ----------
    line : int
        Which line of the summary, from 0.
    brief : Said
        The same without that number.
    trials : int
    """

    line: int
    brief: Said
    trials: int


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """An answer with its estimate, unit, interval, method, and the trials it rests on."""

    name: str
    question: Said
    #: Whether "yes" or "no" answers it.
    closed: bool = True
    #: The answer first, then what it rests on.
    answer: Said | tuple[Said, ...]
    verdict: Answer
    #: Margin that the verdict is within, as in "slower (within 2 %)"; None: not within a margin.
    within: Chosen | None = None
    #: A line each for the head of the page and the terminal; None: nothing is there.
    summary: Said | tuple[Said, ...] | None = None
    #: Lines of the summary that say how many more trials would settle them; unset: none.
    unsettled: tuple[Unsettled, ...] | msgspec.UnsetType = msgspec.UNSET
    #: Trials per cell that settle what its advice leaves open; unset: none do, or not known.
    trials_needed: int | msgspec.UnsetType = msgspec.UNSET
    #: What to do, a line each, at most six; before all summaries.
    advice: tuple[Said, ...] = ()
    #: What would settle what is inconclusive; None: nothing is, or not known.
    settle: Said | None = None
    #: "metric (source)" of the values, e.g. "kernel_cpu_ns (self)".
    basis: str | None = None
    estimates: tuple[Estimate, ...] = ()
    tables: tuple[Table, ...] = ()
    #: What weakens the answer or could not be compared, and why.
    caveats: tuple[Said, ...] = ()
    #: Names of the charts (registry) that show it.
    charts: tuple[str, ...] = ()
    #: The only session that it is about; None: all.
    session: int | None = None

    @property
    def head(self) -> tuple[Said, ...]:
        """What of it stands at the head of the page and the terminal."""
        return (*self.advice, *each(self.summary))

    @property
    def waiting(self) -> tuple[Unsettled, ...]:
        """Lines of the summary that say how many more trials would settle them."""
        return () if self.unsettled is msgspec.UNSET else self.unsettled

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
        word = _BADGES.get(self.shown, ("", ""))[1]
        if self.within is None:
            return word
        margin = self.within
        written = factor(margin.value) if margin.unit == "growth" else chosen(margin.value)
        return f"{word} (within {written})"
