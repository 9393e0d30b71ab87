"""What github-action-benchmark keeps: one value per benchmark and commit, no repetitions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tare.readers import json_file, phrases
from tare.readers.format import Format
from tare.readers.json_file import Node
from tare.readers.readings import counted, number, per_operation, stated, told_apart
from tare.readers.series import ColumnOptions, Defect, Imported, Series, Specification
from tare.registry import Description
from tare.results.message import message


def recognises(head: bytes, file: Path) -> bool:
    """Whether it has suites of commits, or is a list of names, units and values."""
    found = json_file.outline(head)
    history = any(path.startswith("entries.") and ".commit" in path for path in found)
    custom = {"[].name", "[].unit", "[].value"} <= found
    return custom or (history and not {"log", "feed"} & found)


def read(file: Path, columns: ColumnOptions) -> Imported:
    """Read the last value of each benchmark, as a summary: one value is not a sample."""
    root = json_file.load(file)
    found = list(_history(root) if isinstance(root.value, dict) else _entry("", root, None, None))
    if not found:
        raise root.wrong("holds no benchmark")
    return Imported(
        file=file,
        series=told_apart(found),
        specification=Specification(
            repetitions=counted([1], "value"), statistic=message(phrases.STATISTIC_MEAN)
        ),
        notes=root.notes,
    )


def _history(root: Node) -> Iterator[Series]:
    for suite, entries in root.at("entries").pairs():
        commits = list(entries.each())
        if commits:
            last, tool = commits[-1], commits[-1].find("tool")
            yield from _entry(
                suite, last.at("benches"), len(commits), tool.text() if tool else None
            )


def _entry(suite: str, benches: Node, commits: int | None, tool: str | None) -> Iterator[Series]:
    for bench in benches.each():
        given = bench.find("unit")
        unit, scale, lower = per_operation(given.word().replace("/iter", "/op") if given else "")
        summary = message(
            "the file has one value per benchmark{% if commits %} and commit ({commits})"
            "{% endif %}, no repetitions. Audit what {% if tool %}{tool}{% else %}the "
            "benchmarking tool{% endif %} itself writes",
            commits=counted([commits], "commit") if commits else None,
            tool=tool,
        )
        yield Series(
            key={**({"suite": suite} if suite else {}), "benchmark": bench.at("name").word()},
            values=np.empty(0),
            metric="throughput" if unit == "1/s" else "time" if unit == "s" else "value",
            unit=unit or None,
            lower_is_better=lower,
            reported=stated({"mean": number(bench.at("value").value)}, scale),
            defects=(Defect("summary only", summary),),
        )


UNIT = Format(
    description=Description(
        name="github-action-benchmark",
        title="github-action-benchmark: data.js, external data, or the JSON of custom tools",
        question="What is stated of each benchmark, and what has the values themselves?",
        source="benchmark-action/github-action-benchmark 1, src/extract.ts",
    ),
    recognises=recognises,
    read=read,
    is_of_commands=False,
)
