"""What a calibration says: the same on the page, on the screen and where it is cited."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from tare.experiment.sweep.arrival import is_disturbed
from tare.experiment.sweep.axis import AXES, AxisName
from tare.experiment.sweep.ceiling import is_flat
from tare.experiment.sweep.document import Calibration, Fit, Interval, Point, Regime
from tare.experiment.sweep.numbers import place, rate, share, span, step
from tare.experiment.sweep.trials import PERIOD
from tare.results.message import Amount, Chosen, Levels, Message, Said, message
from tare.statistics.scaling import FEWEST

_DELIVERY_TEXTS = {
    "constant": "all requested CPU time was delivered, at a constant speed",
    "arrived": "all requested CPU time was delivered",
    "slower": "all requested CPU time was delivered, hence the CPU is slower where the line bends",
    "differs": "delivery does not explain the speed, hence the speed of the CPU differs",
    "ceiling": "above the ceiling no more is delivered, because no more can be used",
    "short": "the CPU has a constant speed, but not all requested CPU time was delivered",
    "partly": "some of the requested CPU time was not delivered",
}

#: Half the CPU is called half the speed where it is within this.
FAIR = 0.03
#: CALIBRATE calls this nearly ideal, and it can be several lines all the same.
_HIGH = 0.95
#: Against what arrived, a CPU that is as fast throughout comes to that.
_STRAIGHT = 0.99
#: R² that differ by less are told as one.
_ALIKE = 0.005


class Half(NamedTuple):
    """A step beside the one of half its CPU."""

    #: Twice the speed at half the CPU, over the speed at all of it, less 1.
    error: float
    #: All of it, as a place on the axis.
    place: float
    #: Whether the two differ by more than chance.
    sure: bool


def answer(found: Calibration) -> Literal["yes", "no", "inconclusive"]:
    """Answer whether the machine scales linearly with the CPU time that it is given.

    A ceiling where there is no more to be used is as linear as a machine can be.
    """
    if found.asked.verdict == "inconclusive":
        return "inconclusive"
    if found.asked.verdict == "linear":
        return "yes"
    top = ceiling(found)
    whole = found.asked.verdict == "saturating" and top is not None and top.expected is not False
    return "yes" if whole else "no"


def verdict(found: Calibration) -> Said:
    """Say in one sentence how the speed follows the CPU time."""
    asked = found.asked
    if asked.verdict == "inconclusive":
        return asked.sentence
    rising = [s for s in asked.segments if not is_flat(asked, s)]
    axis, resource = found.axis, AXES[found.axis].resource
    ranges = [span(s.start, s.end, axis) for s in rising if s.start < s.end]
    best = fastest(found)
    most = message(
        "at most {rate} at {place}",
        rate=rate(best.rate.value, found.work),
        place=place(found.place(best), axis),
    )
    if not ranges:
        return message(
            "saturating: more {resource} gives no more speed at any step ({most})",
            most=most,
            resource=resource,
        )
    if asked.verdict == "falling":
        return message(
            "falling: more {resource} gives less speed from {span} ({most})",
            most=most,
            resource=resource,
            span=ranges[0],
        )
    apart = [place(s.start, axis) for s in rising if s.start == s.end]
    top = None if asked.saturates_at is None else place(asked.saturates_at, axis)
    r2 = asked.line.r2
    if len(ranges) < 2:
        return message(
            "{% if ceiling %}saturating{% elif apart %}piecewise{% else %}linear{% endif %}: "
            "one line from {span}{% if apart %}, without {apart | listing}{% endif %}"
            "{% if ceiling %}; from {ceiling} on, more {resource} gives no more speed"
            "{% endif %} ({% if r2 is not none %}R² = {r2 | r_squared}, {% endif %}{most})",
            resource=resource,
            span=ranges[0],
            apart=apart,
            ceiling=top,
            r2=r2 if top is None else None,
            most=most,
        )
    high = r2 is not None and r2 > _HIGH
    if asked.curved:
        return message(
            "piecewise: the speed bends gradually, near one line each from "
            "{ranges | listing} ({% if r2 is not none %}{% if high %}although {% endif %}R² "
            "= {r2 | r_squared}, {% endif %}{most})",
            ranges=ranges,
            r2=r2,
            high=high,
            most=most,
        )
    return message(
        "piecewise: {ranges | length} lines, {ranges | join(', ')}; breaks at "
        "{breaks | listing}{% if apart %}; without {apart | listing}{% endif %}"
        "{% if ceiling %}; from {ceiling} on, more {resource} gives no more speed{% endif %} "
        "({% if r2 is not none %}{% if high %}although {% endif %}R² = {r2 | r_squared}, "
        "{% endif %}{most})",
        resource=resource,
        ranges=ranges,
        breaks=[step(at) for at in asked.breaks],
        apart=apart,
        ceiling=top,
        r2=r2,
        high=high,
        most=most,
    )


def comparability(found: Calibration) -> Message | None:
    """Say what that means for comparisons; None where it is not known."""
    pairs = halves(found)
    # Too few steps for a line are no doubt about the steps themselves.
    inconclusive = found.asked.verdict == "inconclusive" and len(found.points) >= FEWEST
    if not pairs or inconclusive or is_disturbed(found.lost_share):
        return None
    at = found.asked.saturates_at
    axis, resource = found.axis, AXES[found.axis].resource
    top = None if at is None else place(at, axis)
    sure = [pair for pair in pairs if pair.sure and abs(pair.error) > FAIR]
    worst = max(sure or pairs, key=lambda pair: abs(pair.error))
    if not sure:
        return message(
            "{% if ceiling %}up to {ceiling}, {% endif %}half of the {resource} is half of "
            "the speed within {error} ({pairs | counted('pair')} of steps{% if wide %}, too "
            "noisy for a closer limit{% endif %})",
            resource=resource,
            ceiling=top,
            error=share(abs(worst.error)),
            pairs=len(pairs),
            wide=abs(worst.error) > FAIR,
        )
    return message(
        "{% if ceiling %}up to {ceiling}, {% endif %}half of the {resource} is not half of "
        "the speed: {half} gave {speed} of the speed of {whole}{% if offset %}. The line "
        "misses zero{% endif %}. Values at different shares of this machine are not "
        "comparable",
        resource=resource,
        ceiling=top,
        half=place(worst.place / 2, axis),
        speed=share((1 + worst.error) / 2),
        whole=place(worst.place, axis),
        offset=_misses_zero(found, worst),
    )


def _misses_zero(found: Calibration, worst: Half) -> bool:
    """Tell whether one line all the same has half the CPU off: by where it begins."""
    line = found.asked.line
    if found.asked.verdict != "linear" or line.intercept_low is None or line.intercept_high is None:
        return False
    # Of a line a + bx, twice the speed at half of x is a more than that at x.
    return line.intercept_low > 0 < worst.error or line.intercept_high < 0 > worst.error


def halves(found: Calibration) -> tuple[Half, ...]:
    """Compare each step with the one of half its CPU, up to where more gives nothing."""
    top = found.asked.saturates_at or float("inf")
    known = {
        round(found.place(p), 6): p for p in found.points if found.place(p) <= top * (1 + 1e-9)
    }
    return tuple(
        Half(2 * half.rate.value / p.rate.value - 1, at, not _overlap(half.rate, p.rate))
        for at, p in known.items()
        if (half := known.get(round(at / 2, 6))) is not None and p.rate.value > 0
    )


def _overlap(half: Interval, whole: Interval) -> bool:
    """Tell whether twice the one may be the other: both intervals are at 95 %."""
    if half.low is None or half.high is None or whole.low is None or whole.high is None:
        return True
    return 2 * half.low <= whole.high and whole.low <= 2 * half.high


def parted(found: Calibration) -> Message | None:
    """Say what the two fits tell apart: a quota that did not arrive, or a slower CPU."""
    asked = found.asked.line.r2
    delivered = None if found.delivered is None else found.delivered.line.r2
    if asked is None or delivered is None:
        return None
    return message(
        "R² = {asked | r_squared} for CPU time requested, {delivered | r_squared} for CPU "
        "time delivered: {meaning}",
        asked=asked,
        delivered=delivered,
        meaning=message(_DELIVERY_TEXTS[_parting(found, asked, delivered)]),
    )


def _parting(found: Calibration, asked: float, delivered: float) -> str:
    top = ceiling(found)
    if abs(delivered - asked) < _ALIKE:
        return {"linear": "constant", "inconclusive": "arrived", "falling": "arrived"}.get(
            found.asked.verdict, "slower"
        )
    if delivered < asked:
        return "differs"
    if top is not None and top.expected:
        return "ceiling"
    return "short" if delivered >= _STRAIGHT else "partly"


def summary(found: Calibration, *, complete: bool = False) -> Iterator[Said]:
    """Say what half of the CPU is worth, how the speed follows it, and why a range is slower.

    ``complete``: where no range is slower, why there is a ceiling, or whether all CPU time arrived.
    """
    if (fair := comparability(found)) is not None:
        yield fair
    yield verdict(found)
    slow = slowest(found) or (ceiling(found) if complete else None)
    if slow is not None:
        yield because(slow, found.axis)
    elif complete and (said := parted(found)) is not None:
        yield said


def disturbed(lost_share: float) -> Message:
    """Say that others had too much of the CPU time due for a verdict."""
    return message(
        "inconclusive: others used {lost} of the CPU time due (mean over the steps). Measure "
        "again when the machine is quiet",
        lost=share(lost_share),
    )


def slowest(found: Calibration) -> Regime | None:
    """Return the range that does least for each CPU; None where all do alike."""
    slower = [r for r in found.regimes if r.cause not in ("none", "saturated")]
    return min(slower, key=lambda r: r.relative_speed, default=None)


def ceiling(found: Calibration) -> Regime | None:
    """Return the range in which more CPU gives nothing; None where there is none."""
    return next((r for r in found.regimes if r.cause == "saturated"), None)


def subject(found: Calibration) -> Message:
    """Name what was calibrated: "linpack (size 1000), 2 workers, on docker, quota period 5 ms"."""
    levels = {name: value for name, value in found.levels.items() if name != PERIOD}
    return message(
        "{workload}, {workers | counted('worker')}, on {platform}{% if levels %}, {levels}"
        "{% endif %}, quota period {period}",
        workload=found.workload,
        workers=found.workers,
        platform=found.platform,
        levels=Levels(levels) if levels else None,
        period=Chosen(found.period_s, "s"),
    )


def fastest(found: Calibration) -> Point:
    """Return the point at which most was done."""
    return max(found.points, key=lambda p: p.rate.value)


def because(slow: Regime, axis: AxisName) -> Said:
    """Say why a range is slower."""
    if slow.expected is not None:
        return slow.evidence  # of a ceiling, which says its place itself
    return message(
        "{span}: {evidence}", span=span(slow.start, slow.end, axis), evidence=slow.evidence
    )


def of_fit(fit: Fit, unit: str) -> Said:
    """Answer whether the speed follows the CPU, or the memory, along one line.

    Parameters
    ----------
    fit : Fit
    unit : str
        Of the speed.
    """
    found, along = fit.asked, AXES[fit.axis]
    if fit.published or found.verdict == "inconclusive":
        return found.sentence
    if found.verdict == "falling":
        return message(
            "more {resource} gives less speed ({slope} per {per}): {said}",
            said=found.sentence,
            resource=along.resource,
            slope=Amount(found.segments[0].slope * along.places_per, unit),
            per=along.per,
        )
    return message(
        "the speed {% if linear %}follows{% else %}does not follow{% endif %} the {resource}"
        "{% if resource == 'memory' %} (in MB){% endif %} along one line{% if linear %}: {said}"
        "{% else %}. {said | sentence}{% endif %}",
        linear=found.verdict == "linear",
        said=found.sentence,
        resource=along.resource,
    )
