"""What explains the variance? Type II decomposition over factors, on values and on ranks.

Source: Langsrud 2003; Olejnik and Algina 2003; Freedman and Lane 1983.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from tare.errors import ValuesError
from tare.statistics import checked
from tare.statistics.exact import ranks
from tare.statistics.permutation import permutation_p
from tare.statistics.statistic import FloatArray

PERMUTATIONS = 499
#: Above this p, fewer permutations do.
_LEVEL = 0.05
#: Beyond so many trials the F ratio of the ranks has its distribution, and nothing is shuffled.
_MOST_PERMUTED = 20_000
#: Factors of more levels than this are names, such as files, not levels of a design.
MOST_LEVELS = 500

#: Cells × coefficients × terms of the largest model, which takes about 1 s.
MOST_WORK = 1_000_000

IntArray = NDArray[np.int64]
#: A term of the model: the factors that it crosses.
Term = tuple[str, ...]


@dataclass(frozen=True)
class Effect:
    """One factor, or the interaction of two.

    Attributes
    ----------
    factors : tuple of str
        One name, or two for an interaction.
    share : float
        omega²: the share of the variance that the effect explains, less what chance explains;
        not below 0.
    rank_share : float
        The same of the ranks of the values, on which one extreme cell has no more weight than
        any other.
    degrees : int
        Degrees of freedom.
    f : float
        F ratio against the variance between the trials of a cell.
    p : float
        Of the F ratio, where the values are normal and equally spread.
    rank_p : float
        Of the ranks, by permutation: needs neither. Above .05 fewer permutations are made.
    """

    factors: Term
    share: float
    rank_share: float
    degrees: int
    f: float
    p: float
    rank_p: float


@dataclass(frozen=True)
class Decomposition:
    """Shares of the variance of trial values.

    Attributes
    ----------
    effects : tuple of Effect
        Factors first, then interactions of two, each in order of share.
    higher : float
        omega² of all interactions that no effect is of: of three and more factors, and of two
        where the model is not crossed.
    within : float
        Share of the variance between trials of the same cell.
    n : int
        Trials, the random unit.
    cells : int
        Combinations of levels that have trials.
    spread_ratio : float or None
        Largest SD of a cell over the smallest; far from 1, trust the ranks. None where a cell
        has none.
    left_out : tuple of str
        Factors that have one level, or go along with another, or have too many levels.
    crossed : bool
        Whether interactions are in the model; not where it would be too large.
    """

    effects: tuple[Effect, ...]
    higher: float
    within: float
    n: int
    cells: int
    spread_ratio: float | None
    left_out: tuple[str, ...]
    crossed: bool = True


def decompose(
    values: ArrayLike,
    factors: Mapping[str, Sequence[Hashable]],
    trial: Sequence[Hashable] | None = None,
    seed: int = 1,
) -> Decomposition | None:
    """Decompose the variance of values over crossed factors.

    Parameters
    ----------
    values : array, shape (n,)
        One a row of the table.
    factors : mapping of str to sequence, length n
        Level of each factor in each row; at least two levels count.
    trial : sequence, length n, optional
        Which execution each row comes from: rows of one trial and cell are averaged first, since
        the trial is the unit that was repeated. None: each row is a trial.
    seed : int
        Of the permutations.

    Returns
    -------
    Decomposition or None
        None where no factor has two levels, or no cell has two trials.

    Notes
    -----
    Sums of squares are of type II: each effect after all others that do not contain it, so that
    they depend neither on the order of the factors nor, for main effects, on unequal numbers of
    trials. F ratios are against the variance within cells. The permutations are those of
    Freedman and Lane: residuals of the model without the effect are shuffled.

    References
    ----------
    Langsrud 2003 (type II); Olejnik and Algina 2003 (omega²); Freedman and Lane 1983.
    """
    y = checked.series(values)
    for name, levels in {**factors, **({} if trial is None else {"trial": trial})}.items():
        if len(levels) != len(y):
            raise ValuesError(
                f"{name} has {len(levels)} levels, and there are {len(y)} values",
                "give one level per value",
            )
    coded, left_out = _code(factors)
    if not coded:
        return None
    y, coded = _by_trial(y, coded, trial)
    while _work(coded, _terms(coded, crossed=False)) > MOST_WORK:
        # The factor of most levels makes most cells and coefficients.
        largest = max(coded, key=lambda name: int(coded[name].max()))
        left_out.append(largest)
        del coded[largest]
    crossed = _work(coded, _terms(coded, crossed=True)) <= MOST_WORK
    cell, cells = _joint([*coded.values()])
    if len(y) <= cells:
        return None
    model = _Model(coded, _terms(coded, crossed=crossed), cell, cells)
    plain = model.fit(y)
    ranked = model.fit(ranks(y[None])[0])
    rank_p = model.permute(ranks(y[None])[0], seed)
    effects = [
        Effect(t, plain.omega[t], ranked.omega[t], model.degrees[t], plain.f[t], plain.p[t], p)
        for t, p in rank_p.items()
    ]
    return Decomposition(
        effects=tuple(sorted(effects, key=lambda e: (len(e.factors), -e.share))),
        higher=plain.higher,
        within=min(1.0, max(0.0, 1 - plain.higher - sum(e.share for e in effects))),
        n=len(y),
        cells=cells,
        spread_ratio=_spread_ratio(y, cell, cells),
        left_out=tuple(left_out),
        crossed=crossed,
    )


def _terms(coded: Mapping[str, IntArray], *, crossed: bool) -> list[Term]:
    """Return the factors, and the interactions of two."""
    terms: list[Term] = [(name,) for name in coded]
    return [*terms, *combinations(coded, 2)] if crossed else terms


def _work(coded: Mapping[str, IntArray], terms: Sequence[Term]) -> int:
    """Return what a model costs: cells × coefficients × terms."""
    cells = _joint([*coded.values()])[1]
    return cells * sum(_joint([coded[f] for f in t])[1] for t in terms) * len(terms)


def _joint(levels: Sequence[IntArray]) -> tuple[IntArray, int]:
    """Return the number of each row's combination of levels, and how many there are."""
    number = np.zeros(len(levels[0]), dtype=np.int64)
    count = 1
    for codes in levels:
        joint = number * (int(codes.max()) + 1) + codes
        number = np.unique(joint, return_inverse=True)[1].ravel().astype(np.int64)
        count = int(number.max()) + 1
    return number, count


