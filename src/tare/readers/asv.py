"""What asv keeps below ``results``: statistics of each benchmark, and samples where recorded."""

from __future__ import annotations

import itertools
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tare.errors import InputError, Typed
from tare.readers import json_file
from tare.readers.format import Format, Repeat
from tare.readers.json_file import Node
from tare.readers.readings import counted, failed_benchmarks, number, readings, stated, told_apart
from tare.readers.series import ColumnOptions, Defect, Imported, Series, Specification
from tare.readers.text_file import label
from tare.registry import Description
from tare.results.message import Message, message

#: Metric and unit by the beginning of a benchmark's name.
_KINDS = {
    "time": ("time", "s"),
    "timeraw": ("time", "s"),
    "mem": ("memory", "bytes"),
    "peakmem": ("peak memory", "bytes"),
}
#: Benchmarks that a note names.
_MOST_NAMES = 5
_ENVIRONMENT = ("cpu", "os", "ram")


def recognises(head: bytes, file: Path) -> bool:
    """Whether it names a commit and the columns of asv's results."""
    found = json_file.outline(head)
    return {"commit_hash", "env_name"} <= found and bool({"result_columns", "params"} & found)


def results_beside(file: Path) -> str | None:
    """Return the command that audits the results in asv's folder; None: there are none.

    Parameters
    ----------
    file : Path
        Folder of all results or of a machine, or asv's own file in it: ``benchmarks.json``,
        ``machine.json``.
    """
    folder = file if file.is_dir() else file.parent
    if not file.is_dir() and file.name not in ("benchmarks.json", "machine.json"):
        return None
    for machine in sorted((*folder.glob("machine.json"), *folder.glob("*/machine.json"))):
        found = [one for one in machine.parent.glob("*-*.json") if one.is_file()]
        if found:
            newest = max(found, key=lambda one: one.stat().st_mtime)
            return Typed(
                f"tare audit {shlex.quote(str(newest))}   (results of asv, one file per commit)"
            )
    return None


def read(file: Path, columns: ColumnOptions) -> Imported:
    """Read the samples of each benchmark and combination of parameters, or what is stated."""
    root = json_file.load(file)
    names = root.find("result_columns")
    if names is None:
        raise InputError(
            f"{file} is of version 1 of asv's results", "let asv update it: asv update"
        )
    order = [str(name) for name in names.elements()]
    parameters = _parameters(file)
    series: list[Series] = []
    failed: list[str] = []
    for name, result in root.at("results").pairs():
        of_name = dict(zip(order, result.elements(), strict=False))
        if of_name.get("result") is None:
            failed.append(label(name))
            continue
        series += _all_series(result, name, of_name, parameters.get(name, ()))
    if not series:
        raise root.at("results").wrong("no benchmark ended well", "run them again: asv run")
    sampled = [one for one in series if not any(d.kind == "summary only" for d in one.defects)]
    without = [one.key["benchmark"] for one in series if one not in sampled] if sampled else []
    counts = [len(one.values) for one in sampled]
    return Imported(
        file=file,
        series=told_apart(sampled or series),
        specification=Specification(
            repetitions=counted(counts, "sample") if counts else None,
            statistic=message("median"),
            spread=message("99 % interval of the median, and quartiles"),
            environment=_environment(root),
        ),
        notes=(
            *root.notes,
            *failed_benchmarks(failed),
            *_without_samples(without),
        ),
    )


def _parameters(file: Path) -> dict[str, Sequence[str]]:
    """Return the names of parameters by benchmark, which asv keeps in a file above the results."""
    above = file.resolve().parent.parent / "benchmarks.json"
    try:
        benchmarks = dict(json_file.load(above).pairs()) if above.is_file() else {}
    except InputError:
        return {}
    found: dict[str, Sequence[str]] = {}
    for name, benchmark in benchmarks.items():
        names = benchmark.value.get("param_names") if isinstance(benchmark.value, dict) else None
        if isinstance(names, list) and all(isinstance(one, str) for one in names):
            found[name] = names
    return found


def _all_series(
    result: Node, name: str, found: Mapping[str, Any], parameters: Sequence[str]
) -> Iterator[Series]:
    """Make a series of each combination of parameters; those that the benchmark skips are NaN."""
    levels = [
        one if isinstance(one, list) else [one] for one in _list(result, found, "params") or []
    ]
    values = _list(result, found, "result") or []
    combinations = list(itertools.product(*levels))
    if len(combinations) != len(values):
        raise result.wrong(f"{len(values)} results for {len(combinations)} combinations")
    kind = name.rpartition(".")[2].partition("_")[0]
    metric, unit = _KINDS.get(kind, ("value", None))
    for at, levels_of in enumerate(combinations):
        if not math.isfinite(number(values[at])):
            continue

        def of(column: str, at: int = at) -> Any:
            given = _list(result, found, column)
            return given[at] if given is not None and at < len(given) else None

        samples = of("samples")
        read = readings(
            samples if isinstance(samples, list) else [],
            lambda index, at=at: f"{result.path}, samples of combination {at}, [{index}]",  # type: ignore[misc]
            negative=unit is None,
        )
        summary = message(
            "{at} has no samples, only statistics: asv run --record-samples keeps them",
            at=result.path,
        )
        names = [*parameters, *(f"parameter {n + 1}" for n in range(len(levels_of)))]
        yield Series(
            key={
                "benchmark": label(name),
                **{
                    label(one): label(str(level))
                    for one, level in zip(names, levels_of, strict=False)
                },
            },
            values=read.values,
            metric=metric,
            unit=unit,
            lower_is_better=True if unit else None,
            reported=stated({"median": values[at], "n": of("stats_repeat")}),
            defects=read.defects if samples else (Defect("summary only", summary),),
        )


def _list(result: Node, found: Mapping[str, Any], column: str) -> list[Any] | None:
    value = found.get(column)
    if value is not None and not isinstance(value, list):
        raise result.wrong(f"expected a list of {column}")
    return value


def _without_samples(names: Sequence[str]) -> Iterator[Message]:
    """Name the benchmarks that are left out because the file has no samples of them."""
    each = list(dict.fromkeys(names))
    if each:
        yield message(
            "left out, since asv keeps one value of each: {names | join(', ')}{% if more %} "
            "and {more} more{% endif %}",
            names=each[:_MOST_NAMES],
            more=len(each[_MOST_NAMES:]),
        )


def _environment(root: Node) -> str | None:
    found = root.find("params")
    given = found.value if found and isinstance(found.value, dict) else {}
    version = root.value.get("python")
    words = [str(given[name]) for name in _ENVIRONMENT if isinstance(given.get(name), str)]
    if isinstance(version, str) and "/" not in version:
        words.append(f"Python {version}")
    return label(", ".join(filter(None, words))) or None


UNIT = Format(
    description=Description(
        name="asv",
        title="asv: a file of results, with samples by asv run --record-samples",
        question="What did each sample of each benchmark measure?",
        source="asv 0.5 and 0.6, asv/results.py, API version 2",
    ),
    recognises=recognises,
    read=read,
    executions=message(
        "asv does not record which of its processes took which sample. Measure with 6 calls "
        "of asv run --record-samples, and audit their files together"
    ),
    repeat=Repeat(
        "asv run --record-samples; cp RESULTS/MACHINE/COMMIT-*.json run$i.json",
        "run*.json",
        placeholders=("RESULTS", "MACHINE", "COMMIT"),
    ),
)
