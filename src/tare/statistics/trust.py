"""Can a series be trusted? TRUST, DOUBT or REJECT, with the reasons.

Source: thresholds and error budget chosen by simulation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from tare.results.message import Amount, Chosen, Deviation, Message, Said, message
from tare.statistics import checked, phrases
from tare.statistics.changes import Changes, OrderAnalysis, analyse_order, changes
from tare.statistics.copies import Copy, copied
from tare.statistics.downsample import MOST, fences
from tare.statistics.independence import copy_message, period_message
from tare.statistics.intervals import Interval, more_trials_for
from tare.statistics.mixed_units import MixedUnits, mixed_units
from tare.statistics.order import FEWEST, LEAST_SPREAD_RATIO, MOST_TAU, Order
from tare.statistics.periodicity import without_period
from tare.statistics.quantiles import quantiles
from tare.statistics.shared_timeline import SharedTimeline
from tare.statistics.statistic import FloatArray, IndexArray
from tare.statistics.ticks import tick_of
from tare.statistics.warmup import cold_start

if TYPE_CHECKING:
    from tare.statistics.time_of_day import TimeOfDay

_DEFECT_TEXTS = {
    "unsteady": "{said | sentence} Leave out --steady, or measure longer",
    "units": "{said | sentence} Convert them to one unit, or separate them, and audit again",
    "requests": "{said}",
    "summary": "{said}",
    "corrupt": "{said | sentence} Repair the file or measure again",
}
_CYCLE_TEXTS = {
    "day": "the time of day{% if size %} (± {size}){% endif %}",
    "week": "the day of the week{% if size %} (± {size}){% endif %}",
}

Verdict = Literal["TRUST", "DOUBT", "REJECT"]
#: Precision that is asked for where nothing else is: half-width of the median's interval, relative.
PRECISION = 0.05
#: Sessions from which on a verdict is not limited to the session of the values.
SEVERAL_SESSIONS = 3
#: Share of sound series that are doubted by chance, at most.
BY_CHANCE = 0.05
#: Probability that chance gives no more doubted series than are accepted.
_CERTAINTY = 0.95
#: Kinds of reasons to doubt or to reject a series.
ReasonKind = Literal[
    # Of the values, and of how they were read.
    "corrupt", "summary", "units", "requests", "unsteady", "equal",
    # Of how many there are.
    "failed", "some_failed", "few", "one",
    # Of what a trial is.
    "trials", "executions", "grouped",
    # Of their order.
    "cold", "drift", "shift", "autocorrelated", "periodic", "spread", "spread_shift", "copied",
    "cycles", "timeline",
    "imprecise",
]  # fmt: skip
#: Values that change over time; daily and weekly cycles explain these where they are shown.
CHANGING: frozenset[ReasonKind] = frozenset(
    {"drift", "shift", "autocorrelated", "periodic", "spread", "spread_shift"}
)


class Defect(Protocol):
    """What a reader of a file found wrong."""

    @property
    def kind(self) -> str:
        """``corrupt``, ``mixed units``, ``summary only``, ``few requests``, ``no steady part``."""

    @property
    def message(self) -> Said:
        """What is wrong, with the place."""


@dataclass(frozen=True)
class OrderDoubt:
    """Evidence of a doubt that rests on the order of the values alone, which may be chance.

    Attributes
    ----------
    order : Order
    copy : Copy or None
    timeline : SharedTimeline or None
        Of a series that is doubtful for it.
    """

    order: Order
    copy: Copy | None
    timeline: SharedTimeline | None = None

    def holds_among(self, series: int) -> bool:
        """Whether at most 5 % of so many sound series show such evidence in any of them."""
        by_chance = [one.p for one in (self.copy, self.timeline) if one is not None]
        if any(p * series <= BY_CHANCE for p in by_chance):
            return True
        return self.order.holds_among(series)


@dataclass(frozen=True, eq=False)
class BesideCycles:
    """A series of doubtful order, without the daily and weekly cycles that it shows.

    Attributes
    ----------
    cycles : TimeOfDay
    values : array, shape (n,)
    analysis : OrderAnalysis
        Of these values.
    """

    cycles: TimeOfDay
    values: FloatArray
    analysis: OrderAnalysis


def beside_cycles(
    cycles: TimeOfDay | None, at_s: FloatArray | None, values: FloatArray, precision: float
) -> BesideCycles | None:
    """Subtract daily and weekly cycles from a series; None where none is shown.

    ``at_s``: when each value was measured, in seconds since 1970.
    """
    if cycles is None or at_s is None or not cycles.cycles:
        return None
    left = cycles.without_cycles(at_s, values)
    return BesideCycles(cycles, left, analyse_order(left, precision))


@dataclass(frozen=True)
class Reason:
    """Why a series is doubtful or rejected.

    Attributes
    ----------
    kind : ReasonKind
    said : Message
        With the figure and what to do.
    shorter : Message or None
        Without what to do; None: there is no shorter form.
    """

    kind: ReasonKind
    said: Message
    shorter: Message | None = None

    @property
    def short(self) -> Message:
        """The shortest form that there is."""
        return self.shorter or self.said


@dataclass(frozen=True)
class Trust:
    """A verdict and why, and to what the median is known.

    Attributes
    ----------
    verdict : {"TRUST", "DOUBT", "REJECT"}
    grounds : tuple of Reason
        Why it is no TRUST. Imprecision comes last.
    remarks : tuple of Message
        What is to be known all the same, and lowers no verdict.
    order_doubt : OrderDoubt or None
        Where nothing but the order of the values is doubtful.
    extent : float or None
        Longer side of the median's interval, relative to the median; None without an interval, of
        one that is open, and where the median is 0.
    sessions : int
        Sessions in which the values were measured, as far as known.
    """

    verdict: Verdict
    grounds: tuple[Reason, ...]
    remarks: tuple[Message, ...] = ()
    order_doubt: OrderDoubt | None = None
    extent: float | None = None
    sessions: int = 1

    @property
    def reasons(self) -> tuple[Message, ...]:
        """The grounds in words, with what to do."""
        return tuple(one.said for one in self.grounds)

    @property
    def imprecision(self) -> Message | None:
        """Say that the median is known less precisely than asked; None: it is not."""
        return next((one.said for one in self.grounds if one.kind == "imprecise"), None)

    @property
    def is_sound(self) -> bool:
        """Whether nothing but a lack of precision speaks against the values."""
        return all(one.kind == "imprecise" for one in self.grounds)

    @property
    def claim(self) -> Message:
        """To what the median can be trusted, and where: "to ± 0.4 % in this session"."""
        return message(
            "{% if extent %}to ± {extent}{% if sessions %} {% endif %}{% elif not sessions %}"
            "these numbers can be trusted{% endif %}{% if sessions == 1 %}in this session"
            "{% elif sessions %}in these {sessions} sessions{% endif %}",
            extent=None if self.extent is None else Amount(self.extent, "share"),
            sessions=self.sessions if self.sessions < SEVERAL_SESSIONS else None,
        )


def trust(
    values: ArrayLike,
    *,
    trials_known: bool,
    precision: float = PRECISION,
    defects: Sequence[Defect] = (),
    tick: float | None = None,
    median: Interval | None = None,
    narrows: bool = True,
    sessions: int = 1,
    analysis: OrderAnalysis | None = None,
    beside: BesideCycles | None = None,
    executions: Message | None = None,
    failed: Said | None = None,
    partly_failed: Said | None = None,
    sorter: IndexArray | None = None,
    timeline: SharedTimeline | None = None,
    grouped: Said | None = None,
) -> Trust:
    """Judge one series.

    REJECT: every run failed, fewer than 6 trials, corrupt values, mixed units (also where only the
    size of the values shows them), quantiles of too few requests. DOUBT: autocorrelation (a
    dependence time above 1.5, or neighbours that alternate), periods, copied stretches, a drift or
    a change of level larger than the target, a spread that changes, a timeline that executions
    share inside and that makes their mean misleading, a factor that may be one of units, a
    resolution that is unknown because (nearly) all values are equal, values that are not known to
    be trials, runs that failed, a median that is known less precisely than the target.
    Shape, modes and outliers never lower a verdict.

    Parameters
    ----------
    values : array, shape (n,)
        Trial values in order of time; memory maps included.
    trials_known : bool
        Whether each value is known to come from an execution of its own.
    precision : float
        The target: relative half-width of the median's interval, and relative change that matters.
    defects : sequence of Defect
        What was found wrong when the values were read.
    tick : float, optional
        What is known of how finely they were recorded; equal values are then no doubt.
    median : Interval, optional
        Their median, where its interval is known; otherwise that of independent values.
    narrows : bool
        Whether the interval narrows with more values; otherwise their number is not given.
    sessions : int
        Sessions (files, dates, hosts) in which they were measured, as far as known.
    analysis : OrderAnalysis, optional
        What their order shows at this precision, where it is known.
    beside : BesideCycles, optional
        The same without the daily and weekly cycles that are shown, which are then named as the
        reason of a doubt. The evidence is that of the values as they are.
    executions : Message, optional
        Why ``trials_known`` is false, where the tool that wrote the values explains it.
    failed : Said, optional
        That every run failed, so that there are no values; with the number and the reasons.
    partly_failed : Said, optional
        How many runs failed, where they are more than can be neglected.
    sorter : int array, shape (n,), optional
        Indices that sort the values, where they are known.
    timeline : SharedTimeline, optional
        What executions have in common over their iterations, whose means the values are.
    grouped : Said, optional
        That several values are of one execution, although each counts as a trial.

    Returns
    -------
    Trust

    Notes
    -----
    One error budget holds for all that looks at the order of the values: of series of independent
    values that are precise enough, whatever their distribution, at most 5 % get anything but TRUST.

    Found in 90 % or more by simulation, where larger than the target (SD is that of single trials):
    at n = 20 a drift of 3.5 SD, a step of 2.5 SD, a warm-up of the first 20 % of 3 SD or of the
    first 10 % of 5 SD; at n = 100 a drift of 1.5 SD, a step of 1 SD, a warm-up of 1.5 SD, AR(.5);
    at n = 1000 AR(.3). From n = 30 on, in 95 % or more: AR(−.8), waves and pulses of clear
    height and at least four periods (pulses of one trial to half a period, at whole numbers of
    trials), copied stretches, a spread that grows by a factor of 20. Not at n = 20: weak
    dependence (AR(.5) 39 %, AR(.8) 78 %).
    """
    checked.parameters(precision=precision)
    values = checked.series(values, least=0, finite=False)
    rejections = [_rejection(d) for d in defects]
    unfit = 0 if len(values) == 0 else _not_finite(values)
    if unfit and not any(d.kind == "corrupt" for d in defects):
        said = message(
            "{unfit} of {n | counted('value')} {% if unfit == 1 %}is no finite number"
            "{% else %}are not finite numbers{% endif %}: find out what wrote them, and "
            "measure again",
            unfit=unfit,
            n=len(values),
        )
        rejections.append(Reason("corrupt", said))
    if failed is not None:
        rejections.insert(0, Reason("failed", message("{said}", said=failed)))
    elif len(values) - unfit < FEWEST and not any(one.kind == "summary" for one in rejections):
        n = len(values) - unfit
        if n == 1 and trials_known and not rejections:
            one = message(
                "one run; {needs} give an interval. Measure {more} more",
                needs=FEWEST,
                more=FEWEST - 1,
            )
            return Trust("REJECT", (Reason("one", one),))
        few = message(phrases.SERIES_FEW, n=n)
        said = message(
            "{said}: an interval of the median needs {needs}. Measure {more} more at least",
            said=few,
            needs=FEWEST,
            more=FEWEST - n,
        )
        rejections.append(Reason("few", said))
    units = None if rejections else mixed_units(values)
    if units is not None and units.certain:
        rejections.append(_units(units))
    if rejections:
        return Trust("REJECT", tuple(rejections))
    doubts, remarks, evidence = _look(values, precision, tick, analysis, sorter)
    doubts = doubts if beside is None else _beside_cycles(beside, doubts, precision)
    median = median or quantiles(values, (0.5,), tick=tick)[0]
    inside = _look_inside(timeline, precision, median.half_width)
    if inside and evidence is not None:
        evidence = replace(evidence, timeline=timeline)
    if timeline is not None and not inside:
        remarks.append(timeline.sentence)
    certain = _certain_doubts(units, grouped, partly_failed)
    cold = cold_start(values, precision)
    if cold is not None and abs(cold.shift) > precision:
        certain.append(
            Reason(
                "cold",
                message(
                    "{said}. Leave it out, or run it unmeasured (--warmup 1)", said=cold.sentence
                ),
                cold.sentence,
            )
        )
    elif cold is not None:
        remarks.append(cold.sentence)
    grounds = [*certain, *doubts, *inside]
    if not trials_known and executions is not None:
        grounds.append(Reason("executions", message("{said}", said=executions)))
    elif not trials_known:
        grounds.append(
            Reason(
                "trials",
                message(
                    "the file does not say which values are of one execution. Name the column that "
                    "does: --trial COLUMN, or --trial row if each row is an execution"
                ),
            )
        )
    judged = Trust(
        "DOUBT" if grounds else "TRUST",
        tuple(grounds),
        tuple(remarks),
        None if certain or not trials_known else evidence,
        sessions=sessions,
    )
    return _with_extent(judged, median, precision, narrows=narrows)


def _with_extent(found: Trust, median: Interval, precision: float, *, narrows: bool) -> Trust:
    """Add to what the median is known, as a reason to doubt it where that is too little.

    Parameters
    ----------
    found : Trust
        A verdict other than REJECT, without an extent.
    median : Interval
    precision : float
        The target.
    narrows : bool
        Whether the interval narrows with more values.
    """
    half = median.half_width
    is_open = median.high is not None and not math.isfinite(median.high)
    extent = None if is_open else half
    grounds = [*found.grounds]
    if is_open or (half is not None and half > precision):
        more = more_trials_for(median, precision)
        known: dict[str, Any] = {
            "half": None if extent is None else Amount(extent, "share"),
            "target": Chosen(precision),
            "more": more if narrows and not grounds else None,
            "coarse": more is None and not is_open,
        }
        said = message(
            "{% if half %}± {half}{% else %}the interval is open{% endif %}: "
            "{% if not half %}values exceed the time limit{% elif more %}about "
            "{more | counted('more run')} for ± {target}{% elif coarse %}the steps of the "
            "values are too coarse for ± {target}{% else %}more than ± {target}{% endif %}",
            **known,
        )
        grounds.append(
            Reason(
                "imprecise",
                said,
                message(
                    "{% if not half %}not known to ± {target}: the time limit leaves the interval "
                    "open{% else %}± {half}{% if more %}: about {more | about('more trial')} "
                    "for ± "
                    "{target}{% elif coarse %}: the steps of the values are too coarse for ± "
                    "{target}"
                    "{% else %}, more than ± {target}{% endif %}{% endif %}",
                    **known,
                ),
            )
        )
    return replace(
        found, verdict="DOUBT" if grounds else "TRUST", grounds=tuple(grounds), extent=extent
    )


def extent_of_all(some: Sequence[Trust]) -> float | None:
    """Return the widest extent of several series; None where none has one."""
    return max((one.extent for one in some if one.extent is not None), default=None)


def _look_inside(
    timeline: SharedTimeline | None, precision: float, half_width: float | None
) -> list[Reason]:
    """Return the doubt that the timeline of executions is; empty: their means do not mislead."""
    if timeline is None or not timeline.is_doubtful(precision, half_width):
        return []
    said = message(
        "{said}. {% if kind == 'warm-up' %}Take the means of the steady ones (--steady)"
        "{% elif kind == 'period' %}Find what happens as often: no iteration need be near "
        "their mean{% else %}Run more iterations until they settle, or find what makes them "
        "differ{% endif %}",
        said=timeline.sentence,
        kind=timeline.kind,
    )
    return [Reason("timeline", said, message("{said} (--steady)", said=timeline.sentence))]


def _certain_doubts(
    units: MixedUnits | None, grouped: Said | None, partly_failed: Said | None
) -> list[Reason]:
    """Return the doubts that do not rest on the order of the values."""
    found = []
    if partly_failed is not None:
        said = message(
            "{said | sentence} The values are those of successful runs alone. Find out why "
            "the others fail, and measure again",
            said=partly_failed,
        )
        found.append(Reason("some_failed", said))
    if grouped is not None:
        found.append(Reason("grouped", message("{said}", said=grouped)))
    if units is not None:
        found.append(_units(units))
    return found


def _beside_cycles(beside: BesideCycles, found: list[Reason], precision: float) -> list[Reason]:
    """Name daily and weekly cycles in place of changes, and what is left without these cycles."""
    if not any(one.kind in CHANGING for one in found):
        return found
    copies = [one for one in found if one.kind == "copied"]
    doubts = [_cycle_doubt(beside.cycles)]
    order, moved, remains = beside.analysis.order, beside.analysis.changes, beside.analysis.left
    if order is not None and moved.ok is False and _is_periodic(beside.values, order, precision):
        return [*doubts, _periodic(order), *copies]
    taken_out = [message("the cycle{% if n > 1 %}s{% endif %}", n=len(beside.cycles.cycles))]
    if moved.ok is False:
        doubts.append(_change_doubt(moved, precision))
        taken_out.append(_taken_out(moved))
    if remains is not None and remains.kind is not None and not copies:
        doubts.append(_order_doubt(remains, len(beside.values), taken_out))
    return [*doubts, *copies]


def _cycle_doubt(found: TimeOfDay) -> Reason:
    times = []
    for name, test in (("day", found.day), ("week", found.week)):
        if test.is_shown and not isinstance(test.cycle, str):
            share = test.share(test.cycle.amplitude)
            size = None if share is None else Amount(share, "share")
            times.append(message(_CYCLE_TEXTS[name], size=size))
    weekly = bool(found.week.is_shown)
    whole = found.covers_whole_periods
    return Reason(
        "cycles",
        message(
            "values depend on {times | listing}: measure over whole {% if weekly %}weeks"
            "{% else %}days{% endif %}{% if whole %}, as here{% endif %}, and compare only "
            "values of the same times",
            times=times,
            weekly=weekly,
            whole=whole,
        ),
    )


def verdict_of_all(some: Sequence[Trust]) -> Verdict:
    """Judge series as a whole.

    REJECT where one is. DOUBT where one is for another reason than the order of its values, where
    the order of one is as unlikely as at most 5 % of so many sound series show in any of them, or
    where more are doubted than chance gives. Otherwise TRUST: of sound series, up to 5 % are
    doubted by chance.

    Parameters
    ----------
    some : sequence of Trust
        At least one.
    """
    if any(one.verdict == "REJECT" for one in some):
        return "REJECT"
    doubts = [one for one in some if one.verdict == "DOUBT"]
    imprecise = any(one.imprecision is not None for one in doubts)
    return "DOUBT" if imprecise or beyond_chance(doubts, len(some)) else "TRUST"


def beyond_chance(doubts: Sequence[Trust], series: int) -> bool:
    """Whether chance does not explain that so many of sound series are doubted, or why.

    Parameters
    ----------
    doubts : sequence of Trust
        Those that are doubted.
    series : int
        How many there are, the others included.
    """
    return len(doubts) > most_by_chance(series) or any(
        one.order_doubt is None or one.order_doubt.holds_among(series) for one in doubts
    )


def most_by_chance(series: int) -> int:
    """Return the 95 % quantile of the number of sound series that are doubted by chance."""
    # Only sets of series need it.
    from scipy import special

    likely = special.bdtr(np.arange(series + 1), series, BY_CHANCE)
    return int(np.argmax(likely >= _CERTAINTY - 1e-12))


def _units(units: MixedUnits) -> Reason:
    count, factor = units.count, round(units.factor)
    return Reason(
        "units",
        message(
            "{count | counted('value')} {% if count == 1 %}differs{% else %}differ"
            "{% endif %} from the others by a factor of about {factor}, with a gap between"
            "{% if not certain %}: perhaps{% else %}:{% endif %} two units. Convert them to "
            "one unit, or audit the two kinds as two series",
            count=count,
            factor=factor,
            certain=units.certain,
        ),
        message(
            "{count | counted('value')} {% if count == 1 %}is{% else %}are{% endif %} off by "
            "a factor of about {factor}",
            count=count,
            factor=factor,
        ),
    )


def _rejection(defect: Defect) -> Reason:
    kinds: dict[str, ReasonKind] = {
        "mixed units": "units",
        "few requests": "requests",
        "no steady part": "unsteady",
        "summary only": "summary",
    }
    kind = kinds.get(defect.kind, "corrupt")
    return Reason(kind, message(_DEFECT_TEXTS[kind], said=defect.message))


def _not_finite(values: FloatArray, step: int = 1 << 20) -> int:
    """Count in pieces, so that a memory map is not loaded whole."""
    return sum(
        int(np.count_nonzero(~np.isfinite(values[i : i + step])))
        for i in range(0, len(values), step)
    )


def _look(
    values: FloatArray,
    precision: float,
    tick: float | None,
    analysis: OrderAnalysis | None,
    sorter: IndexArray | None,
) -> tuple[list[Reason], list[Message], OrderDoubt | None]:
    """Look at the order of the values.

    Returns
    -------
    (list, list, OrderDoubt or None)
        What lowers the verdict, what is only to be known, and the evidence of the former.
    """
    if tick_of(values, tick) is None:
        equal = Reason(
            "equal",
            message(
                "all values are equal, or nearly all: their resolution is unknown. Time more "
                "work at once, or with a finer clock"
            ),
            message("all values are equal, or nearly all"),
        )
        return [equal], [], None
    analysis = analysis or analyse_order(values, precision)
    order, found, left = analysis.order, analysis.changes, analysis.left
    if order is None or left is None:
        return [], [], None
    if not found.ok and _is_periodic(values, order, precision):
        # Parts of a period are no drift and no levels of their own.
        return [_periodic(order)], [], OrderDoubt(order, None)
    doubts = [] if found.ok else [_change_doubt(found, precision)]
    copy = copied(values, sorter)
    if copy is not None:
        repeated = copy_message(copy)
        doubts.append(
            Reason(
                "copied",
                message(
                    "{copy}, which ties do not explain: find out what repeated them, and leave out "
                    "the copies",
                    copy=repeated,
                ),
                repeated,
            )
        )
    elif left.kind is not None:
        doubts.append(_order_doubt(left, len(values), [_taken_out(found)] if doubts else []))
    changed = found.drift is not None or found.largest is not None
    remarks = [found.sentence] if changed and not doubts else []
    return doubts, remarks, OrderDoubt(order, copy)


def _is_periodic(values: FloatArray, order: Order, precision: float) -> bool:
    """Whether a period is shown beside which no drift or change of level is left."""
    if not order.recurs or len(values) > MOST:
        return False
    x = np.asarray(values, dtype=float)
    left = without_period(np.clip(x, *fences(x)), order.period.period)
    return changes(left, precision).ok is not False


def _change_doubt(found: Changes, precision: float) -> Reason:
    target = Chosen(precision)
    if found.drift is not None:
        size = Deviation(found.drift, "share")
        said = message(
            "from the first trial to the last the values drift by {size}, more than the "
            "target of {target}: let the machine settle, or spread the trials over blocks in "
            "random order, and measure again",
            size=size,
            target=target,
        )
        return Reason(
            "drift",
            said,
            message("values drift by {size} from the first trial to the last", size=size),
        )
    shifts = found.beyond(precision)
    if len(shifts) > 1:
        short = _shifts(shifts)
        said = message(
            "{shifts}, more than the target of {target}: find out what happened then, and measure "
            "again",
            shifts=short,
            target=target,
        )
        return Reason("shift", said, short)
    size, trial = Deviation(found.largest or 0.0, "share"), (found.at or 0) + 1
    said = message(
        "at trial {trial} the level changes by {size}, more than the target of {target}: "
        "find out what happened then, or conclude from the trials on one side of it",
        trial=trial,
        size=size,
        target=target,
    )
    return Reason(
        "shift",
        said,
        message("at trial {trial} the level changes by {size}", trial=trial, size=size),
    )


def _shifts(some: Sequence[tuple[int, float]]) -> Message:
    """Name two changes of level, in their order; of more, their number and the largest."""
    shown = some if len(some) == 2 else [max(some, key=lambda one: abs(one[1]))]
    named = [
        message("at trial {trial} by {size}", trial=at + 1, size=Deviation(size, "share"))
        for at, size in shown
    ]
    return message(
        "the level changes {% if times %}{times} times, most {% endif %}{shifts | listing}",
        times=None if len(some) == 2 else len(some),
        shifts=named,
    )


def _order_doubt(order: Order, n: int, without: Sequence[Message]) -> Reason:
    """Name the dependence or the change of spread that matters most.

    ``without``: what was taken out before; empty: nothing of note.
    """
    if order.kind == "autocorrelation":
        effective = round(n / order.tau)
        said = message(
            "{% if without %}even with {without | listing} taken out, {% endif %}trials are "
            "autocorrelated (dependence time {tau}, above {limit}): {n} count as about "
            "{effective} independent ones. Intervals that ignore it are {times} × too "
            "narrow. Leave an idle period between trials, or reset what they leave behind",
            without=[*without],
            tau=order.tau,
            limit=Chosen(MOST_TAU, "1"),
            n=n,
            effective=effective,
            times=float(np.sqrt(order.tau)),
        )
        short = message(
            "trials are autocorrelated: {n} count as about {effective} for the mean",
            n=n,
            effective=effective,
        )
        return Reason("autocorrelated", said, short)
    return _spread_doubt(order, n) if order.kind == "spread" else _periodic(order)


def _periodic(order: Order) -> Reason:
    period = period_message(order)
    return Reason(
        "periodic",
        message(
            "{said}: find what happens as often, since trials taken in step with it are biased",
            said=period,
        ),
        period,
    )


def _taken_out(found: Changes) -> Message:
    if found.at is None:
        return message("the drift")
    return message(
        "the level {% if shifts > 1 %}shifts (the largest at trial {trial}){% else %}shift "
        "at trial {trial}{% endif %}",
        shifts=len(found.points),
        trial=found.at + 1,
    )


def _spread_doubt(order: Order, n: int) -> Reason:
    spread = order.spread
    if spread.size <= LEAST_SPREAD_RATIO:
        said = message(
            "the spread of the values varies over time (dependence time {tau}): find out "
            "what disturbed some trials and not others, and measure again",
            tau=spread.tau,
        )
        return Reason("spread", said, message("the spread varies over time"))
    known: dict[str, Any] = {
        "trial": spread.at * n // len(order.course.spaced) + 1,
        "times": float(spread.size),
        "more": spread.ratio > 1,
    }
    said = message(
        "from trial {trial} on the values spread {times} × {% if more %}more{% else %}less"
        "{% endif %}: find out what disturbed some trials and not others, and measure again",
        **known,
    )
    return Reason(
        "spread_shift",
        said,
        message(
            "from trial {trial} on the values spread {times} × {% if more %}more{% else %}less"
            "{% endif %}",
            **known,
        ),
    )