def _code(factors: Mapping[str, Sequence[Hashable]]) -> tuple[dict[str, IntArray], list[str]]:
    """Turn levels into numbers; leave out what is no factor of its own."""
    coded: dict[str, IntArray] = {}
    left_out = []
    for name, levels in factors.items():
        codes = np.unique(np.asarray(levels, dtype=str), return_inverse=True)[1].astype(np.int64)
        count = int(codes.max()) + 1
        if 2 <= count <= MOST_LEVELS and not any(_alias(codes, c) for c in coded.values()):
            coded[name] = codes
        else:
            left_out.append(name)
    return coded, left_out


def _alias(one: IntArray, other: IntArray) -> bool:
    """Whether two factors say the same."""
    joint = len(np.unique(one * (int(other.max()) + 1) + other))
    return joint == len(np.unique(one)) == len(np.unique(other))


def _by_trial(
    y: FloatArray, coded: dict[str, IntArray], trial: Sequence[Hashable] | None
) -> tuple[FloatArray, dict[str, IntArray]]:
    if trial is None:
        return y, coded
    number = np.unique(np.asarray(trial, dtype=str), return_inverse=True)[1]
    rows = np.column_stack([*coded.values(), number])
    kept, unit = np.unique(rows, axis=0, return_inverse=True)
    unit = unit.ravel()
    means = np.bincount(unit, y) / np.bincount(unit)
    return means, {name: kept[:, i] for i, name in enumerate(coded)}


def _spread_ratio(y: FloatArray, cell: IntArray, cells: int) -> float | None:
    counts = np.bincount(cell, minlength=cells)
    means = np.bincount(cell, y, cells) / counts
    squares = np.bincount(cell, (y - means[cell]) ** 2, cells)
    several = counts > 1
    sd = np.sqrt(squares[several] / (counts[several] - 1))
    return float(sd.max() / sd.min()) if len(sd) and sd.min() > 0 else None


@dataclass(frozen=True)
class _Fit:
    omega: dict[Term, float]
    f: dict[Term, float]
    p: dict[Term, float]
    higher: float


