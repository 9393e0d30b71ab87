"""What to type after ``tare audit``: what cures what it found, else what shows more of it."""

from __future__ import annotations

import math
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from tare.cli.again import again
from tare.cli.command_line import shell_syntax, split
from tare.errors import ExperimentError
from tare.experiment import plan_file
from tare.features.audit.audit import Audit
from tare.features.audit.comparison import FILE, FOLDER
from tare.features.audit.naming import varied
from tare.features.audit.pairing import FEWEST
from tare.features.audit.series import SeriesAudit, has_iterations
from tare.readers import Format, Repeat
from tare.registry import units_of
from tare.results.message import Chosen, Message, message
from tare.results.report import NextStep
from tare.statistics.trust import CHANGING, ReasonKind
from tare.statistics.warmup import warm_up
from tare.units import chosen

#: What to do next: a command, or advice where none is known.
Step: TypeAlias = NextStep | Message

#: Keys whose levels are different work: their times are not alternatives to compare.
_UNLIKE = frozenset({
    "benchmark", "case", "dataset", "function", "group", "input", "instance", "problem", "query",
    "size", "task", "test",
})  # fmt: skip
#: Keys whose levels are alternatives, which are compared.
_ALTERNATIVES = frozenset({
    "algo", "algorithm", "branch", "commit", "compiler", "config", "configuration", "engine",
    "impl", "implementation", "platform", "solver", "system", "team", "tool", "variant", "version",
})  # fmt: skip
#: Pairs from which most intervals of pairs that may be autocorrelated are as narrow as others.
_ENOUGH_PAIRS = 30
#: Characters that a shell expands, besides those that need one.
_EXPANDED = re.compile(r"[*?\[\]{}~#!]")
#: Commands of a file that stand in a command line.
_MOST_COMMANDS = 3


def follow_up(audit: Audit, *, has_page: bool) -> Step:
    """Return the next command worth typing; advice in words where none is known."""
    if (known := _of_tasks(audit, has_page=has_page) or _executions(audit)) is not None:
        return known
    if audit.platforms is not None and audit.question.finding is None:
        return _again({"--finding": "overhead"}, message("what each platform costs, size by size"))
    steps = (_fleet, _longer_limit, _partly_failed, _cure, _sets, _rounds, _more)
    better = next((found for step in steps if (found := step(audit)) is not None), None)
    if better is not None:
        return better
    key = _compared(audit)
    if len(audit.series) > 1 and not audit.question.columns.compare and key is not None:
        return _again({"--compare": key}, message("what differs?"))
    if not has_page or _repeat(audit) is not None:
        return _again({"--report": "audit.html"}, message("the same as a page, with charts"))
    return _pairs(message("measures both in pairs, interleaved"), audit)


def _again(changes: dict[str, str | None], brings: Message) -> NextStep:
    """Return the same audit with other options."""
    return NextStep(again("audit", changes), brings)


def _compared(audit: Audit) -> str | None:
    """Return the key whose levels are worth comparing; None if there is none."""
    keys = [key for key in varied(s.key for s in audit.series) if key.lower() not in _UNLIKE]
    alternatives = [key for key in keys if key.lower() in _ALTERNATIVES]
    return next(iter([*alternatives[-1:], *keys[-1:]]), None)


def _identify(audit: Audit) -> Step | None:
    """Return what finds the shape of a bandwidth over time; None where there is none."""
    file = next((f.imported.file for f in audit.files if f.imported.is_trace), None)
    if file is None:
        return None
    columns = audit.question.columns
    grouped = ",".join((*columns.group, *columns.compare))
    named = {"--time": columns.order, "--value": columns.value, "--group": grouped}
    options = [word for option, name in named.items() if name for word in (option, name)]
    return NextStep(
        shlex.join(["tare", "net", "identify", str(file), *options]),
        message("what shapes this bandwidth"),
    )


