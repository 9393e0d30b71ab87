"""What to type after ``tare audit``: what cures what it found, else what shows more of it."""

from __future__ import annotations

import math
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from tare import files
from tare.cli.again import FILES, again, budget
from tare.cli.command_line import split
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
from tare.statistics.warmup import begins_with_warm_up
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
#: Characters that a shell expands or groups by, besides those that need one.
_EXPANDED = re.compile(r"[*?\[\](){}~#!]")
#: Words that may stand before the name of a program: brackets, variables. The value of one that
#: ends in a dollar sign goes on after it, in brackets.
_BEFORE_COMMAND = re.compile(r"\(+|[{!]|[A-Za-z_]\w*=(?:.*[^$])?", re.DOTALL)
#: First words of a line that need no program of that name.
_OF_THE_SHELL = frozenset({
    ".", ":", "[", "case", "cd", "command", "eval", "exec", "exit", "export", "for", "if", "set",
    "test", "trap", "ulimit", "umask", "until", "wait", "while",
})  # fmt: skip
#: Commands of a file that stand in a command line.
_MOST_COMMANDS = 3
#: Formats whose series have the measured command line as their key ``command``.
_WITH_COMMANDS = {"hyperfine", "summary-csv"}
#: What starting and recording a trial takes besides the command's own time, roughly.
_TRIAL_S = 0.01
#: How long a command is measured where nothing else is asked for.
_BUDGET_S = 10.0


def follow_up(audit: Audit, *, has_page: bool) -> Step | None:
    """Return the next command worth typing; advice where none runs as it stands, None: neither."""
    if (known := _of_tasks(audit, has_page=has_page)) is not None:
        return known
    steps = (_executions, _platforms, _fleet, _longer_limit, _partly_failed, _cure, _sets, _rounds,
             _more)  # fmt: skip
    better = next((found for step in steps if (found := step(audit)) is not None), None)
    if better is not None or not any(s.n for s in audit.series):
        return better
    return _difference(audit) or _further(audit, has_page=has_page)


def _further(audit: Audit, *, has_page: bool) -> Step | None:
    """Return what shows the same otherwise, or measures pairs; None where neither is worth it."""
    if not has_page:
        return _again({"--report": "audit.html"}, message("the same as a page, with charts"))
    if len(audit.series) < 2 or (audit.comparisons and _are_paired(audit)):
        return None
    return _pairs(message("measures both in pairs, interleaved"), audit)


def _platforms(audit: Audit) -> Step | None:
    """Return what shows the overhead of platforms; None where it is shown, or there are none."""
    if audit.platforms is None or audit.question.finding is not None:
        return None
    return _again({"--finding": "overhead"}, message("what each platform costs, size by size"))


def _difference(audit: Audit) -> Step | None:
    """Return what compares series; None where they are compared, or nothing sets them apart."""
    key = _compared(audit)
    if len(audit.series) < 2 or audit.question.columns.compare or key is None:
        return None
    return _again({"--compare": key}, message("what differs?"))


def _again(
    changes: Mapping[str, str | None], brings: Message, without: Sequence[str] = ()
) -> NextStep:
    """Return the same audit with other options, without the files that hold this answer."""
    return NextStep(again("audit", changes, (*FILES, *without)), brings)


def _step(command: str, brings: Message, placeholders: Sequence[str] = ()) -> Step:
    """Return a command; one with placeholders is advice, as it does not run as it stands."""
    if not placeholders:
        return NextStep(command, brings)
    return message(
        "{command}   ({brings}; {placeholders | listing} {% if placeholders | length == 1 %}stands"
        "{% else %}stand{% endif %} for your own)",
        command=command,
        brings=brings,
        placeholders=placeholders,
    )


def _are_paired(audit: Audit) -> bool:
    return all(c.matched.paired for c in audit.comparisons)


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
    if "summary" in reasons and (values := _values(audit)) is not None:
        return values
    if reasons & {"executions", "few", "one", "summary"}:
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
    return _again(pairs, message("compares in pairs, one per task"), ("--group",))


