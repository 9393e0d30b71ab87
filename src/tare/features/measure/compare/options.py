"""Options of ``tare compare``."""

from __future__ import annotations

from pathlib import Path

from tare.options import kinds, measuring, shared
from tare.options.measuring import SessionOptions
from tare.options.option import WHAT, argument, flag, option


class CompareOptions(SessionOptions):
    """Options of ``tare compare``."""

    foreign = measuring.FOREIGN_OF_COMPARE
    commands: list[str] = argument(
        kinds.WORD, "'CMD A' 'CMD B'…", "Commands, each in quotes; the first is the reference.",
        repeatable=True, is_required=True,
    )  # fmt: skip
    margin: float = measuring.MARGIN
    gate: float | None = measuring.GATE
    gate_on: str | None = measuring.GATE_ON
    baseline: Path | None = option(
        kinds.PATH, "Compare one command with stored sessions (of its --name, if several).",
        group=WHAT, metavar="DIR|FILE",
    )  # fmt: skip
    inputs: int | None = measuring.INPUTS
    min_trials: int | None = measuring.MIN_TRIALS
    seed: int | None = measuring.SEED
    bisect: bool = flag("Exit codes for git bisect run: 0 good, 1 bad, 125 skip.", rare=True)
    junit: Path | None = shared.JUNIT
    directory: list[str] = measuring.DIRECTORY