def _executions(audit: Audit) -> Step | None:
    """Return what has or names executions of their own; None where they are known."""
    reasons = {reason.kind for s in audit.series for reason in s.trust.grounds}
    failed = [s for s in audit.series if s.failed]
    # Some tasks of a solver always time out; another program that always fails is worth a look.
    if failed and (len(failed) == len(audit.series) or any(s.series.task is None for s in failed)):
        return _failed(audit, failed)
    if "trials" in reasons:
        return _identify(audit) or _columns(audit)
    if reasons & {"executions", "few", "one"}:
        repeat = _repeat(audit)
        if repeat is not None:
            return _more_executions(message("more executions"), repeat, audit, FEWEST)
        return _tasks(audit)
    return None


def _tasks(audit: Audit) -> Step | None:
    """Return what compares alternatives in pairs of tasks, where a table has few runs of each."""
    columns, keys = audit.question.columns, varied(s.key for s in audit.series)
    compared = _compared(audit)
    unlike = [key for key in keys if key.lower() in _UNLIKE]
    is_table = all(file.imported.format == "table" for file in audit.files)
    if not is_table or compared is None or not unlike or columns.block or len(audit.files) > 1:
        return None
    if len({s.key.get(unlike[0]) for s in audit.series}) < _ENOUGH_PAIRS:
        return None
    pairs: dict[str, str | None] = {"--compare": compared, "--block": unlike[0], "--trial": "row"}
    return NextStep(again("audit", pairs, ("--group",)), message("compares in pairs, one per task"))


def _more_executions(brings: Message, repeat: Repeat, audit: Audit, total: int) -> NextStep:
    """Return what measures further executions, until each series has ``total`` of them."""
    had = min((len(s.files) if len(s.files) > 1 else 0 for s in audit.series), default=0)
    more = max(1, total - had)
    stem, last = _numbered(audit) if had else (None, 0)
    if not _folders(audit):
        return NextStep(repeat.executions(last + 1, last + more, stem or "run"), brings)
    folders = list(dict.fromkeys(str(file.path.parent) for file in audit.files))
    known = folders if len(folders) == 2 and had else _VERSIONS
    return NextStep(
        repeat.versions(last + 1, last + more, stem or "run", known),
        message("measures two versions alternately, in folders old and new"),
    )


def _numbered(audit: Audit) -> tuple[str | None, int]:
    """Return the name that all files have in common but for a number, and the largest number."""
    found = [re.fullmatch(r"([A-Za-z_-]+)(\d{1,9})(\.\w+)?", f.path.name) for f in audit.files]
    numbers = [int(one[2]) for one in found if one is not None]
    stems = {one[1] for one in found if one is not None}
    if len(numbers) < len(found) or len(stems) != 1:
        return None, 0
    return stems.pop(), max(numbers)


def _failed(audit: Audit, failed: Sequence[SeriesAudit]) -> Step:
    """Return what shows why runs fail: the command itself, where it is known."""
    commands = _commands(replace(audit, series=tuple(failed)))[:1]
    always = all(s.failed for s in failed)
    if not commands:
        return message("what the failed runs printed shows why they fail")
    return NextStep(
        _run(commands, *(["-n", "1"] if always else [])), message("shows why the runs fail")
    )


def _columns(audit: Audit) -> Step:
    """Return the columns that separate the series, pair their trials, or identify trials."""
    columns = audit.question.columns
    tables = [file.imported for file in audit.files]
    levels = dict.fromkeys(name for table in tables for name in table.levels)
    if unnamed := [name for name in levels if name not in (*columns.group, *columns.compare)]:
        return _again(
            {"--group": ",".join((*columns.group, *unnamed))},
            message("columns whose levels make series; none names them"),
        )
    return _rounds(audit) or _again(
        {"--trial": "row"}, message("if each row is one execution, else the column that names it")
    )


