"""From a file with ``[tasks]`` to a task set: hostile until parsed, complaints that help."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tare import files
from tare.errors import Typed
from tare.experiment import file as experiment_file
from tare.experiment.file import keys
from tare.experiment.file.table import File, Table, closest, suggestion
from tare.experiment.session.files import named, needed
from tare.experiment.specification import KNOWN_FACTORS, Cell, Experiment
from tare.features.tasks import checker
from tare.features.tasks.options import RunOptions
from tare.features.tasks.specification import (
    EXPECTED,
    MOST_EXPECTED_BYTES,
    OUTPUT,
    TASK,
    Task,
    TaskSet,
)
from tare.options import kinds
from tare.options.option import Key
from tare.registry import Catalogue
from tare.workloads import placeholders
from tare.workloads.specification import WorkloadSpec

#: Tables of an experiment file that a task set may have, and keys of its ``[experiment]``.
TABLES = ("tasks", "experiment", "workload", "factors", "sizes", "platforms")
EXPERIMENT = ("name", "question", "seed", "fresh", "linger", "skip_missing")
#: Factors whose levels make cells of a task set.
FACTORS = ("platform", "size")
#: Default question.
QUESTION = "Which tasks are solved, and how fast?"
#: Grace period of descendants: none, because their time is not part of a run's time.
LINGER = "0 s"
#: More tasks than this are a slip of the pattern.
MOST_TASKS = 1_000_000


def _patterns(value: Any) -> tuple[str, ...]:
    given = (kinds.NAME.read(value),) if isinstance(value, str) else kinds.NAMES.read(value)
    if not given:
        raise ValueError
    return tuple(given)


def _expected(value: Any) -> str:
    if str(text := kinds.NAME.read(value)).count("*") != 1:
        raise ValueError
    return str(text)


def _tolerance(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise ValueError
    return float(value)


KEYS = (
    Key(
        "files",
        kinds.Kind('a pattern, or a list of patterns, such as "tests/*.in"', _patterns),
        "input files, a task each; relative to where tare is called",
        required=True,
    ),
    Key(
        "expected",
        kinds.Kind('a file name with one *, such as "*.out" or "../answers/*.txt"', _expected),
        "file with the correct output of each task, from the folder of its input: `*` is the "
        "input's name without its ending. Without it, a task is done when its program ends well",
    ),
    Key(
        "compare",
        kinds.choice(("exact", "whitespace", "numeric")),
        "what must be the same: every byte; all words, however they are spaced; or that, and "
        "numbers within `tolerance`",
    ),
    Key(
        "tolerance",
        kinds.Kind("a number above 0 and below 1, such as 1e-6", _tolerance),
        "with numeric: how far a number may be off, relative to the expected one, and absolute "
        "where that is below 1",
    ),
    Key(
        "checker",
        kinds.COMMAND,
        "command that judges instead, on this machine: exit code 0 is correct, 1 and 2 are wrong. "
        "Gets the files {task}, {output} and {expected}, by default in this order",
    ),
    Key(
        "checker_timeout",
        kinds.seconds(positive=True),
        "how long the checker may take",
        field="checker_timeout_s",
    ),
    RunOptions.records["trials"].as_key(),
    RunOptions.records["parallel"].as_key(),
    Key("cpus", kinds.whole(1, 4096), "CPUs of each run"),
    Key(
        "timeout",
        kinds.seconds(positive=True),
        "kill a run that takes longer; a workload may have its own",
        field="timeout_s",
    ),
    keys.ENFORCE,
)


def parse(text: str, name: str, catalogue: Catalogue) -> tuple[Experiment, TaskSet]:
    """Parse the text of a file with ``[tasks]``.

    Parameters
    ----------
    text : str
        TOML.
    name : str
        The file, as complaints name it.
    catalogue : Catalogue
        The platforms that there are.

    Raises
    ------
    ExperimentError
        Names the file, the key, and what was expected.
    """
    values = experiment_file.tables(text, name)
    file = Table(File(name), "", values)
    if experiment_file.TASKS not in values:
        meant = next((key for key in values if closest(key, ["tasks"])), None)
        raise file.error(
            "tasks" if meant is None else meant,
            "is missing: this is no task set" if meant is None else "is no key",
            Typed(f"tare experiment run {shlex.quote(str(name))}")
            if meant is None
            else f"[tasks] in place of [{meant}]",
        )
    file.only(TABLES)
    top, own = file.table("tasks"), file.table("experiment")
    _check_places(top, own)
    given = top.read(KEYS)
    limits: dict[str, Any] = {
        key: given.pop(key) for key in ("timeout_s", "enforce") if key in given
    }
    asked = TaskSet(**given)
    _check(top, asked)
    own.only(EXPERIMENT)
    if own.values.get("fresh") == "run":
        raise own.error("fresh", 'is not "run" with tasks, whose output is judged', '"trial"')
    chosen = file.table("factors")
    _check_factors(chosen)
    experiment = experiment_file.from_table(
        {
            **{key: value for key, value in values.items() if key != "tasks"},
            "experiment": {
                "name": re.sub(r"\W+", "-", Path(name).stem).strip("-") or "tasks",
                "question": QUESTION,
                "linger": LINGER,
                **own.values,
                "trials": asked.trials,
            },
            # A level that each run has another one of.
            "factors": {**chosen.values, TASK: [TASK]},
        },
        File(name),
        catalogue,
    )
    workloads = tuple(
        _fitted(table, workload, limits)
        for table, workload in zip(file.tables("workload"), experiment.workloads, strict=True)
    )
    return msgspec.structs.replace(experiment, workloads=workloads), asked


def _check_places(tasks: Table, experiment: Table) -> None:
    """Refuse keys that stand in the other of both tables."""
    known = [key.name for key in KEYS]
    for table, own, others, other in (
        (tasks, known, EXPERIMENT, "experiment"), (experiment, EXPERIMENT, known, "tasks"),
    ):  # fmt: skip
        for key in table.values:
            if key in others and key not in own:
                raise table.error(key, f"is a key of [{other}]", f"move it to [{other}]")


def _check(table: Table, asked: TaskSet) -> None:
    """Refuse what says nothing, and what of a checker's command stands for no file."""
    if asked.expected is None and asked.checker is None:
        for key in ("compare", "tolerance"):
            if key in table.values:
                raise table.error(key, "says nothing without expected", 'expected = "*.out"')
    if "tolerance" in table.values and asked.compare != "numeric":
        raise table.error("tolerance", "is of numbers", 'compare = "numeric"')
    if asked.checker is None:
        return
    if "compare" in table.values:
        raise table.error("compare", "excludes checker, which judges instead", "remove one")
    known = (TASK, OUTPUT, *((EXPECTED,) if asked.expected else ()))
    for word in asked.checker:
        try:
            unknown = placeholders.names(word) - {*known}
        except ValueError as error:
            raise table.error("checker", f"{word!r}: {error}") from None
        for one in sorted(unknown):
            raise table.error("checker", f"{{{one}}} is no file of a task", suggestion(one, known))