def _values(audit: Audit) -> Step | None:
    """Return what keeps the values that a file summarises; None where it names no command."""
    if _format(audit).repeat is not None or not all("command" in s.key for s in audit.series):
        return None
    brings, found = message("keeps the time of each run"), _commands(audit)
    file = _unused("hyperfine.json")
    typed = ["hyperfine", "--export-json", file, *(found or ["CMD"])]
    command = f"{shlex.join(typed)}; tare audit {file}"
    if found and shutil.which("hyperfine") is None:
        return message("{command}   ({brings})", command=command, brings=brings)
    return _step(command, brings, () if found else ("CMD",))


def _unused(name: str) -> str:
    """Return a name of a file that does not exist: "bench.json", else "bench-2.json"."""
    path, number = Path(name), 2
    while files.is_file(str(path)):
        path, number = path.with_name(f"{Path(name).stem}-{number}{path.suffix}"), number + 1
    return str(path)


def _more_executions(brings: Message, repeat: Repeat, audit: Audit, total: int) -> Step:
    """Return what measures further executions, until each series has ``total`` of them."""
    had = min((len(s.files) if len(s.files) > 1 else 0 for s in audit.series), default=0)
    more = max(1, total - had)
    stem, last = _numbered(audit) if had else (_new_stem(audit), 0)
    stem = stem or "run"
    if not _folders(audit):
        command = repeat.executions(last + 1, last + more, stem, _unused(repeat.file))
        return _step(command, brings, repeat.placeholders)
    folders = list(dict.fromkeys(str(file.path.parent) for file in audit.files))
    known = folders if len(folders) == 2 and had else _VERSIONS
    return _versions(repeat, last + 1, last + more, stem, known)


def _versions(repeat: Repeat, first: int, last: int, stem: str, folders: Sequence[str]) -> Step:
    """Return what measures two versions alternately, in the folders that have their sources."""
    return _step(
        repeat.versions(first, last, stem, folders),
        message("measures two versions alternately"),
        (*folders, *repeat.placeholders),
    )