def _sets(audit: Audit) -> Step | None:
    """Return what compares the folders of executions; None where there are not several."""
    if audit.comparisons:
        return None
    if _folders(audit):
        return _again({"--compare": FOLDER}, message("what differs?"))
    if len(audit.series) >= 2 * FEWEST and _differ_in_files(audit):
        return message(
            "put the files of each version into a folder of its own; then {command}",
            command=_audit_of_folders(audit),
        )
    return None


def _folders(audit: Audit) -> bool:
    """Whether several folders have files of the same series, so that folders can be compared."""
    if FOLDER in varied(s.key for s in audit.series):
        return True
    files: dict[Path, int] = {}
    for file in audit.files:
        files[file.path.parent] = files.get(file.path.parent, 0) + 1
    if len(files) < 2 or min(files.values()) < 2:
        return False
    return _differ_in_files(audit)


def _differ_in_files(audit: Audit) -> bool:
    """Whether all series are of one program: they differ in their file alone."""
    keys = [{k: v for k, v in s.key.items() if k != FILE} for s in audit.series]
    return all(key == keys[0] for key in keys)


#: Folders of two versions of a program.
_VERSIONS = ("old", "new")


def _audit_of_folders(audit: Audit) -> str:
    """Return an audit that compares two folders, with files named as those of this one."""
    suffixes = {file.path.suffix for file in audit.files}
    is_plain = len(suffixes) == 1 and all(re.fullmatch(r"\.\w+", one) for one in suffixes)
    pattern = f"*{suffixes.pop()}" if is_plain else "*"
    return f"tare audit --compare folder old/{pattern} new/{pattern}"


def _rounds(audit: Audit) -> Step | None:
    """Return options that pair the trials of each round; None if the table has no rounds."""
    columns = audit.question.columns
    rounds = {file.imported.rounds for file in audit.files}
    compared = _compared(audit)
    keys = columns.compare or ((compared,) if compared is not None else ())
    numbers = rounds.pop()
    if rounds or numbers is None or not keys or columns.block is not None:
        return None
    # Few pairs, whose order tare did not randomise, conclude less than unpaired values.
    if min(s.n for s in audit.series) < _ENOUGH_PAIRS:
        return None
    if any(c.verdict.conclusive for c in audit.comparisons):
        return None
    pairs = {"--compare": ",".join(keys), "--block": numbers, "--trial": columns.trial or "row"}
    return NextStep(
        again("audit", pairs), message("pairs the runs of a round, if each row is one execution")
    )


def _fleet(audit: Audit) -> Step | None:
    """Return what says of a fleet what an audit of series does not; None where there is none."""
    fleets = [f.imported.file for f in audit.files if plan_file.is_fleet(f.imported.file)]
    if not fleets:
        return None
    return NextStep(
        shlex.join(["tare", "fleet", "report", str(fleets[0])]),
        message("by how much hosts differ, and what holds on all of them"),
    )


def _of_tasks(audit: Audit, *, has_page: bool) -> Step | None:
    """Return what shows more of a set of tasks, else what brings enough runs of each task."""
    if not audit.is_of_tasks:
        return None
    if not has_page:
        return _again({"--report": "audit.html"}, message("the same as a page, with charts"))
    return message(
        "6 runs of each task take the <tasks> element of the benchmark definition 6 times"
    )


def _longer_limit(audit: Audit) -> Step | None:
    """Return what shows medians of which only a limit is known that they exceed."""
    if not any(s.median.high == math.inf for s in audit.series):
        return None
    return message("a longer time limit shows how long the runs above this one take")


def _partly_failed(audit: Audit) -> Step | None:
    """Return what shows why some runs of a series fail; None where none is doubted for that."""
    failing = [s for s in audit.series if s.partly_failed is not None]
    return _failed(audit, failing[:1]) if failing else None


