"""Runs as BenchExec's result files, which its table-generator reads."""

from __future__ import annotations

import bz2
import json
import re
import shlex
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import msgspec
import numpy as np

from tare import files
from tare.errors import StoreError
from tare.experiment.task_sets.outcomes import Result
from tare.features.tasks.runs import Configuration, Folder, Runs
from tare.version import __version__

_HINT = "choose another folder"
#: Document type as BenchExec 3.35 writes it; minidom and ElementTree cannot write one.
_HEAD = b"""<?xml version='1.0' encoding='utf-8'?>
<!DOCTYPE result PUBLIC '+//IDN sosy-lab.org//DTD BenchExec result 3.12//EN'
 'https://www.sosy-lab.org/benchexec/result-3.12.dtd'>
"""
#: Characters to escape: those that XML cannot contain, line breaks, and backslashes that would
#: begin an escape.
_ESCAPED = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]|\\\\(?=[xu])")
#: Characters to replace in file names: table-generator expands wildcards and variables in them.
_UNSAFE = re.compile(r"[^A-Za-z0-9_.+=-]+")
#: Characters of an experiment or a run set in a file's name, of which 255 bytes are possible.
_MOST_NAME = 80
#: Signals that BenchExec has a word for.
_SIGNALS = {6: "ABORTED", 11: "SEGMENTATION FAULT", 15: "KILLED"}


@dataclass(frozen=True)
class _Outcome:
    """What BenchExec calls the end of a run; ``reason``: why it killed it."""

    status: str
    category: str
    reason: str | None = None


#: That the output is as expected holds or not: table-generator counts no status but true and
#: false as correct or wrong. The reason is the status, as there, where BenchExec has no such limit.
_OUTCOMES: dict[Result, _Outcome] = {
    "correct": _Outcome("true", "correct"),
    "wrong": _Outcome("false", "wrong"),
    "done": _Outcome("done", "missing"),
    "timeout": _Outcome("TIMEOUT", "error", "walltime"),
    "cpu_time": _Outcome("TIMEOUT", "error", "cputime"),
    "out_of_memory": _Outcome("OUT OF MEMORY", "error", "memory"),
    "output": _Outcome("FILES-SIZE LIMIT", "error", "files-size"),
    "processes": _Outcome("processes", "error", "processes"),
    "crashed": _Outcome("ERROR", "error"),
    "killed": _Outcome("KILLED BY SIGNAL 9", "error"),
    "unchecked": _Outcome("unknown", "unknown"),
    "lost": _Outcome("FAILED", "error", "failed"),
}