def _check_factors(table: Table) -> None:
    for name in table.values:
        if name == TASK:
            raise table.error(name, "is what [tasks] has", "leave it out")
        if name in KNOWN_FACTORS and name not in FACTORS:
            raise table.error(
                name,
                "is no factor of a task set",
                "parallel and cpus in [tasks], or a load of yours",
            )


def _fitted(table: Table, workload: WorkloadSpec, limits: dict[str, Any]) -> WorkloadSpec:
    """Return a workload that reads each task, within the limits of all."""
    if workload.command is None or workload.application is not None:
        raise table.error(
            None, "is no command; tasks are given to commands", 'command = ["./solve"]'
        )
    for key in ("setup", "prepare", "conclude", "cleanup", "trials"):
        if key in table.values:
            raise table.error(key, "is not for task sets", "leave it out")
    texts = (*workload.command, *workload.environment.values(), workload.input or "")
    named = any(TASK in placeholders.names(text) for text in texts)
    changed: dict[str, Any] = {}
    if not named and workload.input is None:
        changed["input"] = f"{{{TASK}}}"
    elif not named:
        raise table.error(
            "input", "is the same for all tasks", "leave it out, or name {task} in command"
        )
    for key, value in limits.items():
        if getattr(workload, key) is None:
            changed[key] = value
    if changed.get("timeout_s", workload.timeout_s) is None:
        raise table.error(
            "timeout", "is missing: a run that never ends would hold up all others",
            '[tasks] timeout = "10 s"',
        )  # fmt: skip
    return msgspec.structs.replace(workload, **changed)


