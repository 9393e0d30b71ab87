"""How y follows x: along one straight line, along several, or up to a ceiling.

Source: Schwarz 1978 (BIC); Hurvich and Tsai 1989 (few values); by simulation otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from tare.errors import ValuesError
from tare.results.message import Amount, Chosen, Message, Said, message
from tare.statistics import checked
from tare.statistics.regression import Line, line
from tare.statistics.robust import robust_sd
from tare.statistics.segments import FINEST, Model, Pieces
from tare.statistics.statistic import FloatArray
from tare.statistics.steps import Steps, gather

_ERROR = (
    "One line errs by {% if share %}up to {share} of a step's mean{% else %}an unknown share"
    "{% endif %}"
)
_ERRS = (
    "one line errs by {% if share %}up to {share} of a step's mean{% else %}an unknown share"
    "{% endif %}"
)
_SCALING_TEXTS = {
    "linear": (
        "linear from {span}: one line fits every step within {error}{% if seen %}; an error "
        "of {seen} would have been detected{% endif %}"
    ),
    "falling": (
        "falling from {span}: one line fits every step within {error}{% if seen %}; an error "
        "of {seen} would have been detected{% endif %}"
    ),
}

#: Windows at a step beyond which a quieter machine is the better advice.
_MOST_WINDOWS = 50
#: Steps that one sentence names.
_MOST_NAMED = 3
#: What can be said of a sweep; falling: along one line, up to its end or to a floor.
Verdict = Literal["linear", "piecewise", "saturating", "falling", "inconclusive"]
#: Why nothing can be said: too few steps; all values are zero; noise that would hide a bend; one
#: line that errs by more at a few steps than at the others; or, which only who measured knows, CPU
#: time that did not arrive.
Reason = Literal["few steps", "zero", "noise", "steps apart", "disturbed"]
#: Relative error of one line that matters, and by which it errs from a curve.
MATTERS = 0.03
_BENT = 0.02
#: Largest error of one line that may go unseen where it is called linear.
UNSEEN = 0.10
#: Fewest steps from which anything is concluded, and most that there may be.
FEWEST = 5
MOST = 1000
#: Weight of a parameter, in units of what Schwarz's criterion takes.
_WEIGHT = 1.5
#: Scatter that does not grow with y, beside the scatter that does: shares of the largest y. The
#: first is next to none, so that a y of zero does not decide alone.
_CONSTANT = (0.001, 0.03, 0.1, 0.3, 1.0)
#: Powers of y by which relative scatter may grow instead.
_POWERS = (0.5, 1.0)
#: So many kinds of scatter are assumed; what comes after them was measured within the steps. Only
#: beside that a single step can be told from one that scatters more than the others.
_ASSUMED = len(_CONSTANT) + len(_POWERS)
#: Steps that may be off by themselves, where each has one value; others bend no line.
_NEAR_ENDS = (-1, -2, -3, 0)
#: Points of the grid that the interval of a bend is read from.
_GRID = 1000


def _concluded(
    verdict: str,
    segments: Sequence[Segment],
    error: float,
    ceiling: tuple[float | None, float | None, float | None],
    sees: float | None,
    *,
    curved: bool,
) -> Message:
    """Say how y follows x."""
    lines = [s for s in (segments if ceiling[0] is None else segments[:-1]) if s.start < s.end]
    ranges = [_range(s.start, s.end) for s in lines]
    if verdict == "linear" or (verdict == "falling" and ceiling[0] is None):
        return message(
            _SCALING_TEXTS[verdict], span=ranges[0], error=Amount(error, "share"), seen=_share(sees)
        )
    if not lines:
        return message(
            "flat from {span}: no increase", span=_range(segments[0].start, segments[0].end)
        )
    flat = _ceiling_message(*ceiling)
    if verdict in ("saturating", "falling"):
        return message(
            "{% if verdict == 'falling' %}falling{% else %}linear{% endif %} from {span}; "
            "{ceiling}",
            verdict=verdict,
            span=ranges[0],
            ceiling=flat,
        )
    errs = message(_ERROR, share=_share(error))
    if curved:
        return message(
            "piecewise: bends gradually, near one line each from {ranges | listing}. {error}",
            ranges=ranges,
            error=errs,
        )
    return message(
        "piecewise: {% if ranges | length == 1 %}one line{% else %}{ranges | length} lines"
        "{% endif %} from {ranges | join(', ')}{% if ceiling %}; {ceiling}{% endif %}"
        "{% if apart %}; without {apart | listing}{% endif %}. {error}",
        ranges=ranges,
        ceiling=flat,
        apart=_on_no_line(segments),
        error=errs,
    )


def _on_no_line(segments: Sequence[Segment]) -> list[Chosen]:
    return [_place(s.start) for s in segments if s.start == s.end]


def _ceiling_message(at: float | None, low: float | None, high: float | None) -> Message | None:
    if at is None:
        return None
    return message(
        "flat from {place}{% if low %} [{low}, {high}]{% endif %} on",
        place=_place(at),
        low=None if low is None else _place(low),
        high=None if high is None else _place(high),
    )


def _range(start: float, end: float) -> Message:
    return message("{start} to {end}", start=_place(start), end=_place(end))


def _place(x: float) -> Chosen:
    return Chosen(float(round(x)) if x >= 100 else float(f"{x:.3g}"), "1")


def _share(error: float | None) -> Amount | None:
    return None if error is None or not math.isfinite(error) else Amount(error, "share")


def _apart(x: FloatArray, errors: FloatArray, most: float) -> Message:
    """Say that one line describes all steps but a few; ``most``: the error that it may have."""
    far = errors > most
    return message(
        "inconclusive: {errs} at {places | join(', ')}{% if others %} and {others} more"
        "{% endif %}, and by at most {rest} elsewhere. Measure more steps near there, with "
        "at least 3 windows each",
        errs=message(_ERRS, share=_share(float(errors.max()))),
        places=[_place(float(place)) for place in x[far][:_MOST_NAMED]],
        others=max(0, int(far.sum()) - _MOST_NAMED),
        rest=Amount(float(errors[~far].max(initial=0.0)), "share"),
    )


def _too_noisy(at: Steps, error: float, scatter: float, sees: tuple[float, float]) -> Message:
    """Say why nothing is concluded, and what would help.

    ``scatter``: relative, of steps about the line; ``sees``: the error that would be seen, and the
    one that is to be.
    """
    errs = message(_ERRS, share=_share(error))
    if not math.isfinite(sees[0]):
        return message(
            "inconclusive: {errs} at {steps} steps, too few to distinguish it from chance. "
            "Measure at 10 or more",
            errs=errs,
            steps=len(at.x),
        )
    return message(
        "inconclusive: {errs} at {steps} steps, and an error of {seen} may go undetected. {remedy}",
        errs=errs,
        steps=len(at.x),
        seen=Amount(sees[0], "share"),
        remedy=_remedy(at, scatter, sees),
    )


def _remedy(at: Steps, scatter: float, sees: tuple[float, float]) -> Message:
    windows = float(np.mean(at.counts))
    within = None if at.scatter is None else float(np.median(at.scatter / np.sqrt(at.counts)))
    if within is not None and scatter > 2 * within:
        return message(
            "More windows would not help, because steps differ by more than their windows. "
            "Measure at smaller steps, or on an idle machine"
        )
    wanted = math.ceil(windows * (sees[0] / sees[1]) ** 2)
    if wanted > _MOST_WINDOWS:
        return message("Measure on an idle machine, or at smaller steps with more windows each")
    return message(
        "About {wanted} windows per step instead of {windows} would settle it, or smaller "
        "steps, or an idle machine",
        wanted=wanted,
        windows=_place(windows),
    )


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """One straight piece: from its first to its last x."""

    start: float
    end: float
    slope: float
    intercept: float


class Scaling(msgspec.Struct, frozen=True, kw_only=True):
    """How y scales with x."""

    verdict: Verdict
    #: The verdict with its ranges, and what would help where it is inconclusive; text where it was
    #: read from a file.
    sentence: Said
    #: Why it is inconclusive; None: it is not.
    reason: Reason | None = None
    #: Where a piece ends and the next begins, between two measured x; the place of saturation is
    #: not among them.
    breaks: tuple[float, ...]
    #: One piece where it is linear; a flat one last where it saturates; one of a single x where
    #: only the first or the last x is on no line.
    segments: tuple[Segment, ...]
    #: One straight line through all points, as CALIBRATE fits it.
    line: Line
    #: The x from which more gives nothing, with its 95 % interval; None: there is none. Where it is
    #: flat from the first x on, nothing bounds it from below.
    saturates_at: float | None = None
    saturates_low: float | None = None
    saturates_high: float | None = None
    #: Largest relative error of the single line at any x (of its mean).
    largest_error: float | None = None
    #: Least error of the single line, by a bend or by a jump in the middle, that would be seen.
    would_see: float | None = None
    #: Whether one curve without breaks describes it better than the pieces do.
    curved: bool = False
    #: That single line: the one that errs least in relative terms, unlike ``line``.
    straight: Segment | None = None


class _Fit(NamedTuple):
    pieces: Pieces
    model: Model
    #: Less is better.
    criterion: float


def scaling(x: ArrayLike, y: ArrayLike, steps: FloatArray | None = None) -> Scaling:
    """Tell whether y follows x along one line.

    Each step has one value, its mean without outliers. Models are one to three lines, the last of
    which may bend into a flat top, or jump onto one; the first and the last value may be on none
    where there are several for each. How errors grow with y is fitted, too. Chosen is the best by
    1.5 times Schwarz's criterion, corrected for few steps; then the simplest that is everywhere
    within 3 % of it. One line is not chosen where a curve is better and 2 % off somewhere. Linear
    is what one line describes to within 3 % at every step; or to within 10 %, where a jump by which
    it errs by as much would have been seen.

    Parameters
    ----------
    x, y : array, shape (n,)
        Points in any order, repeated ones as they are; x above 0, at most 1,000 different.
    steps : array, shape (n,), optional
        What each point was measured at, where x is itself measured (CPU time delivered): x and y
        are then averaged over each step, and steps whose x are not apart are one.

    Returns
    -------
    Scaling

    Raises
    ------
    ValuesError
        If there are no points or too many steps, some are not finite, or an x is not above 0.
    """
    x, y = checked.pair(x, y, ("x", "y"))
    whole = line(x, y)
    checked.positive(x, "x")
    labels = x if steps is None else np.asarray(steps, dtype=float)
    if len(np.unique(labels)) > MOST:
        raise ValuesError(f"x has more than {MOST} steps", "give steps, with fewer levels")
    at = gather(x, y, labels)
    if len(at.x) < FEWEST:
        return _unsaid(
            "few steps",
            at,
            whole,
            message(
                "inconclusive: {steps | counted('step')} cannot distinguish a line from a "
                "bend. Measure at {fewest} or more",
                steps=len(at.x),
                fewest=FEWEST,
            ),
        )
    if not at.level.any():
        return _unsaid("zero", at, whole, message("inconclusive: all values are zero"))
    fits = _fits(at)
    chosen, curved = _chosen(fits)
    straight = chosen if chosen.model.parameters == 2 else fits[0]
    errors = _errors(straight.pieces.values(straight.model), at.y)
    error = float(errors.max())
    if chosen.model.parameters > 2:
        but_one = None if at.several else _line_but_one(at)
        if but_one is None:
            return _told(chosen, straight, whole, error, curved=curved)
        errors = _errors(but_one.intercept + but_one.slope * at.x, at.y)
        largest = float(errors.max())
        why = _apart(at.x, errors, min(UNSEEN, 0.99 * largest))
        return _unsaid("steps apart", at, whole, why, largest, straight=but_one)
    scatter = _scatter(straight, at)
    sees = _would_see(scatter, len(at.x))
    if error <= MATTERS or max(sees, error) <= UNSEEN:
        # Where it errs by more than that, for noise, no less would be seen there.
        sees = max(sees, error)
        return _told(straight, straight, whole, error, sees)
    reason: Reason = "noise" if sees > UNSEEN else "steps apart"
    why = (
        _too_noisy(at, error, scatter, (sees, UNSEEN))
        if reason == "noise"
        else _apart(at.x, errors, UNSEEN)
    )
    return _unsaid(reason, at, whole, why, error, sees, _line(straight))


def _variances(at: Steps) -> list[FloatArray]:
    """Return what the variances of the steps' values may be proportional to, the usual one first.

    Where a step has several values, what they scatter there by goes in, with and without a part
    that all of them share: what a quota is off by.
    """
    largest = float(np.abs(at.level).max())
    least = (_CONSTANT[0] * largest) ** 2
    relative = at.level**2
    found = [relative + (constant * largest) ** 2 for constant in _CONSTANT]
    found += [(relative + least) ** (1 + power) for power in _POWERS]
    if at.several and at.scatter is not None:
        within = np.maximum(at.scatter, FINEST) ** 2 / at.counts
        shared = (0.0, float(np.median(within)))
        found += [relative * (within + both) + least * within.max() for both in shared]
    return found


def _fits(at: Steps) -> list[_Fit]:
    """Fit every kind of model under every kind of scatter."""
    n = len(at.x)
    found = []
    for number, variance in enumerate(_variances(at)):
        pieces = Pieces(at.x, at.y, 1 / variance)
        for model in pieces.best(alone_at_ends=number >= _ASSUMED):
            free = n - model.parameters - 1
            if free > 0:
                paid = model.parameters * n / free + (number > 0)
                criterion = pieces.unlikely(model) + _WEIGHT * math.log(n) * paid
                found.append(_Fit(pieces, model, criterion))
    return found


def _chosen(fits: list[_Fit]) -> tuple[_Fit, bool]:
    """Return what is said, and whether a curve without breaks would be better."""
    curves = [fit for fit in fits if fit.model.end == "curve"]
    pieces = [fit for fit in fits if fit.model.end != "curve"]
    chosen = _simplest(pieces)
    curve = min(curves, key=_criterion, default=None)
    bent = [f for f in pieces if f.model.end == "line" and f.model.in_ranges]
    if curve is None or not bent:
        return chosen, False
    straight = min((fit for fit in pieces if fit.model.parameters == 2), key=_criterion)
    apart = _errors(straight.pieces.values(straight.model), curve.pieces.values(curve.model)).max()
    if curve.criterion > straight.criterion or apart <= _BENT or curve.criterion > chosen.criterion:
        return chosen, False
    # Neither a ceiling nor a last step apart was shown where a curve does as well.
    return min(bent, key=_criterion), True


def _line_but_one(at: Steps) -> Segment | None:
    """Return the line through all steps but one near an end, where it is one.

    A single value is no evidence of a ceiling: it may be a neighbour's burst.
    """
    for apart in _NEAR_ENDS if len(at.x) > FEWEST else ():
        chosen, _ = _chosen(_fits(at.without(apart)))
        if chosen.model.parameters == 2:
            return _line(chosen)
    return None


def _criterion(fit: _Fit) -> float:
    return fit.criterion


def _simplest(fits: list[_Fit]) -> _Fit:
    """Return the simplest fit that is everywhere within what matters of the best one."""
    best = min(fits, key=_criterion)
    said = best.pieces.values(best.model)
    for fit in sorted(fits, key=lambda fit: (fit.model.parameters, fit.criterion)):
        if _errors(fit.pieces.values(fit.model), said).max() <= MATTERS:
            return fit
    return best


def _errors(said: FloatArray, true: FloatArray) -> FloatArray:
    """Relative errors; 0 where nothing is said, infinite where the truth is 0."""
    with np.errstate(all="ignore"):
        errors = np.abs(said / true - 1)
    return np.where(np.isnan(errors), 0.0, errors)


def _scatter(straight: _Fit, at: Steps) -> float:
    """Relative scatter of steps about the line; robust, since few may hold a bend."""
    n = len(at.x)
    with np.errstate(all="ignore"):
        off = (at.y - straight.pieces.values(straight.model)) / at.level
    off = off[np.isfinite(off)]
    return robust_sd(off, 0.0) * math.sqrt(n / (n - 2)) if len(off) else math.inf


def _would_see(scatter: float, n: int) -> float:
    """Least error of the line, by a power or by a jump in the middle, that is seen in 94 % or more.

    A line through a jump errs by at least half of it there, and leaves a sixteenth of its square.
    What matters less is never chosen.
    """
    if n <= 6:
        return math.inf
    price = _WEIGHT * math.log(n) * (5 * n / (n - 6) - 2 * n / (n - 3))
    return max(MATTERS, 2 * scatter * math.sqrt(math.expm1(price / n) * (n - 5) / n))


def _line(straight: _Fit) -> Segment:
    x = straight.pieces.x
    slope, intercept = straight.pieces.fit(0, len(x))
    return Segment(
        start=float(x[0]), end=float(x[-1]), slope=float(slope), intercept=float(intercept)
    )


def _told(
    fit: _Fit,
    straight: _Fit,
    whole: Line,
    error: float,
    sees: float | None = None,
    *,
    curved: bool = False,
) -> Scaling:
    pieces, model, _ = fit
    parts = _parts(pieces, model)
    places = [
        round(float(pieces.x[a - 1] + pieces.x[b]) / 2, 9) for (_, a), (b, _) in pairwise(parts)
    ]
    breaks = tuple(places[:-1] if model.end == "flat" else places)
    segments = _segments(pieces, model)
    at, low, high = _ceiling(pieces, model, segments)
    verdict: Verdict = "piecewise" if breaks else "linear" if at is None else "saturating"
    if not breaks and segments[0].slope < 0 and at != segments[0].start:
        verdict = "falling"
    return Scaling(
        verdict=verdict,
        sentence=_concluded(verdict, segments, error, (at, low, high), sees, curved=curved),
        breaks=breaks,
        segments=segments,
        line=whole,
        saturates_at=at,
        saturates_low=low,
        saturates_high=high,
        largest_error=error if math.isfinite(error) else None,
        would_see=None if sees is None or not math.isfinite(sees) else sees,
        curved=curved,
        straight=_line(straight),
    )


def _parts(pieces: Pieces, model: Model) -> tuple[tuple[int, int], ...]:
    """Return the parts of a model, with a first or last value on no line as one of its own."""
    first, last = model.parts[0][0], model.parts[-1][1]
    return (
        *([(0, first)] if first else []),
        *model.parts,
        *([(last, pieces.n)] if last < pieces.n else []),
    )


def _segments(pieces: Pieces, model: Model) -> tuple[Segment, ...]:
    found = []
    for i, j in _parts(pieces, model):
        start, end = float(pieces.x[i]), float(pieces.x[j - 1])
        if j - i == 1:
            slope, intercept = float(pieces.y[i]) / start, 0.0
        elif j == pieces.n and model.end == "flat":
            slope, intercept = 0.0, pieces.level(i)
        elif j == pieces.n and model.bend is not None:
            slope, intercept = (float(v[0]) for v in pieces.bent(i, np.array([model.bend]))[:2])
            found.append(Segment(start=start, end=model.bend, slope=slope, intercept=intercept))
            start, slope, intercept = model.bend, 0.0, intercept + slope * model.bend
        else:
            slope, intercept = (float(v) for v in pieces.fit(i, j))
        found.append(Segment(start=start, end=end, slope=slope, intercept=intercept))
    return tuple(found)


def _ceiling(
    pieces: Pieces, model: Model, segments: tuple[Segment, ...]
) -> tuple[float | None, float | None, float | None]:
    """Where more begins to give nothing, and the interval of that."""
    if model.end == "flat":
        low, high = float(pieces.x[model.parts[-2][1] - 1]), float(pieces.x[model.last])
        return round((low + high) / 2, 9), low, high
    if model.bend is not None:
        return (model.bend, *_bend_interval(pieces, model))
    only = segments[0]
    rise = abs(only.slope * (only.end - only.start))
    flat = rise <= MATTERS * abs(only.intercept + only.slope * only.end)
    if len(segments) == 1 and flat and only.end >= 1.5 * only.start:
        return only.start, None, only.start
    return None, None, None


def _bend_interval(pieces: Pieces, model: Model) -> tuple[float, float]:
    """Read the bend's interval from the profile of its likelihood."""
    i, at = model.last, model.bend or 0.0
    grid = np.linspace(pieces.x[i + 1], pieces.x[-2], _GRID)
    free = max(1, pieces.n - model.parameters)
    limit = model.rss * (1 + float(special.fdtri(1, free, 0.95)) / free)
    inside = np.append(grid[pieces.bent(i, grid)[2] <= limit], at)
    return float(inside.min()), float(inside.max())


