"""What runs and comparisons say of processes that outlived a command, and what to type."""

from __future__ import annotations

from collections.abc import Iterator

from tare.cli.again import again
from tare.experiment.findings.outlived import in_background, outlived
from tare.experiment.results import Results
from tare.results.message import Message, message


def notes(results: Results, command: str, shell: str | None) -> Iterator[Message]:
    """Yield how many trials left processes, and why, where the shell's syntax explains it.

    Parameters
    ----------
    results : Results
    command : str
        That was typed.
    shell : str or None
        Value of ``--shell``; None: it was not given.
    """
    yield from (one.sentence for one in outlived(results))
    if in_background(results):
        yield message(
            "sh takes &> as & and >: the command before it runs in the background; bash "
            "redirects both streams{% if command %}: {command}{% endif %}",
            command=again(command, {"--shell": "bash"}) if shell is not None else None,
        )