def find(asked: TaskSet, name: str) -> tuple[Task, ...]:
    """Find the tasks that a set names, in order of their names.

    Raises
    ------
    ExperimentError
        If there are none, or some have no expected output.
    """
    table = Table(File(name), "tasks", {})
    found: dict[str, Path] = {}
    for pattern in asked.files:
        matches = [(shown, path) for shown, path in _matching(pattern) if path.is_file()]
        if not matches:
            folder = files.is_folder(pattern)
            hint = f'files = "{pattern.rstrip("/")}/*"'
            raise table.error(
                "files",
                f"{pattern!r} {'is a folder' if folder else 'matches no file'}",
                hint if folder else Typed(f"ls {_quoted(pattern)}   (in {Path.cwd()})"),
            )
        found.update(matches)
        if len(found) > MOST_TASKS:
            raise table.error(
                "files", f"matches more than {MOST_TASKS:,} files", "a narrower pattern"
            )
    wanted: dict[str, Path] = {}
    if asked.expected is not None:
        wanted = {shown: _answer(path, asked.expected) for shown, path in found.items()}
    missing = [(shown, path) for shown, path in wanted.items() if not path.is_file()]
    if asked.expected is not None and missing:
        shown, path = missing[0]
        hint = "leave them out of files, or add what is correct"
        # Given like `files`: relative to the directory in which tare is called.
        if len(missing) == len(found) and _answer(Path(found[shown].name), asked.expected).exists():
            name = Path(asked.expected).name
            hint = f'expected = "{name}": it is looked for next to each input'
        raise table.error(
            "expected",
            f"{len(missing)} of {len(found)} tasks have none: {path} is not there, for {shown}",
            hint,
        )
    return tuple(
        _task(table, shown, found[shown], wanted.get(shown), checked=asked.checker is not None)
        for shown in sorted(found, key=_natural)
    )


def programs(
    cells: Sequence[Cell], asked: TaskSet, tasks: Sequence[Task], name: str
) -> dict[str, str]:
    """Return the files that commands and the checker name, with digests: rebuilt ones are others.

    Raises
    ------
    ExperimentError
        If one cannot be read, or the checker is no program.
    """
    table = Table(File(name), "tasks", {})
    found = [*needed(cells, os.environ)]
    if asked.checker is not None:
        program = asked.checker[0]
        if shutil.which(program) is None:
            there = files.is_file(program)
            raise table.error(
                "checker",
                f"{program!r} {'is not executable' if there else 'is no program'}",
                Typed(f"chmod +x {shlex.quote(str(program))}") if there else 'such as "./check"',
            )
        found += named(checker.command(asked.checker, {}))
    inputs = {task.input for task in tasks}
    paths = {str(Path(one).resolve()) for one in found if one not in inputs and files.is_file(one)}
    try:
        return {path: files.digest(Path(path)) for path in sorted(paths)}
    except OSError as error:
        raise table.error("files", f"cannot read {error.filename}: {error.strerror}") from error


def _quoted(pattern: str) -> str:
    """Return a pattern for a shell, which expands its wildcards alone."""
    return re.sub(r"[^][*?]+", lambda part: shlex.quote(part[0]), pattern)


def _matching(pattern: str) -> Iterator[tuple[str, Path]]:
    """Yield what a pattern matches, as it is shown and as an absolute path."""
    here = Path.cwd()
    try:
        if Path(pattern).is_absolute():
            root = Path(Path(pattern).anchor)
            for path in root.glob(str(Path(pattern).relative_to(root))):
                yield str(path), path
        else:
            for path in here.glob(pattern):
                yield str(path.relative_to(here)), path
    except (ValueError, IndexError, NotImplementedError, OSError):
        return


def _natural(name: str) -> list[tuple[int, int | str]]:
    """Order numbers in names as numbers."""
    parts = re.split(r"(\d+)", name)
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in parts]


def _answer(task: Path, expected: str) -> Path:
    return task.parent / expected.replace("*", task.stem)


def _task(table: Table, shown: str, task: Path, expected: Path | None, *, checked: bool) -> Task:
    try:
        digest = files.digest(task)
        answer = None if expected is None else files.digest(expected)
    except OSError as error:
        raise table.error("files", f"cannot read {error.filename}: {error.strerror}") from error
    # A checker is given the file, whatever its size.
    if expected is not None and not checked and expected.stat().st_size > MOST_EXPECTED_BYTES:
        raise table.error(
            "expected", f"{expected} has more than {MOST_EXPECTED_BYTES >> 20} MiB", "a checker"
        )
    if not f"{task}{expected}".isprintable() or "{" in str(task):
        raise table.error("files", f"{shown!r} has characters that no command can be given")
    return Task(
        name=shown,
        input=str(task),
        expected=None if expected is None else str(expected),
        digest=digest,
        answer=answer,
    )
