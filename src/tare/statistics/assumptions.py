"""What do conclusions from a series take for granted, and does it hold? All parts in one.

Source: CLOUDNET, section 5; each part its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tare.statistics import checked
from tare.statistics.changes import Changes, OrderAnalysis, analyse_order
from tare.statistics.downsample import course_of
from tare.statistics.independence import Independence, independence
from tare.statistics.modes import Modes, modes
from tare.statistics.normality import Normality, normality
from tare.statistics.outliers import Outliers, outliers
from tare.statistics.stationarity import Stationarity, stationarity
from tare.statistics.warmup import WarmUp, warm_up


@dataclass(frozen=True)
class Assumptions:
    """One series, looked at from all sides.

    Each part has its figures, ``ok`` (None where nothing can be said) and a ``sentence`` that says
    what it means for who reads the numbers.

    Attributes
    ----------
    n : int
        Trials.
    constant : bool
        Whether all values are equal.
    normality : Normality
    independence : Independence
    stationarity : Stationarity
    modes : Modes
    outliers : Outliers
    changes : Changes
    warmup : WarmUp
    """

    n: int
    constant: bool
    normality: Normality
    independence: Independence
    stationarity: Stationarity
    modes: Modes
    outliers: Outliers
    changes: Changes
    warmup: WarmUp


def assumptions(
    values: ArrayLike,
    precision: float = 0.01,
    analysis: OrderAnalysis | None = None,
) -> Assumptions:
    """Look at all assumptions of one series.

    Parameters
    ----------
    values : array, shape (n,)
        Finite trial values in order of time; memory maps included.
    precision : float
        Relative change that matters: the target.
    analysis : OrderAnalysis, optional
        What the order of the values shows at this precision, where it is known.

    Returns
    -------
    Assumptions

    Notes
    -----
    Each part errs in about 5 % of series where its assumption holds, so that among seven parts
    one often is not ``ok`` by chance. Verdicts come from :func:`tare.statistics.trust.trust`, whose
    errors are bounded together.

    References
    ----------
    CLOUDNET, section 5: samples should be tested for normality, independence, stationarity.
    """
    checked.parameters(precision=precision)
    values = checked.series(values, least=0)
    analysis = analysis or analyse_order(values, precision)
    course = course_of(values) if analysis.order is None else analysis.order.course
    return Assumptions(
        n=len(values),
        constant=len(values) > 0 and bool(np.min(values) == np.max(values)),
        normality=normality(values),
        independence=independence(values, analysis.left),
        stationarity=stationarity(course),
        modes=modes(values),
        outliers=outliers(values, precision),
        changes=analysis.changes,
        warmup=warm_up(values, precision, analysis.changes),
    )