def write(runs: Runs, folder: Path) -> list[Path]:
    """Write a file for each trial of each configuration: BenchExec has one run a task.

    Parameters
    ----------
    runs : Runs
    folder : Path
        Where they are to stand; it is made.

    Returns
    -------
    list of Path
        ``EXPERIMENT.DATE.results.RUNSET.xml.bz2``, by configuration and trial.

    Raises
    ------
    StoreError
        If one cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make {folder}: {error.strerror}", _HINT) from error
    repeated = bool(np.any(runs.table["trial"] > 1))
    written: list[Path] = []
    for place, configuration in enumerate(runs.configurations):
        own = runs.folder(place)
        of_one = runs.table.where(configuration=place)
        for trial, rows in of_one.groups("trial"):
            name = _name(configuration) + (f" trial {trial}" if repeated else "")
            root = _header(configuration, own, name)
            for row in rows.sorted_by("task").records():
                root.append(_run(row, runs.tasks[row["task"]]))
            ElementTree.indent(root)
            path = _free(folder, _base(own), _safe(name), written)
            text = _HEAD + ElementTree.tostring(root, "unicode").encode()
            files.write(path, bz2.compress(text), _HINT)
            written.append(path)
    return written


def _name(configuration: Configuration) -> str:
    levels = (
        level if factor == "platform" else f"{factor}={level}"
        for factor, level in configuration.levels.items()
    )
    return " ".join((configuration.workload, *levels))


def _started(folder: Folder) -> datetime | None:
    if folder.started is None:
        return None
    started = datetime.fromisoformat(folder.started)
    return started if started.tzinfo else started.replace(tzinfo=UTC)


def _base(folder: Folder) -> str:
    started = _started(folder)
    date = f"{started:%Y-%m-%d_%H-%M-%S}" if started else "unknown"
    return f"{_safe(folder.experiment)}.{date}"


def _free(folder: Path, base: str, name: str, written: list[Path]) -> Path:
    """Return a path that no other run set has: two names may be one in safe characters."""
    path, number = folder / f"{base}.results.{name}.xml.bz2", 1
    while path in written:
        number += 1
        path = folder / f"{base}.results.{name}-{number}.xml.bz2"
    return path


def _safe(text: str) -> str:
    return _UNSAFE.sub("_", text)[:_MOST_NAME].lstrip("-.") or "_"


def _text(text: str) -> str:
    r"""Write what XML cannot hold as an escape: two texts are never written alike."""
    return _ESCAPED.sub(lambda found: _escape(ord(found[0])), text)


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _header(configuration: Configuration, folder: Folder, name: str) -> Element:
    started = _started(folder)
    enforce, asked = configuration.enforce, folder.asked
    limits = {
        "memlimit": enforce and enforce.memory_bytes and f"{enforce.memory_bytes}B",
        "timelimit": enforce and enforce.cpu_s and f"{enforce.cpu_s:g}s",
        "cpuCores": asked and str(asked.cpus),
    }
    root = _element(
        "result",
        benchmarkname=folder.experiment,
        name=name,
        date=f"{started:%Y-%m-%d %H:%M:%S %Z}" if started else "unknown",
        starttime=started.isoformat() if started else "unknown",
        tool=configuration.workload,
        version="",
        # table-generator imports it and asks it for addresses, of which this one has none.
        toolmodule="benchexec.tools.dummy",
        options=shlex.join(configuration.command),
        generator=f"tare {__version__}",
        **{limit: value for limit, value in limits.items() if value},
    )
    # The format has no place for a limit of wall time, and none for levels of factors.
    SubElement(root, "description").text = json.dumps(msgspec.to_builtins(configuration))
    columns = SubElement(root, "columns")
    for title in ("status", "cputime", "walltime"):
        columns.append(_column(title))
    root.append(_system(folder.facts))
    return root


def _system(facts: dict[str, object]) -> Element:
    def fact(*names: str) -> str:
        return next((str(facts[name]) for name in names if name in facts), "unknown")

    system = _element("systeminfo", **({"hostname": fact("host")} if "host" in facts else {}))
    system.append(_element("os", name=fact("kernel")))
    cpu = _element("cpu", model=fact("cpu_model", "cpu"), cores=fact("cpus", "cores"))
    if fact("turbo") in ("on", "off"):
        cpu.set("turboboostActive", str(fact("turbo") == "on").lower())
    system.append(cpu)
    memory = fact("memory_bytes")
    system.append(_element("ram", size=f"{memory}B" if memory.isdecimal() else memory))
    system.append(Element("environment"))
    return system


def _run(row: dict[str, Any], task: str) -> Element:
    # Neither files nor properties: table-generator joins what has the same name and those, and
    # takes files as relative to where the result is.
    run = _element("run", name=task)
    memory, status = row["memory_bytes"], row.get("exit_status")
    outcome = _outcome(row["result"], int(status or 0))
    shown = {
        "status": outcome.status,
        "cputime": _seconds(row["cpu_ns"]),
        "walltime": _seconds(row["wall_ns"]),
        "memory": None if memory is None else f"{memory:.0f}B",
    }
    hidden = {
        "category": outcome.category,
        "terminationreason": outcome.reason,
        "returnvalue": None if status is None or status < 0 else f"{status:.0f}",
        "exitsignal": None if status is None or status >= 0 else f"{-status:.0f}",
        "why": row["why"],
    }
    # In BenchExec's order: what is shown before what is hidden, each by its title.
    run.extend(_column(title, value=value) for title, value in sorted(shown.items()) if value)
    run.extend(
        _column(title, value=value, hidden="true")
        for title, value in sorted(hidden.items())
        if value
    )
    return run


def _outcome(result: Result, exit_status: int) -> _Outcome:
    if result != "crashed" or exit_status == 0:
        return _OUTCOMES[result]
    if exit_status > 0:
        return _Outcome(f"ERROR ({exit_status})", "error")
    signal = -exit_status
    return _Outcome(_SIGNALS.get(signal, f"KILLED BY SIGNAL {signal}"), "error")


def _seconds(ns: float | None) -> str | None:
    """Write nanoseconds as seconds, exactly."""
    return None if ns is None else f"{Decimal(round(ns)).scaleb(-9):f}s"


def _column(title: str, **attributes: str) -> Element:
    return _element("column", title=title, **attributes)


def _element(tag: str, **attributes: str) -> Element:
    return Element(tag, {name: _text(value) for name, value in attributes.items()})