class _Model:
    """Main effects and interactions of two, fitted to the means of the cells.

    The means with their numbers of trials carry all that the model can explain, so that a fit
    costs what the number of cells asks, whatever n.
    """

    def __init__(
        self, coded: Mapping[str, IntArray], terms: Sequence[Term], cell: IntArray, cells: int
    ) -> None:
        self.cell, self.cells = cell, cells
        self.weight = np.bincount(cell, minlength=cells).astype(float)
        first = np.unique(cell, return_index=True)[1]
        level = {name: codes[first] for name, codes in coded.items()}
        columns = {term: _columns([level[name] for name in term]) for term in terms}
        self.bases: dict[Term, tuple[FloatArray, FloatArray]] = {}
        self.degrees: dict[Term, int] = {}
        for term in terms:
            others = [columns[t] for t in terms if not set(term) <= set(t)]
            reduced = self._basis([np.ones((cells, 1)), *others])
            full = self._basis([np.ones((cells, 1)), *others, columns[term]])
            degrees = full.shape[1] - reduced.shape[1]
            if degrees:
                self.bases[term], self.degrees[term] = (reduced, full), degrees
        self.whole = self._basis([np.ones((cells, 1)), *columns.values()])

    def _basis(self, parts: Sequence[FloatArray]) -> FloatArray:
        """Orthonormal basis of what some terms span, each cell weighted by its trials."""
        x = np.hstack(parts) * np.sqrt(self.weight)[:, None]
        u, s, _ = np.linalg.svd(x, full_matrices=False)
        return np.asarray(u[:, s > 1e-9 * s[0]])

    def _weighted_means(self, y: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(self.cell, y, self.cells) / np.sqrt(self.weight))

    def _explained(self, basis: FloatArray, means: FloatArray) -> float:
        return float(np.sum((basis.T @ means) ** 2))

    def fit(self, y: FloatArray) -> _Fit:
        """Compute the sums of squares of every term, against those within cells."""
        y = y - y.mean()
        means = self._weighted_means(y)
        total = float(np.sum(y**2))
        rest, between = len(y) - self.cells, float(np.sum(means**2))
        error = max(total - between, 0.0) / rest
        if total == 0:
            none = dict.fromkeys(self.bases, 0.0)
            return _Fit(none, none, dict.fromkeys(self.bases, 1.0), 0.0)
        squares = between - self._explained(self.whole, means)
        degrees = self.cells - self.whole.shape[1]
        higher = max(0.0, (squares - degrees * error) / (total + error)) if degrees else 0.0
        omega, f, p = {}, {}, {}
        for term, (reduced, full) in self.bases.items():
            degrees = self.degrees[term]
            squares = self._explained(full, means) - self._explained(reduced, means)
            omega[term] = max(0.0, (squares - degrees * error) / (total + error))
            f[term] = squares / degrees / error if error > 0 else np.inf
            p[term] = float(special.fdtrc(degrees, rest, f[term]))
        return _Fit(omega, f, p, higher)

    def permute(self, y: FloatArray, seed: int) -> dict[Term, float]:
        """P-value of every term by Freedman and Lane's permutations."""
        if len(y) > _MOST_PERMUTED:
            return self.fit(y).p
        rng = np.random.default_rng(seed)
        y = y - y.mean()
        found = {}
        for term, (reduced, full) in self.bases.items():
            fitted = (reduced @ (reduced.T @ self._weighted_means(y))) / np.sqrt(self.weight)
            residual = y - fitted[self.cell]
            observed = self._ratio(reduced, full, residual)
            shuffled = partial(self._shuffled_ratio, reduced, full, residual, rng)
            found[term] = permutation_p(shuffled, observed - 1e-12, PERMUTATIONS, _LEVEL)
        return found

    def _shuffled_ratio(
        self, reduced: FloatArray, full: FloatArray, y: FloatArray, rng: np.random.Generator
    ) -> float:
        return self._ratio(reduced, full, rng.permutation(y))

    def _ratio(self, reduced: FloatArray, full: FloatArray, y: FloatArray) -> float:
        """Return what a term explains, as a share of what is left beside it."""
        means = self._weighted_means(y)
        squares = self._explained(full, means) - self._explained(reduced, means)
        left = float(np.sum(y**2) - np.sum(means**2))
        return squares / left if left > 0 else np.inf


def _columns(levels: Sequence[IntArray]) -> FloatArray:
    """Return indicator columns of the combinations of levels."""
    number, count = _joint(levels)
    return np.eye(count)[number]
