"""Experiment folders without a machine: what ``execute`` would have written for some results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from tare.agent import record
from tare.experiment import journal, plan, plan_file
from tare.experiment.results import Results
from tare.experiment.specification import KNOWN_FACTORS, Cell
from tare.results.columns import Columns

#: CLOCK_MONOTONIC at the start of the first trial, and how long each takes.
BEGIN, LASTS = 10**12, 10**9


def write(results: Results, folder: Path, *, text: str | None = None) -> Path:
    """Write results as an experiment's folder: plan, journal and, if given, the file's text."""
    (folder / "journal").mkdir(parents=True)
    plan_file.write(plan.make(results.experiment, cells(results)), folder)
    if text is not None:
        (folder / "experiment.toml").write_text(text)
    for session in results.sessions.records():
        writer = journal.Writer(folder / "journal" / f"{session['session'] + 1}.ndjson")
        writer.write(*_lines(results, session))
        writer.sync()
        writer.close()
    return folder


def session(number: int = 1, **changes: Any) -> journal.Session:
    """Make the first line of a journal."""
    given: dict[str, Any] = {
        "version": plan.VERSION,
        "session": number,
        "name": "tare-synthetic",
        "nonce": 1,
        "boot_id": "synthetic",
        "started": "2026-01-01T10:00:00.000+00:00",
        "tare": "0.1.0",
        "agent_digest": "0" * 64,
        "argv": ("tare", "experiment", "run", "synthetic.toml"),
    }
    return journal.Session(**{**given, **changes})


def start(trial: int = 1, **changes: Any) -> journal.TrialStart:
    """Make the line that begins a trial."""
    given: dict[str, Any] = {
        "trial": trial,
        "block": 0,
        "position": 0,
        "cell": 0,
        "levels": {"workload": "null", "platform": "bare"},
        "seed": 1,
        "repetitions": None,
        "cpus": (None,),
        "monotonic_ns": BEGIN + trial * LASTS,
    }
    return journal.TrialStart(**{**given, **changes})


def cells(results: Results) -> tuple[Cell, ...]:
    workloads = {w.name: w for w in results.experiment.workloads}
    known = ("platform", "pinning", "load", "size")
    return tuple(
        Cell(
            cell=row["cell"],
            workload=workloads[row["workload"]],
            workers=int(row["workers"]),
            quota=float(row["quota"]) if "quota" in row else None,
            others={name: row[name] for name in results.factors if name not in KNOWN_FACTORS},
            **{name: row[name] for name in known},
        )
        for row, _ in results.cells(("ok", "killed", "failed"))
    )


def _lines(results: Results, session_row: dict[str, Any]) -> list[journal.Line]:
    number = session_row["session"]
    lines: list[journal.Line] = [session(number + 1, started=session_row["started"])]
    for fact in results.facts.where(session=number).records():
        lines.append(
            journal.MachineFact(
                **{k: v for k, v in fact.items() if k not in ("session", "instance")}
            )
        )
    lines += [journal.Note(message=message) for message in results.notes]
    lines += _probed(results, number)
    samples = dict(results.sample_table.table().groups("trial"))
    for trial in results.trial_table.where(session=number).records():
        lines += _trial(trial, results.factors, samples.get(trial["trial"]))
    for stop in results.stops.records():
        lines.append(journal.Stop(**{k: None if pd.isna(v) else v for k, v in stop.items()}))
    lines.append(journal.SessionEnd(ended=session_row["ended"], reason="finished"))
    return lines


def _probed(results: Results, number: int) -> list[journal.Line]:
    """Give what was probed of the machine, and how busy it was where that is known."""
    lines: list[journal.Line] = []
    for row in results.takes.where(session=number).records():
        known = {k: v for k, v in row.items() if k != "session" and not pd.isna(v)}
        place = {name: known.pop(name) for name in ("moment", "take")}
        lines.append(journal.MachineTake(**place, activity=journal.Activity(**known)))
    for row in results.figures.where(session=number).records():
        lines.append(journal.MachineFigure(**{k: v for k, v in row.items() if k != "session"}))
    return lines


def _trial(
    trial: dict[str, Any], factors: list[str], samples: Columns | None
) -> list[journal.Line]:
    number = trial["trial"]
    lines: list[journal.Line] = [
        start(
            number,
            levels={f: trial[f] for f in factors},
            cpus=(None,) * int(trial["workers"]),
            **{name: trial[name] for name in ("block", "position", "cell", "seed")},
        )
    ]
    is_killed = trial["status"] == "killed"
    for row in [] if samples is None else samples.records():
        lines.append(
            record.Sample(
                id=number,
                trial=number,
                worker=None if pd.isna(row["worker"]) else int(row["worker"]),
                iteration=None if pd.isna(row["iteration"]) else int(row["iteration"]),
                phase=row["phase"],
                metric=row["metric"],
                source=row["source"],
                # Of a run that is killed, agents measure the time until then.
                value=min(row["value"], trial["above_ns"]) if is_killed else row["value"],
            )
        )
    if trial["status"] == "failed":
        fault = record.Fault(id=number, trial=number, kind="exit", message="exit 1")
        lines.append(fault)
    if is_killed:
        kind, why = trial["limit_kind"], "it exceeded its limit"
        fault = record.Fault(id=number, trial=number, kind=kind, message=why, iteration=0)
        lines.append(fault)
    lines.append(
        journal.TrialEnd(
            trial=number,
            status="failed" if is_killed else trial["status"],
            reason=trial["reason"],
            monotonic_ns=BEGIN + (number + 1) * LASTS - 1,
        )
    )
    return lines
