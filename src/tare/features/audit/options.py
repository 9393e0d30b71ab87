"""Options of ``tare audit``."""

from __future__ import annotations

from pathlib import Path

from tare.options import kinds, shared
from tare.options.option import (
    COLUMNS,
    HOW_MANY,
    WHAT,
    WHERE,
    Options,
    argument,
    flag,
    like,
    option,
)

_COLUMN = kinds.Kind("the name of a column", str, metavar="C")


def _formats() -> list[str]:
    from tare.registry import units_of

    return [*units_of("format")]


class AuditOptions(Options):
    """Options of ``tare audit``."""

    files: list[Path] = argument(kinds.PATH, "FILE…", "Results of any tool.", repeatable=True)
    quantile: list[float] = option(
        kinds.QUANTILE, "Quantile besides the median; repeatable.", group=WHAT, metavar="p99",
        repeatable=True,
    )  # fmt: skip
    steady: bool = like(shared.STEADY, group=WHAT, rare=False)
    kappa: tuple[Path, Path] | None = option(
        kinds.PATH, "Instead: agreement of two raters (Cohen).", group=WHAT,
        metavar="A.csv B.csv", words=2,
    )  # fmt: skip
    finding: str | None = option(
        kinds.choice(("overhead",)), "Only the overhead of platforms, by size.", group=WHAT,
    )  # fmt: skip
    format: str | None = option(
        kinds.WORD.offering(_formats), "Format.", group=COLUMNS, metavar="NAME",
        shown="recognised",
    )  # fmt: skip
    value: str | None = option(_COLUMN, "Column of the values.", group=COLUMNS)
    group: list[str] = option(
        _COLUMN, "Columns whose levels make the series.", group=COLUMNS, metavar="A,B",
        repeatable=True,
    )  # fmt: skip
    compare: list[str] = option(
        _COLUMN, "Column whose levels are compared.", group=COLUMNS, repeatable=True,
    )  # fmt: skip
    order: str | None = option(_COLUMN, "Column of the order.", group=COLUMNS)
    trial: str | None = option(
        _COLUMN, "Column that identifies trials; row: each row is one.", group=COLUMNS,
    )  # fmt: skip
    block: str | None = option(_COLUMN, "Column that pairs trials.", group=COLUMNS)
    drop_missing: bool = flag("Leave out cells without a value, such as NA.", group=COLUMNS)
    time_unit: float = option(
        kinds.DURATION,
        "Unit of time that medians are taken of, 5 min to 1 d (daily cycle: up to 4 h).",
        group=COLUMNS, default=3600.0, shown="1h",
    )  # fmt: skip
    cores: str | None = option(_COLUMN, "Column of the platforms' cores.", group=COLUMNS)
    pinning: str | None = option(
        _COLUMN, "Column of the levels unpinned and pinned.", group=COLUMNS,
    )  # fmt: skip
    reference: str | None = option(
        kinds.WORD, "Level of --compare that others are compared with.", group=COLUMNS,
        metavar="LEVEL",
    )  # fmt: skip
    precision: float | None = option(
        kinds.share(0, 1), "Precision of the median, and smallest change, that matter.",
        group=HOW_MANY, shown="5%",
    )  # fmt: skip
    confidence: float = option(
        kinds.share(0, 1, "95%"), "Confidence level of intervals.", group=HOW_MANY, default=0.95,
        shown="95%",
    )  # fmt: skip
    seed: int = like(
        shared.SEED, help="Seed of resampling.", group=HOW_MANY, rare=False, default=1,
    )  # fmt: skip
    host_cores: float | None = option(kinds.CPUS, "CPUs of the host.", group=WHERE)
    report: Path | None = shared.REPORT
    json: str | None = shared.JSON
