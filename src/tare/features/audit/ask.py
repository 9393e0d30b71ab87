"""Options of ``tare audit``, as the question that an audit answers."""

from __future__ import annotations

from collections.abc import Sequence

from tare import units
from tare.cli import quantities
from tare.errors import InputError
from tare.features.audit.question import QUANTILES, Question, Sizing
from tare.readers import ColumnOptions
from tare.statistics.trust import PRECISION


def ask(
    *,
    finding: str | None,
    format: str | None,
    value: str | None,
    group: Sequence[str] | None,
    compare: Sequence[str] | None,
    order: str | None,
    trial: str | None,
    block: str | None,
    drop_missing: bool,
    cores: str | None,
    pinning: str | None,
    reference: str | None,
    host_cores: float | None,
    precision: str | None,
    confidence: str,
    quantile: Sequence[str] | None,
    time_unit: str,
    seed: int,
    steady: bool,
) -> Question:
    """Return the question that options describe, as they are typed.

    Raises
    ------
    InputError
        If an option is wrong, or has no effect.
    UsageError
        If a quantity cannot be read.
    """
    level = quantities.share("--confidence", confidence, example="95%")
    compared = _names(compare)
    if reference is not None and not compared:
        raise InputError(
            "--reference is a level of the column that is compared", "--compare names that column"
        )
    grouped = (*_names(group), *(c for c in (cores, pinning) if c is not None))
    columns = ColumnOptions(
        value, _apart(grouped, compared), compared, order, trial, block, drop_missing
    )
    return Question(
        columns=columns,
        format=format,
        precision=PRECISION if precision is None else quantities.share("--precision", precision),
        confidence=level,
        quantiles=tuple(quantities.read(units.quantile, "--quantile", q) for q in quantile)
        if quantile
        else QUANTILES,
        seed=seed,
        steady=steady,
        finding=finding,
        unit_s=quantities.wait("--time-unit", time_unit),
        sizing=Sizing(cores, pinning, reference, host_cores),
    )


def _names(given: Sequence[str] | None) -> tuple[str, ...]:
    """Columns by name, one or several in a word."""
    return tuple(
        dict.fromkeys(n.strip() for word in given or () for n in word.split(",") if n.strip())
    )


def _apart(names: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """Names that are not among others, each once."""
    return tuple(name for name in dict.fromkeys(names) if name not in others)
