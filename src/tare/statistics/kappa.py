"""Do two raters agree by more than chance? Cohen's kappa of categories.

Source: Cohen 1960; Fleiss, Cohen and Everitt 1969; Landis and Koch 1977.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from tare.errors import ValuesError
from tare.results.message import Message, message

#: Lower ends of the grades of Landis and Koch.
_GRADES = (
    (0.80, "almost perfect"),
    (0.60, "substantial"),
    (0.40, "moderate"),
    (0.20, "fair"),
    (0.0, "slight"),
)


@dataclass(frozen=True)
class Kappa:
    """How far two raters agree.

    Attributes
    ----------
    kappa : float or None
        1 for full agreement, 0 for what chance alone would give; None where it is undefined.
    low, high : float or None
        Asymptotic interval, not beyond −1 and 1; None where the raters agree on everything, or
        by their margins could not do otherwise.
    confidence : float
        Nominal coverage, for many items.
    n : int
        Items that both have rated.
    observed, expected : float
        Share of items on which they agree, and on which they would by chance.
    categories : tuple of str
        All that either of them used.
    word : str or None
        Grade after Landis and Koch: poor, slight, fair, moderate, substantial, almost perfect.
    refusal : Message or None
        Why there is no kappa, or no interval.
    """

    kappa: float | None
    low: float | None
    high: float | None
    confidence: float
    n: int
    observed: float
    expected: float
    categories: tuple[str, ...]
    word: str | None = None
    refusal: Message | None = None


def cohens_kappa(
    first: Sequence[object], second: Sequence[object], confidence: float = 0.95
) -> Kappa:
    """Cohen's unweighted kappa of two raters who put the same items into categories.

    Parameters
    ----------
    first, second : sequence, length n
        The category of each item, items in the same order; compared as text.
    confidence : float
        Of the asymptotic interval (Fleiss, Cohen and Everitt 1969), which is too narrow for few
        items.

    Returns
    -------
    Kappa
        Without a figure where both raters put all items into one and the same category: chance
        alone then agrees on everything.

    Raises
    ------
    InputError
        If the raters have not rated the same number of items, or none.

    References
    ----------
    Cohen, Educational and Psychological Measurement 20(1), 1960; Landis and Koch,
    Biometrics 33(1), 1977.
    """
    table, categories = _crossed(first, second)
    n = int(table.sum())
    observed = float(np.trace(table)) / n
    expected = float(table.sum(axis=0) @ table.sum(axis=1)) / n**2
    if len(categories) == 1:
        refusal = message("both raters use one category only: they would agree by chance alone")
        return Kappa(None, None, None, confidence, n, observed, expected, categories, None, refusal)
    kappa = (observed - expected) / (1 - expected)
    word = _grade(kappa)
    half = float(special.ndtri(0.5 + confidence / 2)) * standard_error(table, kappa)
    if not half > 1e-9:
        refusal = message("no interval: the items do not vary in how the raters agree")
        return Kappa(
            kappa, None, None, confidence, n, observed, expected, categories, word, refusal
        )
    low, high = max(-1.0, kappa - half), min(1.0, kappa + half)
    return Kappa(kappa, low, high, confidence, n, observed, expected, categories, word)


def standard_error(table: np.ndarray, kappa: float) -> float:
    """Return the asymptotic standard error of a kappa: Fleiss, Cohen and Everitt's.

    Parameters
    ----------
    table : array, shape (k, k)
        Items by the category of the first rater and of the second; at least two categories used.
    kappa : float
        The table's.
    """
    n = table.sum()
    shares = table / n
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    expected = float(rows @ columns)
    agreed = np.diag(shares) @ (1 - (rows + columns) * (1 - kappa)) ** 2
    apart = shares * (columns[:, None] + rows) ** 2
    differed = (1 - kappa) ** 2 * (apart.sum() - np.trace(apart))
    variance = agreed + differed - (kappa - expected * (1 - kappa)) ** 2
    # Rounding leaves up to some 1e-16 of a variance of 0.
    return float(np.sqrt(variance / n) / (1 - expected)) if variance > 1e-14 else 0.0


def _crossed(
    first: Sequence[object], second: Sequence[object]
) -> tuple[np.ndarray, tuple[str, ...]]:
    if len(first) != len(second) or len(first) == 0:
        raise ValuesError(
            f"the raters have rated {len(first)} and {len(second)} items",
            "both must have rated the same items, one a line, in the same order",
        )
    both = np.array([str(x) for x in (*first, *second)])
    categories, codes = np.unique(both, return_inverse=True)
    k = len(categories)
    n = len(first)
    table = np.bincount(codes[:n] * k + codes[n:], minlength=k * k).reshape(k, k)
    return table, tuple(str(c) for c in categories)


def _grade(kappa: float) -> str:
    return next(
        (word for least, word in _GRADES if kappa > least), "poor" if kappa < 0 else "slight"
    )
