"""A question that is asked of every experiment, and how it is answered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypedDict, TypeVar, Unpack, cast

from msgspec import UnsetType

from tare.render.vocabulary import Words
from tare.results.finding import Answer, Estimate, Finding, Table, Unsettled
from tare.results.message import Chosen, Message, Said
from tare.results.verdict import Verdict

if TYPE_CHECKING:
    from tare.experiment.results import Results
    from tare.registry import Description

_T = TypeVar("_T")


@dataclass(frozen=True)
class FindingUnit:
    """The unit of this package: a question and how it is answered.

    Attributes
    ----------
    description : Description
        Name and question, as in the findings that it makes.
    order : int
        Place in the report; no two have the same.
    find : callable
        Results to the finding; None where the question does not apply, such as a comparison
        of platforms where there is one.
    of_sweeps : bool
        Whether it is asked where steps of CPU are swept: cells are then points of one line, with
        few trials each, and no conditions to be compared.
    of_rates : bool
        Whether it is asked where the metric is one of which more is better, as one of sweeps is:
        what speaks of times that grow would have it the wrong way round.
    over_sessions : bool
        Whether it compares within blocks, or sessions themselves, so that it holds over sessions of
        a machine that changed between them. All others are then asked of one session.
    killed : {"used", "left out", "refused"}
        What it makes of trials that were killed at their time limit, of whose values only a lower
        bound is known: it uses the bound; it is asked without them, and says so; or it has no
        answer, since it is about the slowest runs.
    """

    description: Description
    order: int
    find: Callable[[Results], Finding | None]
    of_sweeps: bool = False
    of_rates: bool = False
    over_sessions: bool = False
    killed: Literal["used", "left out", "refused"] = "left out"


class Judged(TypedDict):
    """Fields of a finding that hold its verdict."""

    verdict: Answer
    within: Chosen | None


class Parts(TypedDict, total=False):
    """Fields of a finding that not every one has."""

    within: Chosen | None
    summary: Said | tuple[Said, ...] | None
    unsettled: tuple[Unsettled, ...] | UnsetType
    advice: tuple[Said, ...]
    settle: Said | None
    trials_needed: int | UnsetType
    basis: str | None
    estimates: tuple[Estimate, ...]
    charts: tuple[str, ...]


def answered(
    description: Description,
    *,
    answer: Said | Iterable[Said | None],
    verdict: Answer,
    closed: bool = False,
    question: Said | None = None,
    tables: Iterable[Table | None] = (),
    caveats: Iterable[Said | None] = (),
    **parts: Unpack[Parts],
) -> Finding:
    """Answer the question of a description, or ``question`` where results make it precise.

    ``closed``: "yes" or "no" answers it. ``parts``: what else the finding has. None in an answer,
    or in place of a table or a caveat, is left out.
    """
    return Finding(
        name=description.name, question=question or description.question, closed=closed,
        answer=answer if isinstance(answer, str | Message) else _known(answer), verdict=verdict,
        tables=_known(tables), caveats=_known(caveats), **parts,
    )  # fmt: skip


def _known(some: Iterable[_T | None]) -> tuple[_T, ...]:
    return tuple(one for one in some if one is not None)


def settled(parts: Iterable[bool]) -> Answer:
    """Judge a question that yes and no do not answer by whether each part of it is decided.

    What is given here is what the answer is written from, so that badge and text cannot differ.
    """
    known = list(parts)
    if all(known):
        return "none"
    return "partly" if any(known) else "inconclusive"


def judged(verdict: Verdict, words: Words, margin: Chosen) -> Judged:
    """Write the verdict of a comparison in the words of its kind of question.

    Parameters
    ----------
    verdict : Verdict
        The one that answers the question for all comparisons, see :func:`first_of`.
    words : Words
        Words of the quantity, such as ``SPREADS``.
    margin : Chosen
        Margin that the comparisons were judged by.

    Returns
    -------
    Judged
        ``verdict`` and ``within`` of the finding.
    """
    word = cast("Answer", words.of(verdict))
    return Judged(verdict=word, within=margin if verdict.within_margin else None)


def first_of(order: Sequence[Verdict], verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict that comes first in ``order``, of those that any comparison has."""
    return min(verdicts, key=order.index)


def uncompared(description: Description, why: Said) -> Finding:
    """Answer a question for which no values can be compared."""
    return answered(description, answer=why, verdict="nothing to compare", closed=True)
