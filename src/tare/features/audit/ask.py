"""Options of ``tare audit``, as the question that an audit answers."""

from __future__ import annotations

from collections.abc import Sequence

from tare.errors import InputError
from tare.features.audit.options import AuditOptions
from tare.features.audit.question import QUANTILES, Question, Sizing
from tare.readers import ColumnOptions
from tare.statistics.trust import PRECISION


def ask(given: AuditOptions) -> Question:
    """Return the question that options describe.

    Raises
    ------
    InputError
        If an option has no effect.
    """
    compared = _names(given.compare)
    if given.reference is not None and not compared:
        raise InputError(
            "--reference is a level of the column that is compared",
            "name that column with --compare",
        )
    grouped = (*_names(given.group), *(c for c in (given.cores, given.pinning) if c is not None))
    columns = ColumnOptions(
        given.value, _apart(grouped, compared), compared, given.order, given.trial, given.block,
        given.drop_missing,
    )  # fmt: skip
    return Question(
        columns=columns,
        format=given.format,
        precision=PRECISION if given.precision is None else given.precision,
        confidence=given.confidence,
        quantiles=tuple(given.quantile) or QUANTILES,
        seed=given.seed,
        steady=given.steady,
        finding=given.finding,
        unit_s=given.time_unit,
        sizing=Sizing(given.cores, given.pinning, given.reference, given.host_cores),
    )


def _names(given: Sequence[str]) -> tuple[str, ...]:
    """Columns by name, one or several in a word."""
    return tuple(dict.fromkeys(n.strip() for word in given for n in word.split(",") if n.strip()))


def _apart(names: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """Names that are not among others, each once."""
    return tuple(name for name in dict.fromkeys(names) if name not in others)
