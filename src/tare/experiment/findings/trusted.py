"""Can the medians of the cells be trusted? One judgement, as an audit has it, for all outputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from tare.experiment.findings.cells import Cell, Cells, basis_of, cells_of
from tare.experiment.findings.comparison_summary import share
from tare.experiment.findings.doubt import judge, why
from tare.experiment.findings.level_names import where
from tare.experiment.metrics import COMMANDS_TIME, SERVICES_TIME, TIME
from tare.experiment.results import Results
from tare.experiment.sweep.trials import swept
from tare.results.message import Amount, Message, message
from tare.statistics.trust import Trust, Verdict, beyond_chance

#: Cells that are named one by one.
_NAMED = 5


@dataclass(frozen=True, eq=False)
class Judged:
    """The cells of an experiment whose order of values lowers their verdict.

    Attributes
    ----------
    doubted : sequence of (Cell, Trust)
    verdicts : sequence of Trust
        Of the cells that were judged.
    varied : sequence of str
        Factors that name them.
    """

    doubted: Sequence[tuple[Cell, Trust]]
    verdicts: Sequence[Trust]
    varied: Sequence[str]

    @property
    def total(self) -> int:
        """Cells that were judged."""
        return len(self.verdicts)

    @property
    def by_chance(self) -> bool:
        """Whether steady series would be doubted as much by chance, as an audit has it."""
        return not beyond_chance([verdict for _, verdict in self.doubted], self.total)


@lru_cache(maxsize=4)
def judged(results: Results) -> Judged:
    """Judge the series of every cell that levels are taken from."""
    levels = results.of_levels
    basis = basis_of(levels)
    if isinstance(basis, Message) or swept(results) is not None:
        return Judged((), (), ())
    cells = cells_of(levels, basis)
    found = [(c, _judge(c, cells)) for c in cells.all]
    known = [(c, verdict) for c, verdict in found if verdict.verdict != "REJECT"]
    return Judged(
        # What is said of targets has the precision of medians.
        [(c, verdict) for c, verdict in known if not verdict.is_sound],
        [verdict for _, verdict in known],
        cells.varied,
    )


def whole(results: Results) -> Trust | None:
    """Judge all medians together, by the widest and the fewest sessions of any; None without any.

    Doubts that chance explains do not count.
    """
    found = judged(results)
    if not found.verdicts:
        return None
    widest = max(found.verdicts, key=_width)
    sessions = min(one.sessions for one in found.verdicts)
    if said(results) is not None:
        return replace(
            widest, verdict="DOUBT", grounds=found.doubted[0][1].grounds[:1], sessions=sessions
        )
    imprecise = tuple(one for one in widest.grounds if one.kind == "imprecise")
    verdict: Verdict = "DOUBT" if imprecise else "TRUST"
    return replace(widest, verdict=verdict, grounds=imprecise, sessions=sessions)


def _judge(cell: Cell, cells: Cells) -> Trust:
    timeline = cells.results.timeline(cells.basis.metric, cells.basis.source, cell.trials)
    sessions = len(set(cell.sessions.tolist()))
    # Changes and dependence show in the order of values, which limits leave as it is.
    return judge(cell.least_values, cell.stopping, cell.median, sessions, cell.tick, timeline)


def _width(one: Trust) -> float:
    """Return how far a median is known; infinite where a time limit leaves that open."""
    is_open = one.extent is None and one.imprecision is not None
    return math.inf if is_open else one.extent or 0.0


def line(results: Results) -> Message | None:
    """Say which medians are doubtful, and whether comparisons are; None as of :func:`said`."""
    doubt = said(results)
    if doubt is None:
        return None
    blocks = judged(results).total > 1 and results.experiment.order == "blocks"
    return message(
        "DOUBT: {doubt}{% if blocks %}. Comparisons are within blocks and hold{% endif %}",
        doubt=doubt,
        blocks=blocks,
    )


def note(results: Results) -> Message | None:
    """Say to what the medians of a single cell or of a comparison can be trusted, or why not.

    Of other experiments only that medians are doubtful: their tables have the intervals.
    """
    doubtful, found, metric = line(results), whole(results), results.experiment.metric
    is_small = results.experiment.stopping.compare is not None or len(results.levels("cell")) == 1
    if doubtful is not None or found is None or not is_small:
        return doubtful
    return message(
        "{verdict}{% if several %}: medians{% elif metric %}: {metric | metric}{% endif %} {said}",
        verdict=found.verdict,
        metric=None if metric in (COMMANDS_TIME, SERVICES_TIME, TIME) else metric,
        several=judged(results).total > 1,
        said=found.claim if found.verdict == "TRUST" else _why_imprecise(found, results),
    )


def said(results: Results) -> Message | None:
    """Say which medians are doubtful; None: none, or no more than chance explains."""
    found = judged(results)
    if not found.doubted or found.by_chance:
        return None
    cell, doubtful = found.doubted[0]
    return message(
        "{% if several %}the medians of {share} are doubtful, e.g. {where}: {% else %}"
        "doubtful median, {% endif %}{why}",
        share=share(len(found.doubted), found.total),
        several=found.total > 1,
        where=where(cell.levels, found.varied),
        why=why(doubtful.grounds[0], len(cell.trial_values)),
    )


def doubt(results: Results) -> Message | None:
    """Say why medians are doubtful, or that they are imprecise; None: they are neither."""
    found = whole(results)
    if found is None or found.verdict == "TRUST":
        return None
    return said(results) or message("medians {why}", why=_why_imprecise(found, results))


def _why_imprecise(found: Trust, results: Results) -> Message:
    """Say how imprecise medians are; of a comparison not how many trials would narrow them.

    A comparison states its own number of trials that would settle it.
    """
    ground = found.grounds[0]
    if results.experiment.stopping.compare is None or not ground.short.args.get("more"):
        return why(ground, 0)
    return message("± {half}", half=Amount(found.extent, "share"))


def each(results: Results) -> list[Message]:
    """Name the cells whose medians are doubtful, and why."""
    found = judged(results)
    named = [
        message(
            "the median for {where} is doubtful: {reason}{% if chance %}. Chance explains as "
            "many of such cells{% endif %}",
            where=where(cell.levels, found.varied),
            reason=doubtful.grounds[0].said,
            chance=found.by_chance,
        )
        for cell, doubtful in found.doubted[:_NAMED]
    ]
    others = len(found.doubted[_NAMED:])
    return [
        *named,
        *(
            [
                message(
                    "so {% if others == 1 %}is the median{% else %}are the medians{% endif %} of "
                    "{others | counted('other cell')}",
                    others=others,
                )
            ]
            if others
            else []
        ),
    ]
