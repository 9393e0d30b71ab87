"""What charts of sweeps show, for people who cannot see them."""

from __future__ import annotations

from collections.abc import Iterator

from tare.experiment.sweep.axis import AXES
from tare.experiment.sweep.numbers import place, share, step
from tare.features.calibration.charts.key import tell_line, tell_piece
from tare.features.calibration.charts.one import Course, residual, rows
from tare.features.calibration.charts.rates import thinned
from tare.features.calibration.charts.sweep import Step, Sweep
from tare.results.message import Amount, Chosen, Message, message
from tare.statistics.scaling import MATTERS


def tell_sweep(sweep: Sweep) -> tuple[Message, ...]:
    """Describe :func:`sweep_chart`."""
    means = [_means(sweep)] if sweep.steps else []
    return (*means, *_lines(sweep), *_residuals(sweep), *_machine(sweep), *_thinned(sweep))


def tell_point(at: Step, sweep: Sweep) -> Message:
    """Return the rate at a step."""
    rate = Amount(at.y, sweep.unit, at.low, at.high)
    return message("{rate} at {place}", rate=rate, place=place(at.x, sweep.axis))


def _means(sweep: Sweep) -> Message:
    n = [at.n for at in sweep.steps]
    first, last = sweep.steps[0], sweep.steps[-1]
    return message(
        "means of {trials}{% if singles %} (faint dots: each of them){% endif %} at "
        "{steps | counted('step')}: {first}{% if last %} to {last}{% endif %}",
        trials=message(
            "{% if least == most %}{most | counted('trial')}{% else %}{least} to {most} "
            "trials{% endif %}",
            least=min(n),
            most=max(n),
        ),
        singles=max(n) > 1,
        steps=len(sweep.steps),
        first=tell_point(first, sweep),
        last=tell_point(last, sweep) if last is not first else None,
    )


def _lines(sweep: Sweep) -> Iterator[Message]:
    """Describe the one line through everything, the pieces, and where one ends."""
    scaling = sweep.scaling
    yield tell_line(sweep)
    if len(sweep.pieces) < 2:
        return
    pieces = [tell_piece(piece, sweep) for piece in sweep.pieces]
    yield message("pieces: {pieces | join('; ')}", pieces=pieces)
    if scaling.breaks:
        places = [step(at) for at in scaling.breaks]
        yield message("breaks at {places | listing} (dashed rules)", places=places)
    if scaling.saturates_at is not None:
        unit = AXES[sweep.axis].unit
        top = Amount(scaling.saturates_at, unit, scaling.saturates_low, scaling.saturates_high)
        yield message("saturates at {place} (rule)", place=top)


def _residuals(sweep: Sweep) -> Iterator[Message]:
    off = residual(sweep)
    if not off:
        return
    worst = max(off, key=lambda at: abs(off[at]))
    yield message(
        "below, the error of one line at each mean: at most {most}, at {place}; "
        "{% if beyond %}{beyond} of {steps} beyond{% else %}all within{% endif %} the band "
        "of ±{band}",
        most=share(abs(off[worst]) / 100),
        place=step(worst.x),
        beyond=sum(abs(value) > 100 * MATTERS for value in off.values()),
        steps=len(off),
        band=Chosen(MATTERS),
    )


def _machine(sweep: Sweep) -> Iterator[Message]:
    told = [
        message(
            "{name}{% if by %} by {by}{% endif %} {values}",
            name=f"{row.title[:1].lower()}{row.title[1:]}",
            by=course.name if len(row.courses) > 1 or row.unit == "GHz" else None,
            values=_range(course, row.unit),
        )
        for row in rows(sweep)
        for course in row.courses
    ]
    if told:
        yield message("during the sweep: {rows | join('; ')}", rows=told)


def _range(course: Course, unit: str) -> Amount | Message:
    values = [float(f"{value:.3g}") for _, value in course.values]
    least, most = Amount(min(values), unit), Amount(max(values), unit)
    if least == most:
        return most
    return message("{least} to {most}", least=least, most=most)


def _thinned(sweep: Sweep) -> Iterator[Message]:
    every = thinned(sweep)
    if every > 1:
        yield message("one in {every} of the single trials is drawn", every=every)
