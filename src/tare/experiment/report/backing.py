"""What the answers rest on: how far each cell got, what is missing, the machine."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from tare.experiment.findings import disturbance, known, trusted
from tare.experiment.findings.calibrated import cpu_scaling
from tare.experiment.findings.cells import basis_of, in_order
from tare.experiment.findings.evidence import level_columns
from tare.experiment.findings.failures import failures, reasons
from tare.experiment.findings.instrument import own_error
from tare.experiment.findings.level_names import fact
from tare.experiment.findings.outlived import other_warnings, outlived
from tare.experiment.results import Results
from tare.experiment.time_limits import COUNTED
from tare.results.columns import Columns
from tare.results.finding import Column, Table
from tare.results.message import Levels, Message, message
from tare.units import counted, duration, percent, quantile_name

_REASONS = {
    "fixed": "all requested trials done",
    "target": "target reached",
    "budget": "the budget ended",
    "cap": "refused: target not reached with the maximum number of trials",
    "refused": "refused: more trials will not help",
    "decided": "every verdict is conclusive",
    "alone": "its reference kept failing",
    "failed": "it kept failing",
    "interrupted": "interrupted",
}
#: Cells that a sentence names one by one.
_MOST_CELLS = 5
_STOP_COLUMNS = {
    "n": "good trials",
    "killed": "over limit",
    "failed": "failed",
    "why": "stop reason",
    "target": "target",
    "reached": "reached",
    "more": "more trials for the target",
    "refusal": "obstacle",
}


def stop_table(results: Results) -> Table:
    """Give of every cell how many trials it has, why it stopped and what it reached."""
    trials = results.trial_table
    factors = results.varied or ["workload"]
    asked = quantile_name(results.experiment.stopping.quantile)
    stops = {stop["cell"]: stop for stop in results.stops.records()}
    known_of = _known(results)
    rows: list[dict[str, Any]] = []
    by_cell = dict(trials.groups("cell"))
    for cell in in_order(results):
        some = by_cell[cell]
        counts = Counter(some["status"])
        stop = stops.get(cell)
        rows.append(
            {
                **{f: str(some[f][0]) for f in factors},
                "n": counts["ok"] + counts["killed"],
                "killed": counts["killed"] or None,
                "failed": counts["failed"],
                "why": _why(stop, results),
                "target": None if stop is None else _share(stop["target"]),
                "reached": _share(known_of[cell].interval.half_width if cell in known_of else None),
                "more": _more(stop, known_of.get(cell), results),
                # Stops of an older tare may lack it.
                "refusal": None if stop is None else stop.get("refusal"),
            }
        )
    return Table(
        title=message(
            "All cells: trials, stop reason, precision of the {quantile}", quantile=asked
        ),
        columns=(
            *level_columns(factors),
            *(
                Column(key=key, title=title)
                for key, title in _STOP_COLUMNS.items()
                if any(row[key] is not None for row in rows)
            ),
        ),
        rows=tuple(rows),
        note=message(
            "Longer side of the 95 % interval of the {quantile}, relative to it", quantile=asked
        ),
    )


def _known(results: Results) -> dict[Any, known.Known]:
    results = results.of_levels
    basis = basis_of(results)
    if isinstance(basis, Message):
        return {}
    values = results.values(basis.metric, basis.source)
    stopping = results.experiment.stopping
    return {
        cell: known.know(
            basis.metric,
            basis.source,
            some["value"],
            stopping,
            by_hand=results.by_hand,
            above=some["above"],
        )
        for cell, some in values.groups("cell")
    }


def _why(stop: Mapping[str, Any] | None, results: Results) -> str:
    if stop is None:
        if results.ended in ("finished", "budget"):
            return "the session ended first"
        return "not stopped: still running, or interrupted"
    return _REASONS.get(str(stop["reason"]), str(stop["reason"]))


def _share(value: Any) -> str | None:
    return None if value is None else f"±{percent(float(value))}"


def _more(
    stop: Mapping[str, Any] | None, found: known.Known | None, results: Results
) -> str | None:
    """Return how many more trials the target needs, in words, by all trials so far."""
    if stop is None or not stop["more_trials"]:
        return None
    more, seconds = int(stop["more_trials"]), stop["more_seconds"]
    each_s = None if seconds is None else float(seconds) / more
    reached = None if found is None else found.interval.half_width
    target = results.experiment.stopping.precision
    if found is not None and reached is not None and _share(stop["target"]) is not None:
        if reached <= target:
            return None
        more = math.ceil(found.interval.n * ((reached / target) ** 2 - 1))
    trials = f"about {counted(more, 'trial')}"
    return trials if each_s is None else f"{trials}, {duration(more * each_s)}"


def doubts(results: Results) -> tuple[Message, ...]:
    """Say what failed and what was doubtful.

    What was left out stands at the head of the page already.
    """
    found = [
        message(
            "session {session} has no end: it is still running, or was killed. Its finished "
            "trials are used, the trial in progress is not",
            session=session["session"],
        )
        for session in results.sessions.records()
        if session["ended"] is None
    ]
    trials = results.trial_table
    failed = trials.where(status="failed")
    kinds = failed["failure_kind"] if "failure_kind" in failed else [None] * len(failed)
    named = [kind or why or "unknown" for kind, why in zip(kinds, failed["reason"], strict=True)]
    for _, some in failed.with_columns(failure_kind=named).groups("failure_kind"):
        cells = Counter(zip(some["workload"], some["platform"], strict=True))
        found.append(
            message(
                "{trials | counted('trial')} failed ({cells | listing}{% if others %}, "
                "{others} more{% endif %}): {reasons}",
                trials=len(some),
                cells=[
                    message(
                        "{trials} of {where}",
                        trials=n,
                        where=Levels({"workload": workload, "platform": platform}),
                    )
                    for (workload, platform), n in cells.most_common(_MOST_CELLS)
                ],
                others=max(0, len(cells) - _MOST_CELLS),
                reasons=reasons(failures(results, some)),
            )
        )
    # Of how many good trials the kernel's records were lost.
    lost = disturbance.lost(results.values(*disturbance.LOST)["value"], len(results.good))
    found += [*trusted.each(results), *_captured(trials), *([lost] if lost else [])]
    warnings = Counter(other_warnings(results))
    return (
        *found,
        *(one.sentence for one in outlived(results)),
        *(
            message("{warning} ({times | counted('time')})", warning=warning, times=n)
            for warning, n in warnings.most_common(20)
        ),
    )


def _captured(trials: Columns) -> list[Message]:
    """Say how many good trials had a pipe for standard error since others failed."""
    if "error_captured" not in trials:
        return []
    good = trials.where(status=COUNTED)
    n = len(good.where(error_captured=True))
    if not n or n == len(good):
        return []
    return [
        message(
            "standard error was a pipe instead of /dev/null in {trials | counted('good trial')} "
            "of {good}: captured as requested, or read to explain an earlier failure",
            trials=n,
            good=len(good),
        )
    ]


def machine_tables(results: Results) -> list[Table]:
    """Give the facts of the machine, and those of each platform."""
    # The last fact of each name and platform, in the order of their last appearance.
    last: dict[tuple[str | None, str], dict[str, Any]] = {}
    for row in results.facts.records():
        last.pop((row["platform"], row["name"]), None)
        last[row["platform"], row["name"]] = row
    facts = [*last.values()]
    own = [row for row in facts if row["platform"] is None]
    tables = []
    if own:
        tables.append(
            Table.of(
                message("Facts of the machine"),
                (Column(key="name", title="fact"), "value", "source"),
                ((_spoken(row["name"]), _value(row), row["source"]) for row in own),
                note=(
                    own_error(results.fact)
                    or message(
                        "Measurement error of tare on this machine is unknown: tare selftest"
                    ),
                    *filter(None, [cpu_scaling(results.fact), _changed(results)]),
                ),
            )
        )
    per = [row for row in facts if row["platform"] is not None]
    if per:
        asked = [str(p) for p in results.experiment.factors.get("platform", ())]
        told = {row["platform"] for row in per}
        platforms = [p for p in dict.fromkeys([*asked, *(r["platform"] for r in per)]) if p in told]
        rows = []
        for name in dict.fromkeys(row["name"] for row in per):
            values = {row["platform"]: _value(row) for row in per if row["name"] == name}
            rows.append((_spoken(name), *map(values.get, platforms)))
        tables.append(
            Table.of(
                message("The instrument on each platform"),
                (
                    Column(key="name", title="fact"),
                    *(Column(key=f"on {p}", title=p) for p in platforms),
                ),
                rows,
            )
        )
    return tables


def _value(row: dict[str, Any]) -> str:
    """Write the value of a fact."""
    value = row["value"]
    return fact(row["name"], value if isinstance(value, bool | int | float) else str(value))


def _spoken(name: str) -> str:
    for suffix in ("_ns", "_bytes", "_hz"):
        name = name.removesuffix(suffix)
    return name.replace("_", " ")


def _changed(results: Results) -> Message | None:
    """Name the facts of the machine that are not the same in all sessions."""
    differing = [
        _spoken(name)
        for name, some in results.facts.where(platform=None).groups("name")
        if name != "load_average"
        and not name.startswith(("selftest_", "calibration_"))
        and len({str(value) for value in some["value"]}) > 1
    ]
    if not differing:
        return None
    return message("changed between sessions: {facts | join(', ')}", facts=differing)
