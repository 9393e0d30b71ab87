"""Options that several commands have; each means the same in all of them."""

from __future__ import annotations

from typing import Any

from tare.options import kinds
from tare.options.option import HOW_MANY, OUTPUT, WHERE, flag, option

TRIALS: Any = option(
    kinds.whole(1, example=20), "Fixed number of trials.", group=HOW_MANY, short="-n",
)  # fmt: skip
TIMEOUT: Any = option(
    kinds.DURATION, "Kill an execution that takes longer.", group=HOW_MANY,
)  # fmt: skip
SEED: Any = option(kinds.whole(0, (1 << 63) - 1), "Seed of random orders.", rare=True)
KEY: Any = option(kinds.PATH, "Secret that both ends share.", group=WHERE)
AS_ROOT: Any = flag("Under sudo: run commands as root, not as you.", group=WHERE)
STRICT: Any = flag("Exit with 17 if the machine changed meanwhile.", rare=True)
SKIP_MISSING: Any = flag("Leave out platforms that are missing.", group=WHERE)
OUT: Any = option(kinds.FOLDER, "Keep the results in a folder.", group=OUTPUT, short="-o")
RESUME: Any = flag("Continue what --out DIR holds.", group=OUTPUT)
STORE: Any = flag("Do not store it with the results of later sessions.", group=OUTPUT, default=True)
REPORT: Any = option(
    kinds.PATH,
    "Write a page: .html, .md (extra images), or .json.",
    group=OUTPUT,
    once="write JSON with --report, and render it as often as needed with tare report",
)
MARKDOWN: Any = option(kinds.STREAM, "Write a table as Markdown; -: standard output.", group=OUTPUT)
JUNIT: Any = option(kinds.PATH, "Write verdicts as JUnit XML.", group=OUTPUT)
JSON: Any = option(kinds.STREAM, "Write results as JSON; -: standard output.", group=OUTPUT)
CHARTS: Any = option(
    kinds.choice(("svg", "png")), "Charts instead of a page, into --out DIR (extra images).",
    group=OUTPUT,
)  # fmt: skip
QUIET: Any = flag(
    "Print neither notes nor progress; errors stay.", rare=True, short="-q",
)  # fmt: skip
STEADY: Any = flag("Use the steady part alone: without warm-up.", rare=True)