def _cure(audit: Audit) -> Step | None:
    """Return what cures the worst doubt; None where nothing that is typed does."""
    # Doubts that chance explains need no cure.
    doubted = () if audit.verdict == "TRUST" else audit.series
    found = {reason.kind: s for s in doubted for reason in s.trust.grounds}
    if "few" in found or "one" in found:
        several = len(audit.series) > 1
        command = _compare(audit) if several else _run(_commands(audit)[:1])
        return NextStep(command, message("measures as often as the answer needs"))
    if (refused := found.get("requests")) is not None:
        defects = refused.series.defects
        few = next(one.message for one in defects if one.kind == "few requests")
        assert isinstance(few, Message)
        return _again(
            {"--value": str(few.args["instead"])},
            message("the values that a trial has enough requests for"),
        )
    if (cure := _inside(found) or _moving(audit, found)) is not None:
        return cure
    # The audit cannot see that files were measured alternately, as Next proposes.
    settled = _repeat(audit) is not None and all(c.verdict.conclusive for c in audit.comparisons)
    if not settled and any(c.matched.needs_pairs for c in audit.comparisons):
        return _rounds(audit) or _pairs(message("measures both in pairs, interleaved"), audit)
    return None


def _inside(found: Mapping[ReasonKind, SeriesAudit]) -> Step | None:
    """Return what takes executions whole, or without their warm-up; None: neither is doubtful."""
    if "grouped" in found and (said := found["grouped"].series.grouped) is not None:
        return _again(
            {"--trial": str(said.args["column"])}, message("each group of rows as one execution")
        )
    inside = found["timeline"].timeline if "timeline" in found else None
    if inside is not None and inside.kind == "warm-up":
        return _again({"--steady": None}, message("the steady part of each execution alone"))
    return None


def _moving(audit: Audit, found: Mapping[ReasonKind, SeriesAudit]) -> Step | None:
    """Return what cures values that change over time; None where no reason is such a change."""
    moves = found.keys() & CHANGING
    cycles = found["cycles"].over_time if "cycles" in found else None
    interleaved = all(c.matched.paired for c in audit.comparisons) and audit.comparisons
    dates = {file.imported.dates for file in audit.files}
    if moves and len(dates) == 1 and (order := dates.pop()) is not None:
        return _again(
            {"--order": order}, message("whether values depend on the time of the day or the week")
        )
    if moves and any(map(_warms_up, audit.series)):
        return _again({"--steady": None}, message("leaves out the warm-up of the first runs"))
    if (moves or cycles) and len(audit.series) > 1 and not interleaved:
        return _pairs(message("interleaved: what changes over time affects both alike"), audit)
    if moves:
        return NextStep("tare doctor", message("what disturbs this machine"))
    if cycles is None or cycles.covers_whole_periods:
        return None
    return message(
        "measure over whole {% if weekly %}weeks{% else %}days{% endif %}: values depend on the "
        "time",
        weekly=bool(cycles.week.is_shown),
    )


def _warms_up(s: SeriesAudit) -> bool:
    """Whether a series is doubtful for a warm-up of its first runs, which --steady leaves out."""
    moves = {reason.kind for reason in s.trust.grounds} & CHANGING
    if not moves or s.counted.begin is not None or has_iterations(s.series):
        return False
    return warm_up(s.series.least, s.question.precision).shape == "warm-up"


def _more(audit: Audit) -> Step | None:
    """Return what brings a verdict, or the precision, by more trials; None where none is open."""
    if _more_pairs(audit):
        return _pairs(message("measures until the verdict is conclusive"), audit)
    short = [s for s in audit.series if not (s.failed or s.reached)]
    if all(s.clock_too_coarse or not s.converges for s in short):
        return None
    target = audit.question.precision
    runs = max((s.runs_needed or 0 for s in short), default=0)
    if (repeat := _repeat(audit)) is not None:
        # Without an estimate: twice as many.
        total = runs or 2 * max(s.n for s in audit.series)
        return _more_executions(_precision(runs, target), repeat, audit, total)
    command = _precise(audit, runs)
    if command is not None:
        return NextStep(command, _precision(runs, target))
    return message(
        "measure each with {% if runs %}≈ {runs}{% else %}more{% endif %} runs, until the median "
        "is known to ± {target}",
        runs=runs or None,
        target=Chosen(target),
    )


