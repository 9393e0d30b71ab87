"""What a calibration says, in words: the same on the page, on the screen and where it is cited."""

from __future__ import annotations

from typing import Literal, NamedTuple

from tare.calibration.ceiling import is_flat
from tare.calibration.document import Calibration, Interval, Point, Regime
from tare.calibration.numbers import cpus, rate, span
from tare.statistics.scaling import FEWEST
from tare.units import percent

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
    #: All of it, in CPUs.
    cpus: float
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


def verdict(found: Calibration) -> str:
    """Say in one sentence how the speed follows the CPU time."""
    asked = found.asked
    if asked.verdict == "inconclusive":
        return asked.sentence
    rising = [s for s in asked.segments if not is_flat(asked, s)]
    told = [span(s.start, s.end) for s in rising if s.start < s.end]
    alone = [cpus(s.start) for s in rising if s.start == s.end]
    at = asked.saturates_at
    top = "" if at is None else f"; from {cpus(at)} on, more gives nothing"
    off = f"; apart from it: {' and '.join(alone)}" if alone else ""
    most = fastest(found)
    reached = f"{rate(most.rate.value, found.work)} at {cpus(most.cpus)}"
    r2 = asked.line.r2
    if not told:
        return f"More CPU gives nothing, at any step ({reached})."
    if len(told) < 2:
        fit = "" if r2 is None or at is not None else f"R² = {r2:.4f}, "
        return f"From {told[0]} the speed follows one line{top}{off} ({fit}at most {reached})."
    fit = "" if r2 is None else f"{'although ' if r2 > _HIGH else ''}R² = {r2:.4f}, "
    if asked.curved:
        return (
            f"The speed bends gradually; one line is near it from {', another from '.join(told)} "
            f"({fit}at most {reached})."
        )
    places = " and ".join(f"{b:.3g}" for b in asked.breaks)
    return (
        f"The speed does not follow one line but {len(told)}: {', '.join(told)}, with breaks "
        f"near {places}{top}{off} ({fit}at most {reached})."
    )


def comparability(found: Calibration) -> str | None:
    """Say what that means for comparisons; None where nobody can say."""
    pairs = halves(found)
    # Too few steps for a line are no doubt about the steps themselves.
    undecided = found.asked.verdict == "inconclusive" and len(found.points) >= FEWEST
    if not pairs or undecided:
        return None
    up_to = "" if found.asked.saturates_at is None else "up to there, "
    sure = [pair for pair in pairs if pair.sure and abs(pair.error) > FAIR]
    worst = max(sure or pairs, key=lambda pair: abs(pair.error))
    if not sure:
        finer = "" if abs(worst.error) <= FAIR else "; these trials cannot tell it finer"
        count = f"{len(pairs)} pair{'s' * (len(pairs) != 1)}"
        told = f"half the CPU is half the speed to within {percent(abs(worst.error))}"
        return _begun(f"{up_to}{told} ({count} of steps{finer}).")
    half, whole = cpus(worst.cpus / 2), cpus(worst.cpus)
    does = percent((1 + worst.error) / 2)
    aside = "a line, but not through zero: " if _misses_zero(found, worst) else ""
    return _begun(
        f"{up_to}{aside}half the CPU is not half the speed: {half} gave {does} of the speed of "
        f"{whole}, so that values measured with different shares of this machine are not "
        "comparable as they stand."
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
    known = {round(p.cpus, 6): p for p in found.points if p.cpus <= top * (1 + 1e-9)}
    return tuple(
        Half(2 * half.rate.value / p.rate.value - 1, p.cpus, not _overlap(half.rate, p.rate))
        for cpus, p in known.items()
        if (half := known.get(round(cpus / 2, 6))) is not None and p.rate.value > 0
    )


def _overlap(half: Interval, whole: Interval) -> bool:
    """Tell whether twice the one may be the other: both intervals are at 95 %."""
    if half.low is None or half.high is None or whole.low is None or whole.high is None:
        return True
    return 2 * half.low <= whole.high and whole.low <= 2 * half.high


def parted(found: Calibration) -> str | None:
    """Say what the two fits tell apart: a quota that did not arrive, or a slower CPU."""
    asked = found.asked.line.r2
    delivered = None if found.delivered is None else found.delivered.line.r2
    if asked is None or delivered is None:
        return None
    return (
        f"R² is {asked:.4f} against the CPU time asked for, {delivered:.4f} against what arrived: "
        f"{_parting(found, asked, delivered)}."
    )


def _parting(found: Calibration, asked: float, delivered: float) -> str:
    top = ceiling(found)
    if abs(delivered - asked) < _ALIKE:
        return {
            "linear": "what was asked for arrived, and was as fast throughout",
            "inconclusive": "what was asked for arrived",
        }.get(
            found.asked.verdict,
            "it arrived as asked for, so that what bends the line is a slower CPU",
        )
    if delivered < asked:
        return "what arrived is no better guide, so that the speed of the CPU differs"
    if top is not None and top.expected:
        return "beyond the ceiling no more arrives, since no more can be used"
    if delivered >= _STRAIGHT:
        return "the CPU is as fast throughout, but what was asked for did not arrive"
    return "a part of what was asked for did not arrive"


def disturbed(lost_share: float) -> str:
    """Say that too much of the CPU time due went to others for a verdict."""
    return (
        f"Inconclusive: {percent(lost_share)} of the CPU time due did not arrive (mean over the "
        "steps), because others had the CPUs. Measure again when the machine is quiet."
    )


def slowest(found: Calibration) -> Regime | None:
    """Return the range that does least for each CPU; None where all do alike."""
    slower = [r for r in found.regimes if r.cause not in ("none", "saturated")]
    return min(slower, key=lambda r: r.relative_speed, default=None)


def ceiling(found: Calibration) -> Regime | None:
    """Return the range in which more CPU gives nothing; None where there is none."""
    return next((r for r in found.regimes if r.cause == "saturated"), None)


def subject(found: Calibration) -> str:
    """Name what was calibrated: "linpack (size 1000), 2 threads, on docker, period 5 ms"."""
    workers = f"{found.workers} worker{'s' * (found.workers != 1)}"
    levels = [f"{name} {value}" for name, value in found.levels.items()]
    period = f"period {1000 * found.period_s:g} ms"
    return ", ".join([found.workload, workers, f"on {found.platform}", *(levels or [period])])


def fastest(found: Calibration) -> Point:
    """Return the point at which most was done."""
    return max(found.points, key=lambda p: p.rate.value)


def because(slow: Regime) -> str:
    """Say why a range is slower."""
    if slow.expected is not None:
        return slow.evidence  # of a ceiling, which says its place itself
    return f"From {span(slow.start, slow.end)} {slow.evidence[:1].lower()}{slow.evidence[1:]}"


def _begun(sentence: str) -> str:
    return f"{sentence[:1].upper()}{sentence[1:]}"