def _new_stem(audit: Audit) -> str:
    """Return how new files are named: those that are audited are not written again."""
    return "turn" if _numbered(audit)[0] == "run" else "run"


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
    commands = _commands(replace(audit, series=tuple(failed[:1])))
    always = all(s.failed for s in failed)
    if not commands:
        return message("what the failed runs printed shows why they fail")
    return NextStep(
        _run(commands[0], *(["-n", "1"] if always else [])), message("shows why the runs fail")
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
            "{command} compares versions whose files are in folders of their own",
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
    return _again(pairs, message("pairs the runs of a round, if each row is one execution"))


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
    if found.keys() & {"few", "one"}:
        brings = message("measures as often as the answer needs")
        return _compare(brings, audit) if len(audit.series) > 1 else _measured(brings, audit)
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
    interleaved = audit.comparisons and _are_paired(audit)
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
    return begins_with_warm_up(s.series.least, s.question.precision)


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
    if not _by_tare(audit):
        return None
    found = _commands(replace(audit, series=tuple(short)))
    if len(audit.series) == 1 or found:
        brings = _precision(runs if len(found) < 2 else 0, target)
        return _measured(brings, replace(audit, series=tuple(short)))
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


def _measured(brings: Message, audit: Audit) -> Step:
    """Return what measures each command to the precision; of an unknown one with a placeholder."""
    found = _commands(audit)
    if not found:
        return _step(_run("CMD", *_target(audit.series)), brings, ("CMD",))
    each = {c: [s for s in audit.series if s.series.key["command"] == c] for c in found}
    return NextStep("; ".join(_run(c, *_target(some)) for c, some in each.items()), brings)


def _target(some: Sequence[SeriesAudit]) -> list[str]:
    """Return the options that measure a command to the precision of the audit of its series."""
    options = ["--precision", chosen(some[0].question.precision).replace(" ", "")]
    needed_s = max(
        (s.runs_needed or 0) * (s.median.estimate + _TRIAL_S) if s.series.unit == "s" else 0
        for s in some
    )
    return [*options, *(["--budget", budget(needed_s)] if needed_s > _BUDGET_S else [])]


def _repeat(audit: Audit) -> Repeat | None:
    """Return how the tool repeats the measurement; None where it is not known, or tare can."""
    return _format(audit).repeat


def _by_tare(audit: Audit) -> bool:
    """Whether what was measured may be a command, which tare can measure."""
    return _format(audit).is_of_commands


def _format(audit: Audit) -> Format:
    formats: dict[str, Format] = units_of("format")
    return formats[audit.files[0].imported.format]


def _pairs(brings: Message, audit: Audit) -> Step | None:
    """Return what measures series in turn: ``tare compare``, or the tool that has measured them."""
    repeat = _repeat(audit)
    if repeat is None:
        return _compare(brings, audit)
    more, n = _more_pairs(audit), max((s.n for s in audit.series), default=0)
    if not {FILE, FOLDER}.issuperset(audit.question.columns.compare):
        return _more_executions(message("more executions"), repeat, audit, max(n + more, FEWEST))
    if more and _folders(audit):
        return _more_executions(brings, repeat, audit, n + more)
    fewest = FEWEST + math.ceil(math.log2(max(1, len(audit.comparisons))))
    return _versions(repeat, 1, max(n + more, fewest), _new_stem(audit), _VERSIONS)


def _more_pairs(audit: Audit) -> int:
    """Return how many trials more of each series settle all comparisons; 0 if they are settled."""
    return max((c.location.more_pairs or 0 for c in audit.comparisons if c.location), default=0)


def _compare(brings: Message, audit: Audit) -> Step | None:
    """Return what measures commands in turn; None where series are not of commands."""
    if not _by_tare(audit):
        return None
    found = _commands(audit)
    if len(found) < 2:
        return _step("tare compare 'CMD A' 'CMD B'", brings, ("CMD A", "CMD B"))
    shell = ["--shell", "sh"] if any(map(_needs_shell, found)) else []
    return NextStep(shlex.join(["tare", "compare", *shell, *found]), brings)


def _run(command: str, *options: str) -> str:
    """Return a ``tare run`` of a command."""
    typed = shlex.join(["tare", "run", *options])
    if _needs_shell(command):
        return f"{typed} --shell sh {shlex.quote(command)}"
    return f"{typed} -- {command}"


def _commands(audit: Audit) -> list[str]:
    """Return the commands that were measured, where files have them and this machine can run them.

    hyperfine 1 writes the name that a command was given (``-n``) in place of the command.
    """
    if any(file.imported.format not in _WITH_COMMANDS for file in audit.files):
        return []
    found = list(dict.fromkeys(s.series.key.get("command", "") for s in audit.series))
    return found if len(found) <= _MOST_COMMANDS and all(map(_can_run, found)) else []


def _needs_shell(command: str) -> bool:
    """Whether a shell expands something in a command, or executes it without a program."""
    try:
        words = split(command)
    except ExperimentError:
        return True
    return words[0] in _OF_THE_SHELL or _EXPANDED.search(command) is not None


def _can_run(command: str) -> bool:
    """Whether a shell finds the command's first word, and understands all of it."""
    try:
        # With -n, it reads the line and executes nothing of it.
        parsed = subprocess.run(["sh", "-n", "-c", command], capture_output=True, check=False)
        words = shlex.shlex(command, posix=True, punctuation_chars=True)
        words.whitespace_split, words.commenters = True, ""
        first = next((word for word in words if not _BEFORE_COMMAND.fullmatch(word)), "")
        found = first in _OF_THE_SHELL or shutil.which(Path(first).expanduser()) is not None
    except (OSError, RuntimeError, ValueError):
        # No sh, or a line that is too long for it; ~ of an unknown user; a quotation that shlex
        # does not divide.
        return False
    return found and parsed.returncode == 0
