"""Text that tools print for people: which tool printed it, and how it writes results."""

from __future__ import annotations

import re

from tare.readers.text_file import head_text

#: A line that a tool prints, the tool, and what makes it write results that are read here.
_PRINTED = {
    r"Benchmark #?\d+: |\| Command \| Mean \[": ("hyperfine", "hyperfine --export-json FILE"),
    r"\d+;fio-\d|.+: \(g=\d+\): rw=|fio-\d[\w.-]*\nStarting ": ("fio", "fio --output-format=json"),
    r"# JMH version: |Benchmark +(?:\(\w+\) +)*Mode +Cnt +Score|Iteration +\d+: .*/op": (
        "JMH", "java -jar benchmarks.jar -rf json",
    ),
    r"Benchmark +Time +CPU +Iterations": ("Google Benchmark", "--benchmark_out=FILE"),
    r"-+ benchmark(?: '.*')?: \d+ tests": ("pytest-benchmark", "pytest --benchmark-json=FILE"),
    r".*Mean \+- std dev: ": ("pyperf", "python -m pyperf … -o FILE"),
    r".+ +time: +\[[\d.]+ ": ("criterion", "it keeps samples: tare audit target/criterion"),
    r"test .+ \.\.\. bench: ": ("cargo bench", "use criterion, which keeps samples"),
}  # fmt: skip
_LINES = {re.compile(f"^(?:{line})", re.MULTILINE): tool for line, tool in _PRINTED.items()}


def printed_by(head: bytes) -> tuple[str, str] | None:
    """Return the tool that printed a text, and what makes it write results; None if unknown."""
    text = head_text(head)
    return next((tool for line, tool in _LINES.items() if line.search(text)), None)
