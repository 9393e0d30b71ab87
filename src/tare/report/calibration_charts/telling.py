"""The pictures of sweeps in words: the numbers that matter, for whoever cannot see them."""

from __future__ import annotations

from tare.render.words import listing
from tare.report.calibration_charts.key import r_squared
from tare.report.calibration_charts.machine import Course, rows
from tare.report.calibration_charts.rates import thinned
from tare.report.calibration_charts.residuals import residual
from tare.report.calibration_charts.sweep import Piece, Step, Sweep
from tare.statistics.scaling import MATTERS
from tare.units import counted, percent, significant


def tell_sweep(sweep: Sweep) -> str:
    """Tell what :func:`sweep_chart` shows."""
    parts = [
        f"{_steps(sweep)} {tell_line(sweep)}",
        tell_pieces(sweep),
        _residuals(sweep),
        _machine(sweep),
        _left_out(sweep),
    ]
    return " ".join(part for part in parts if part)


def tell_delivered(sweep: Sweep) -> str:
    """Tell what :func:`delivered_chart` shows."""
    shares = [
        (step.point.delivered.value / step.point.cpus, step.point.cpus)
        for step in sweep.steps
        if step.point is not None and step.point.delivered is not None
    ]
    (least, where), (most, _) = min(shares), max(shares)
    arrived = f"{percent(least)} to {percent(most)}" if least < 0.995 * most else percent(most)
    text = (
        f"Left the same rates over the CPU time that was delivered: {tell_line(sweep)} "
        f"{tell_pieces(sweep)} Right how much of what was asked for was delivered: {arrived}"
    )
    return f"{text}, the least at {where:g}." if least < 0.97 else f"{text}."


def _steps(sweep: Sweep) -> str:
    n = [step.n for step in sweep.steps]
    trials = counted(n[0], "trial") if min(n) == max(n) else f"{min(n)} to {max(n)} trials"
    single = " (faint dots: each of them)" if max(n) > 1 else ""
    first, last = sweep.steps[0], sweep.steps[-1]
    text = (
        f"Means of {trials}{single} at {counted(len(sweep.steps), 'step')}: {_value(first, sweep)}"
    )
    return f"{text} to {_value(last, sweep)}." if last is not first else f"{text}."


def _value(step: Step, sweep: Sweep) -> str:
    interval = ""
    if step.low is not None and step.high is not None:
        interval = f" [{significant(step.low)}, {significant(step.high)}]"
    return f"{significant(step.y)}{interval} {sweep.unit} at {step.x:.3g}"


def tell_line(sweep: Sweep) -> str:
    """Tell the one line through everything."""
    line = sweep.line
    r2 = sweep.scaling.line.r2
    fit = "" if r2 is None else f", R² {r_squared(r2)}"
    text = (
        f"The one line through all (dashed) has {significant(line.slope)} {sweep.unit} a CPU{fit}"
    )
    return f"{text}."


def tell_pieces(sweep: Sweep) -> str:
    """Tell the pieces and where one ends; empty where there is one only."""
    if len(sweep.pieces) < 2:
        return ""
    told = listing(_piece(piece, sweep) for piece in sweep.pieces)
    scaling = sweep.scaling
    text = f"The pieces are {told}."
    if scaling.breaks:
        text += f" It breaks at {listing(f'{b:.3g}' for b in scaling.breaks)} (dashed rules)."
    if scaling.saturates_at is not None:
        ends = ""
        if scaling.saturates_low is not None and scaling.saturates_high is not None:
            ends = f" [{scaling.saturates_low:.3g}, {scaling.saturates_high:.3g}]"
        text += f" It saturates at {scaling.saturates_at:.3g}{ends} (rule)."
    return text


def _piece(piece: Piece, sweep: Sweep) -> str:
    where = f"{piece.letter} from {piece.start:.3g} to {piece.end:.3g}"
    if piece.flat:
        return f"{where}, level"
    return f"{where} with {significant(piece.slope)} {sweep.unit} a CPU"


def _residuals(sweep: Sweep) -> str:
    off = residual(sweep)
    if not off:
        return ""
    worst = max(off, key=lambda step: abs(off[step]))
    beyond = sum(abs(value) > 100 * MATTERS for value in off.values())
    value = f"{off[worst]:+.1f} %".replace("-", "−")
    text = (
        "Beneath, how far each mean is from the line that errs least in relative terms: at most "
        f"{value}, at {worst.x:.3g}"
    )
    band = f"±{100 * MATTERS:g} %"
    if not beyond:
        return f"{text}; all within the band of {band}."
    return f"{text}; {beyond} of {len(off)} beyond the band of {band}."


def _machine(sweep: Sweep) -> str:
    told = [
        f"{row.title[:1].lower()}{row.title[1:]}"
        + (f" by {course.name}" if row.title == "Clock" else "")
        + f" {_range(course, row.unit)}"
        for row in rows(sweep)
        for course in row.courses
    ]
    return f"Meanwhile: {'; '.join(told)}." if told else ""


def _range(course: Course, unit: str) -> str:
    values = [value for _, value in course.values]
    least, most = significant(min(values)), significant(max(values))
    return f"{least} {unit}" if least == most else f"{least} to {most} {unit}"


def _left_out(sweep: Sweep) -> str:
    every = thinned(sweep)
    return "" if every == 1 else f"Of the single trials one in {every} is drawn."
