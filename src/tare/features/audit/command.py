"""``tare audit``: how far results can be trusted, whoever measured them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from tare.cli.call import Call
from tare.cli.delivery import Delivered
from tare.errors import InputError
from tare.features.audit.options import AuditOptions
from tare.options.command import command
from tare.results.report import Report


@command(AuditOptions, is_small=True)
def audit(given: AuditOptions, call: Call) -> Report | Delivered:
    """Check how far results of any tool can be trusted.

    tare audit hyperfine.json --compare command
    """
    from tare.cli.stages import Progress
    from tare.features.audit import report as reports
    from tare.features.audit.ask import ask
    from tare.features.audit.audit import audit as look
    from tare.render import files as written

    if given.kappa is not None:
        return _agree(given.kappa, given.files, given.confidence)
    if given.report is not None:
        written.format_of(given.report)
    if not given.files:
        raise InputError("no file was named", "name a file or a folder of results")
    question = ask(given)
    with Progress() as progress:
        found = look(given.files, question, progress)
        names = [str(file) for file in (given.json, given.report) if file is not None]
        typed = shlex.join(["tare", *sys.argv[1:]])
        made = reports.make(found, typed, names, page=given.report is not None, whole=bool(names))
    return Delivered(made, reports.every_row(found))


def _agree(files: tuple[Path, Path], others: Sequence[Path], confidence: float) -> Report:
    """Report how far two raters agree; the exit code is always 0."""
    from tare.features.audit import raters

    if others:
        raise InputError(
            "--kappa takes two files and no other", "name the two files of ratings after --kappa"
        )
    return raters.report(raters.agreements(*files, confidence))
