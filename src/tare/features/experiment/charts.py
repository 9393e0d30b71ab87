"""Options of charts: which of them go together."""

from __future__ import annotations

import shlex
from pathlib import Path

from tare import extras
from tare.errors import Typed, UsageError


def check_charts(charts: str | None, out: Path | None, report: Path | None) -> None:
    """Refuse options of charts and pages that do not go together.

    Raises
    ------
    UsageError
        If one of them would have no effect.
    TareError
        If charts need an extra that is not installed.
    """
    if charts is None:
        if out is not None:
            raise UsageError(
                "--out is the folder of charts",
                Typed("--charts svg   (or name a page with --report)"),
            )
        return
    if report is not None:
        raise UsageError(
            "--charts writes charts instead of a page",
            "one after the other: first with --charts, then with --report",
        )
    if out is not None and out.exists() and not out.is_dir():
        folder = out.with_name(f"{out.stem}-charts")
        raise UsageError(
            f"--out {out} is a file, and charts go into a folder",
            Typed(f"--charts {shlex.quote(str(charts))} --out {shlex.quote(str(folder))}"),
        )
    extras.need("vl_convert")
