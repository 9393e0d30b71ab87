"""What runs and comparisons say of processes that outlived a command, and what to type."""

from __future__ import annotations

from collections.abc import Iterator

from tare.cli.again import FILES, again
from tare.experiment.findings.outlived import in_background, outlived
from tare.experiment.results import Results
from tare.results.message import Message, message
from tare.results.report import NextStep


def notes(results: Results) -> Iterator[Message]:
    """Yield how many trials left processes, and why, where the shell's syntax explains it."""
    yield from (one.sentence for one in outlived(results))
    if in_background(results):
        yield message(
            "sh takes &> as & and >: the command before it runs in the background. bash redirects "
            "both streams with it"
        )


def with_bash(results: Results, command: str, shell: str | None) -> NextStep | None:
    """Return the command with a shell that redirects with ``&>``; None: that is not the cause.

    Parameters
    ----------
    results : Results
    command : str
        That was typed.
    shell : str or None
        Value of ``--shell``; None: the line is an argument of the command itself.
    """
    if shell is None or not in_background(results):
        return None
    return NextStep(again(command, {"--shell": "bash"}, FILES), message("redirects with &>"))
