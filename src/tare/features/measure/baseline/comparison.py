"""A new session vs. a baseline, as a difference with its verdict."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tare.errors import StoreError
from tare.experiment.findings.cells import Basis
from tare.experiment.findings.judgement import Difference, Remedy
from tare.experiment.metrics import ranked, tick
from tare.features.measure.baseline.stored import Baseline
from tare.results import phrases
from tare.results.message import Amount, Message, message
from tare.statistics.censored import interval_above
from tare.statistics.intervals import Interval, quantile_interval
from tare.statistics.sessions import FEWEST_SESSIONS, compare_with_sessions
from tare.statistics.statistic import FloatArray

#: Trials below which a median has no interval.
FEWEST_TRIALS = 6


def compare(stored: Baseline, new: Baseline, margin: float, seconds: float) -> Difference:
    """Compare the one session of a baseline-to-be with a stored baseline.

    Parameters
    ----------
    stored, new : Baseline
        ``new`` has one session.
    margin : float
        Relative difference of practical importance.
    seconds : float
        What one more trial would take.

    Raises
    ------
    StoreError
        If no source of the metric is common to all sessions.
    """
    session = new.sessions[-1]
    common = set(session.values).intersection(*(set(s.values) for s in stored.sessions))
    source = next(iter(ranked(stored.metric, common)), None)
    if source is None:
        raise StoreError(
            f"no source of {stored.metric} is common to the baseline and this session",
            "measure both versions here, interleaved, with tare compare",
        )
    series = [s.series(source) for s in stored.sessions]
    sessions, limits = [values for values, _ in series], [above for _, above in series]
    values, above = session.series(source)
    before, before_above = np.concatenate(sessions), np.concatenate(limits)
    c = compare_with_sessions(sessions, values, margin, limits=(limits, above))
    of = tick(stored.metric, source)
    return Difference(
        first="the baseline",
        second=new.workload,
        factor="workload",
        levels={"workload": new.workload, **new.settings},
        comparison=c,
        looks=(),
        spread=None,
        first_values=before,
        second_values=values,
        trials=(),
        seconds=seconds,
        basis=Basis(stored.metric, source),
        margin=margin,
        method="Student's prediction interval of one more session's log-median",
        counted=message(
            "{sessions | counted('session')} of the baseline, {trials | counted('new trial')}",
            sessions=len(sessions),
            trials=len(values),
        ),
        level_values=(before, values),
        above=(before_above, above),
        medians=(
            interval_above(_median, before, before_above, of),
            interval_above(_median, values, above, of),
        ),
        paired=False,
        remedy=Remedy(_remedy(sessions, values, known=c.low is not None)),
    )


def _median(values: FloatArray, tick: float | None) -> Interval:
    return quantile_interval(values, tick=tick)


def _remedy(sessions: Sequence[FloatArray], values: FloatArray, *, known: bool) -> Message:
    if not np.isfinite([np.median(s) for s in (*sessions, values)]).all():
        return message(phrases.DIFFERENCE_LONGER_LIMIT)
    interleave = message("measure both versions interleaved: tare compare './old' './new'")
    if len(sessions) < FEWEST_SESSIONS:
        return message(
            "the baseline has {sessions | counted('session')}, and how much sessions differ "
            "is known from {least} on; {interleave}",
            sessions=len(sessions),
            least=FEWEST_SESSIONS,
            interleave=interleave,
        )
    if not known:
        return message(
            "{trials | counted('trial')} are too few to know a median; add -n {least}",
            trials=len(values),
            least=FEWEST_TRIALS,
        )
    sd = float(np.std(np.log([np.median(s) for s in sessions]), ddof=1))
    return message(
        "sessions of the baseline differ by {sd} (SD), so {interleave}",
        sd=Amount(sd, "share"),
        interleave=interleave,
    )
