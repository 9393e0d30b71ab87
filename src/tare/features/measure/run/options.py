"""Options of ``tare run``."""

from __future__ import annotations

from pathlib import Path

from tare.options import kinds, measuring
from tare.options.measuring import SessionOptions
from tare.options.option import OUTPUT, WHAT, WHERE, argument, flag, option


def _applications() -> tuple[str, ...]:
    from tare.experiment.file.application import built_in

    return tuple(built_in())


class RunOptions(SessionOptions):
    """Options of ``tare run``."""

    command: list[str] = argument(
        kinds.WORD, "-- COMMAND… | 'COMMAND'…",
        "Words of a command after --, or commands in quotes.", repeatable=True,
    )  # fmt: skip
    application: str | None = option(
        kinds.WORD.offering(_applications), "Instead of a command: tare describe applications.",
        group=WHAT, metavar="NAME",
    )  # fmt: skip
    set_: list[str] = option(
        kinds.WORD, "Parameter of the application; repeatable.", metavar="NAME=VALUE", rare=True,
        repeatable=True,
    )  # fmt: skip
    precision: float | None = measuring.PRECISION
    quantile: float | None = measuring.QUANTILE
    platform: list[str] = option(
        measuring.STACK, "Stack of layers; repeatable.", group=WHERE, short="-p", shown="bare",
        repeatable=True,
    )  # fmt: skip
    resume: bool = flag("Continue --out DIR; if it is complete, measure -n more.", group=OUTPUT)
    save: Path | None = option(
        kinds.PATH, "Add the session to a baseline for tare compare.", group=OUTPUT,
    )  # fmt: skip
    parameter_scan: list[tuple[str, str, str]] = option(
        kinds.WORD, "Repeat for every {NAME} between two numbers.", metavar="NAME FROM TO",
        rare=True, short="-P", repeatable=True, words=3,
    )  # fmt: skip
    parameter_step_size: str | None = option(
        kinds.WORD, "Step of --parameter-scan.", metavar="N", rare=True, short="-D", shown="1",
    )  # fmt: skip
    parameter_list: list[tuple[str, str]] = option(
        kinds.WORD, "Repeat for every {NAME} of a list; repeatable.", metavar="NAME A,B,…",
        rare=True, short="-L", repeatable=True, words=2,
    )  # fmt: skip
    export_json: str | None = option(
        kinds.STREAM, "Write what hyperfine would; -: standard output.", rare=True,
    )  # fmt: skip