def _precision(runs: int, target: float) -> Message:
    """Say what more runs bring; ``runs``: about how many, 0 if that is not known."""
    return message(
        "{% if runs %}≈ {runs} runs give {% else %}until the median is known to {% endif %}± "
        "{target}",
        runs=runs,
        target=Chosen(target),
    )


def _precise(audit: Audit, runs: int) -> str | None:
    """Return the command that brings the precision; None: those of the series are not known."""
    found = _commands(audit)
    if len(audit.series) == 1 or len(found) == 1:
        precision = chosen(audit.question.precision).replace(" ", "")
        return _run(found, "--precision", precision)
    if runs and 1 < len(found) <= _MOST_COMMANDS:
        return _run(found, "--trials", str(runs))
    return None


def _repeat(audit: Audit) -> Repeat | None:
    """Return how the tool repeats the measurement; None where tare can run it."""
    formats: dict[str, Format] = units_of("format")
    return formats[audit.files[0].imported.format].repeat


def _pairs(brings: Message, audit: Audit) -> NextStep:
    """Return what measures series in turn: ``tare compare``, or the tool that has measured them."""
    repeat = _repeat(audit)
    if repeat is None:
        return NextStep(_compare(audit), brings)
    more, n = _more_pairs(audit), max((s.n for s in audit.series), default=0)
    if not {FILE, FOLDER}.issuperset(audit.question.columns.compare):
        return _more_executions(message("more executions"), repeat, audit, max(n + more, FEWEST))
    if more and _folders(audit):
        return _more_executions(brings, repeat, audit, n + more)
    fewest = FEWEST + math.ceil(math.log2(max(1, len(audit.comparisons))))
    # Files that are audited are not written again.
    stem = "turn" if _numbered(audit)[0] == "run" else "run"
    return NextStep(
        repeat.versions(1, max(n + more, fewest), stem, _VERSIONS),
        message("measures two versions alternately, in folders old and new"),
    )


def _more_pairs(audit: Audit) -> int:
    """Return how many trials more of each series settle all comparisons; 0 if they are settled."""
    return max((c.location.more_pairs or 0 for c in audit.comparisons if c.location), default=0)


def _compare(audit: Audit) -> str:
    found = _commands(audit)
    if not 1 < len(found) <= _MOST_COMMANDS:
        return "tare compare 'CMD A' 'CMD B'"
    shell = ["--shell", "sh"] if any(map(_needs_shell, found)) else []
    return shlex.join(["tare", "compare", *shell, *found])


def _run(commands: Sequence[str], *options: str) -> str:
    """Return a ``tare run`` of commands; of an unknown one with a placeholder."""
    typed = shlex.join(["tare", "run", *options])
    if any(map(_needs_shell, commands)):
        return f"{typed} --shell sh {shlex.join(commands)}"
    if len(commands) > 1:
        # Where a command is one word, the next could be its argument.
        one_word = any(len(split(command)) == 1 for command in commands)
        return f"{typed}{' --shell none' if one_word else ''} {shlex.join(commands)}"
    return f"{typed} -- {commands[0] if commands else 'CMD'}"


def _commands(audit: Audit) -> list[str]:
    """Return the commands that were measured, where files have them and this machine can run them.

    hyperfine writes the name that a command was given in place of the command.
    """
    if any(file.imported.format != "hyperfine" for file in audit.files):
        return []
    found = list(dict.fromkeys(s.series.key["command"] for s in audit.series))
    return found if all(map(_can_run, found)) else []


def _needs_shell(command: str) -> bool:
    """Whether a shell expands something in a command, or obeys it."""
    return shell_syntax(command) is not None or _EXPANDED.search(command) is not None


def _can_run(command: str) -> bool:
    if _needs_shell(command):
        return True
    try:
        program = split(command)[0]
    except ExperimentError:
        return False
    return shutil.which(program) is not None