def _unsaid(
    reason: Reason,
    at: Steps,
    whole: Line,
    why: Message,
    error: float = math.inf,
    sees: float = math.inf,
    straight: Segment | None = None,
) -> Scaling:
    start, end = float(at.x[0]), float(at.x[-1])
    return Scaling(
        verdict="inconclusive",
        reason=reason,
        sentence=why,
        breaks=(),
        segments=(_only(straight or whole, start, end),),
        line=whole,
        largest_error=error if math.isfinite(error) else None,
        would_see=sees if math.isfinite(sees) else None,
        straight=straight,
    )


def _only(line: Segment | Line, start: float, end: float) -> Segment:
    return Segment(start=start, end=end, slope=line.slope, intercept=line.intercept)


def withheld(found: Scaling, reason: Reason, why: Message) -> Scaling:
    """Return what is left of a verdict that cannot be given for a reason outside of the numbers.

    Parameters
    ----------
    found : Scaling
    reason : str
    why : Message
        What to say instead.
    """
    start, end = found.segments[0].start, found.segments[-1].end
    only = _only(found.straight or found.line, start, end)
    return msgspec.structs.replace(
        found,
        verdict="inconclusive",
        reason=reason,
        sentence=why,
        breaks=(),
        segments=(only,),
        saturates_at=None,
        saturates_low=None,
        saturates_high=None,
        curved=False,
    )
