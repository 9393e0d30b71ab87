"""Which column of a table is what: as was said, and otherwise as the only one that it can be."""

from __future__ import annotations

import difflib
import itertools
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tare.errors import InputError, Typed
from tare.readers import units
from tare.readers.cells import ABSENT, is_number
from tare.readers.dates import Times
from tare.readers.rows import Rows, Want
from tare.readers.series import EACH_ROW, ColumnOptions
from tare.readers.text_file import label

#: Words of columns that hold what was measured, and when.
_AMOUNTS = {
    "bandwidth", "bits", "bps", "bytes", "duration", "elapsed", "gbit", "gbps", "kbps", "latency",
    "mbit", "mbps", "rate", "real", "runtime", "throughput", "value", "wall",
}  # fmt: skip
_TIMES = {"begin", "date", "end", "epoch", "second", "seconds", "start", "time", "timestamp"}
#: Statistics of several values, and how many these were.
_STATISTICS = re.compile(
    r"(?:mean|average|avg|median|std|stdev|stddev|sd|stderr|error|variance|cv|min|max|iqr|mad|range|"
    r"p\d+|q\d|count|n|samples|rounds|runs|iterations|ops|lower|upper|ci)(?:_?(?:ns|us|ms|s))?",
    re.IGNORECASE,
)
#: What rows below the values are called.
_TOTALS = {
    "all", "average", "avg", "max", "mean", "median", "min", "sd", "std", "stdev", "sum", "total",
}  # fmt: skip
#: Words of columns that number executions, and of those that number what is inside one.
_EXECUTIONS = {
    "execution", "fork", "process", "rep", "repeat", "repetition", "replicate", "run", "trial",
}  # fmt: skip
_INSIDE = {"index", "invocation", "iter", "iteration", "round", "row", "sample", "seq", "step"}
#: Words of columns of parameters, which may have consecutive integers as well.
_PARAMETERS = {
    "batch", "client", "clients", "connections", "core", "cores", "cpu", "cpus", "depth", "jobs",
    "level", "load", "n", "node", "nodes", "procs", "quota", "rate", "scale", "size", "thread",
    "threads", "users", "worker", "workers",
}  # fmt: skip
#: Columns that say how a program ended, by their names without punctuation; 0 is success.
_EXIT_CODES = {"exitcode", "exitstatus", "exitval", "exitvalue", "returncode", "retcode"}
#: Names that are those of exit codes only where most are 0.
_PERHAPS_EXIT_CODES = {"exit", "rc", "ret", "status"}
#: Patterns of the cells of a row that succeeded or failed: flags, then words of an outcome.
_TRUE, _FALSE = r"true|yes|y|1(?:\.0*)?", r"false|no|n|0(?:\.0*)?"
_GOOD = (
    r"ok(?:ay)?|success|succeeded|successful|pass|passed|done|finished|complete|completed|"
    r"correct|solved|ac|accepted|(?:un)?sat(?:isfiable)?|optimal|(?:in)?feasible"
)
_BAD = (
    r"fail|failed|failure|error|timeout|timed[ _-]?out|crash|crashed|killed|aborted|exception|"
    r"wrong|incorrect|oom|out[ _-]?of[ _-]?memory|tle|mle|sig[a-z]+|unknown|memout|abort|segfault|"
    r"(?:time|memory|output)[ _-]?limit(?:[ _-]?exceeded)?|(?:run(?:time)?|compil\w+)[ _-]?error|"
    r"wrong[ _-]?answer|no[ _-]?output|rejected|dnf|wa|rte|re|ce|ole|pe|ko|nok|err|cancell?ed"
)
#: Names of columns that say that a row succeeded, that it failed, and how it ended.
_SUCCEEDED = {"success", "succeeded", "successful", "ok", "passed", "valid", "solved", "correct"}
_FAILED = {
    "failed", "failure", "fail", "error", "errored", "timedout", "timeout", "crashed", "killed",
    "aborted",
}  # fmt: skip
_ENDED = {"status", "result", "outcome", "verdict", "state", "conclusion"}
#: Pattern of cells without a text, as data frames write them, too.
_NO_TEXT = "|".join(re.escape(one.lower()) for one in [*ABSENT, "nan"])
#: Names of columns of HTTP status codes.
_HTTP = {"status", "statuscode", "httpstatus", "httpcode", "responsecode"}
_HTTP_CODE = re.compile(r"(?:[1-5]\d\d|000)(?:\.0*)?")
_HTTP_GOOD = re.compile(r"[123]\d\d(?:\.0*)?")
#: Words beside these that say no more.
_NUMBER = {"id", "idx", "no", "nr", "num", "number"}
#: An exit code; a data frame with absent cells writes a fraction.
_CODE = re.compile(r"[-+]?\d{1,10}(?:\.0*)?")
#: The exit code of success.
SUCCESS = re.compile(r"[-+]?0+(?:\.0*)?")
#: Exit codes of a solver of satisfiability that answered; 0 is none of them.
_SOLVED = re.compile(r"10|20")
#: Name of a first column without one, as exported data frames have for their index.
_UNNAMED = "c1"
#: Digits of what still counts something.
_MOST_DIGITS = 10
#: Rows from which consecutive integers that do not recur number them.
_LEAST_ROWS = 6
#: Names of columns whose levels are tasks, the usual one first.
TASKS = ("task", "instance", "problem", "benchmark", "input", "query", "case", "testcase", "test")
#: Tasks that several configurations must have in common.
_COMMON_TASKS = 6
#: Names of columns that a message lists.
_MOST_NAMES = 20


#: Columns by which exported samples of tare are recognised.
_SAMPLES = {"metric", "source", "value", "status", "limit_kind", "above_ns"}

#: Columns of exported samples that describe how a trial ended; they do not separate series.
_HOW_ENDED = {"reason", "failure_kind", "limit_kind", "above_ns", "error_captured"}


@dataclass(frozen=True)
class Roles:
    """Indices of columns.

    Attributes
    ----------
    value : int
    keys : tuple of int
        Those whose levels make the series.
    order, trial, block : int or None
    status : int or None
        The column that says whether a row failed: ``false``, or an exit code other than 0.
    codes : bool
        Whether ``status`` was found by its name and content, as exit codes are.
    success : Pattern
        What stands in it, in lower case, in rows that succeeded.
    parameters : tuple of int
        Columns of whole numbers that look like parameters (each value recurs about equally often)
        and that no option names.
    labels : tuple of int
        ColumnOptions with another text in each row.
    rounds : int or None
        Column that numbers rounds: rows of all series follow each other with the same number.
    guessed : bool
        Whether the column of the values was not named.
    recognised : bool
        Whether ``trial`` was not named, but is called and numbered as executions are.
    inside : int or None
        Column that numbers the iterations of each execution of ``trial``.
    restarts : bool
        Whether ``trial`` numbers what is inside executions, which begin where it begins anew.
    apart : tuple of int
        Those of ``keys`` that nobody named: text, of which some levels recur.
    pooled : tuple of int
        Such columns that are no keys, since others were named.
    rows_are_trials : bool
        Whether every row is an execution of its own, whatever a recognised ``trial`` shows.
    drop_missing : bool
        Whether cells of the values that hold nothing are no defect.
    """

    value: int
    keys: tuple[int, ...]
    order: int | None = None
    trial: int | None = None
    block: int | None = None
    guessed: bool = False
    recognised: bool = False
    inside: int | None = None
    restarts: bool = False
    apart: tuple[int, ...] = ()
    pooled: tuple[int, ...] = ()
    rows_are_trials: bool = False
    drop_missing: bool = False
    status: int | None = None
    codes: bool = False
    success: re.Pattern[str] = SUCCESS
    parameters: tuple[int, ...] = ()
    rounds: int | None = None
    labels: tuple[int, ...] = ()

    def wanted(self) -> dict[int, Want]:
        """Say what each column is read as."""
        wanted: dict[int, Want] = {}
        for i in (self.trial, self.inside, self.block):
            if i is not None:
                wanted[i] = "integer"
        if self.order is not None:
            wanted[self.order] = "time"
        levels = self.keys if self.status is None else (*self.keys, self.status)
        wanted.update(dict.fromkeys(levels, "level"))
        wanted[self.value] = "number"
        return wanted


def find(file: Path, rows: Rows, columns: ColumnOptions) -> Roles:
    """Find the columns that were named; values and keys where they were not.

    Raises
    ------
    InputError
        If there is no such column, or more than one could hold the values; lists what there is.
    """
    is_samples = {*rows.names} >= _SAMPLES
    if is_samples:
        columns = _of_samples(columns)
    keys = tuple(dict.fromkeys((*columns.group, *columns.compare)))
    each_row = columns.trial == EACH_ROW and EACH_ROW not in rows.names
    trial = None if each_row else columns.trial
    named = [name for name in (columns.value, *keys, columns.order) if name is not None]
    numbered = {columns.trial, columns.block} & {columns.value} - {None}
    twice = next((name for name in named if named.count(name) > 1 or name in numbered), None)
    if twice is not None:
        raise InputError(
            f"column {twice!r} cannot be two things at once", "name each column for one purpose"
        )
    index = {
        name: _index(file, rows.names, name)
        for name in (*named, trial, columns.block)
        if name is not None
    }
    found = _status(rows, set(index.values()))
    status, success = (None, SUCCESS) if found is None else found
    taken = {*index.values(), *(() if status is None else (status,))}
    if is_samples:
        taken |= {i for i, name in enumerate(rows.names) if name in _HOW_ENDED} - {*index.values()}
    _check_statistics(file, rows)
    counters = _counters(rows, taken)
    _check_trial(file, rows, index.get(trial or ""))
    value = index[columns.value] if columns.value else _only_numeric(file, rows, taken | counters)
    executions = [i for i in counters - {value} if _words(rows.names[i]) & _EXECUTIONS]
    levels = tuple(_of_levels(rows, {value, *taken}))
    separate = tuple(index[name] for name in keys) or levels
    rounds = (i for i in sorted(counters - {value}) if _are_rounds(rows, i, separate))
    parameters = tuple(sorted(_parameters(rows, {value, *taken, *counters}, separate)))
    recognised = columns.trial is None and len(executions) == 1
    inside = [i for i in counters - {value} if _words(rows.names[i]) & _INSIDE]
    # Iterations begin anew for each level of a parameter, too.
    grouping = executions or ([] if parameters else inside)
    trials = [index[trial]] if trial else grouping if recognised or each_row else []
    numbers_trials = len(trials) == 1
    return Roles(
        value=value,
        keys=separate,
        order=index[columns.order] if columns.order else None,
        trial=trials[0] if numbers_trials else None,
        block=index[columns.block] if columns.block else None,
        guessed=columns.value is None,
        recognised=recognised,
        inside=_iterations(rows, trials, inside)
        if columns.order is None and not each_row
        else None,
        restarts=numbers_trials and bool(_words(rows.names[trials[0]]) & _INSIDE),
        apart=() if keys else levels,
        pooled=tuple(i for i in levels if len({*rows.sample()[i]}) > 1) if keys else (),
        rows_are_trials=each_row,
        drop_missing=columns.drop_missing,
        status=status,
        codes=status is not None,
        success=success,
        parameters=parameters,
        rounds=next(rounds, None),
        labels=tuple(_labels(rows, {value, *taken, *levels})),
    )


def _iterations(rows: Rows, trials: Sequence[int], inside: Sequence[int]) -> int | None:
    """Return the only column that numbers what is inside the executions of a column of trials."""
    if len(trials) != 1 or len(inside) != 1 or _words(rows.names[trials[0]]) & _INSIDE:
        return None
    return inside[0]


def _of_samples(columns: ColumnOptions) -> ColumnOptions:
    """Name the columns of samples that tare exported: a value belongs to its metric and source."""
    if columns.value not in (None, "value"):
        return columns
    chosen = {*columns.compare, columns.trial, columns.order, columns.block}
    apart = tuple(one for one in ("metric", "source") if one not in chosen)
    # Without any columns named, all levels are separated.
    group = (*columns.group, *apart) if columns.group or columns.compare else ()
    return replace(columns, value="value", group=tuple(dict.fromkeys(group)))


def _status(rows: Rows, taken: set[int]) -> tuple[int, re.Pattern[str]] | None:
    """Find the column that says whether rows failed, and what succeeded ones have there.

    By its name and content, unless it has another purpose: exit codes first.
    """
    named = [
        (re.sub(r"[\W_]+", "", rows.names[i].casefold()), i, [c.strip().lower() for c in cells])
        for i, cells in enumerate(_sampled(rows))
        if i not in taken and cells
    ]
    for succeeded in (_exit_codes, _words_of_outcome, _http_codes, _texts_of_failures):
        for name, i, cells in named:
            success = succeeded(name, cells, len(rows.sample()[i]))
            if success is not None:
                return i, success
    return None


def _exit_codes(name: str, cells: Sequence[str], _: int) -> re.Pattern[str] | None:
    """Return the pattern of a successful row's exit code; None if the cells are not exit codes."""
    good = sum(SUCCESS.fullmatch(cell) is not None for cell in cells)
    answered = sum(_SOLVED.fullmatch(cell) is not None for cell in cells)
    if not all(_CODE.fullmatch(cell) or re.fullmatch(_BAD, cell) for cell in cells):
        return None
    if name in _EXIT_CODES and not good and 2 * answered > len(cells):
        return _SOLVED
    named = name in _EXIT_CODES and (good or all(map(_CODE.fullmatch, cells)))
    return SUCCESS if named or (name in _PERHAPS_EXIT_CODES and 2 * good > len(cells)) else None


def _words_of_outcome(name: str, cells: Sequence[str], _: int) -> re.Pattern[str] | None:
    """Return the words of successful rows; None if the column has no outcomes."""
    for names, success, failure, said in (
        (_SUCCEEDED, _TRUE, _FALSE, _TRUE),
        (_FAILED, _FALSE, _TRUE, f"{_FALSE}|{_NO_TEXT}"),
        # A reason may stand behind a word: "failed (timeout)".
        (_ENDED, _GOOD, rf"(?:{_BAD})(?: ?\(.*\))?", _GOOD),
    ):
        # Only 1 among failures, or only 0 among successes, is as likely a count.
        clear = any(re.fullmatch(success, c) for c in cells) or not any(map(is_number, cells))
        known = all(re.fullmatch(f"{success}|{failure}", cell) for cell in cells)
        if name in names and clear and known:
            return re.compile(said)
    return None


def _http_codes(name: str, cells: Sequence[str], _: int) -> re.Pattern[str] | None:
    """Return what status codes of HTTP of good answers are; None: most are none of these."""
    good = sum(_HTTP_GOOD.fullmatch(cell) is not None for cell in cells)
    known = all(_HTTP_CODE.fullmatch(cell) or re.fullmatch(_BAD, cell) for cell in cells)
    return _HTTP_GOOD if name in _HTTP and known and 2 * good > len(cells) else None


def _texts_of_failures(name: str, cells: Sequence[str], rows: int) -> re.Pattern[str] | None:
    """Return what rows without an error have, where a text in others is what went wrong."""
    texts = [cell for cell in cells if cell != "nan"]
    is_text = 0 < len(texts) < rows and not any(map(is_number, texts))
    return re.compile(_NO_TEXT) if name in _FAILED and is_text else None


def _check_statistics(file: Path, rows: Rows) -> None:
    """Refuse rows of statistics below the values, such as a last row that is called "mean".

    Raises
    ------
    InputError
        If a column that numbers the rows has the name of a statistic in one of them.
    """
    for name, cells in zip(rows.names, _sampled(rows), strict=True):
        words = [cell for cell in cells if not cell.strip().isdecimal()]
        statistics = [cell for cell in words if cell.strip().casefold() in _TOTALS]
        numbers = [cell for cell in cells if cell.strip().isdecimal()]
        if statistics and len(statistics) == len(words) and numbers and _is_counting(numbers):
            raise InputError(
                f"{file} has a row of statistics: {label(name)} is {label(statistics[0])}",
                "leave out the rows that hold no single values",
            )


def _check_trial(file: Path, rows: Rows, trial: int | None) -> None:
    """Refuse executions that are numbered by what is inside of them, such as iterations.

    Raises
    ------
    InputError
        If another column numbers executions.
    """
    if trial is None or not _words(rows.names[trial]) & _INSIDE:
        return
    others = [
        rows.names[i] for i in _counters(rows, {trial}) if _words(rows.names[i]) & _EXECUTIONS
    ]
    if others:
        raise InputError(
            f"{file}: {label(rows.names[trial])} numbers what is inside an execution, "
            f"{label(others[0])} the executions",
            Typed(f"--trial {shlex.quote(label(others[0]))}"),
        )


def listed(names: Sequence[str]) -> str:
    """List the names of columns, not all where they are many."""
    shown = ", ".join(label(name) for name in names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    return f"{shown} and {more:,} more" if more > 0 else shown


def _index(file: Path, names: Sequence[str], name: str) -> int:
    found = [i for i, one in enumerate(names) if one == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"{file} has {len(found)} columns {name!r}", "rename all but one of them")
    near = difflib.get_close_matches(name, names[:1000], 1, 0.5)
    meant = f"did you mean {label(near[0])!r}? " if near else ""
    raise InputError(f"{file} has no column {name!r}", f"{meant}It has: {listed(names)}")


def _sampled(rows: Rows) -> list[list[str]]:
    """Return what stands in the first rows of each column, without cells that hold nothing."""
    return [[c for c in column if c.strip() not in ABSENT] for column in rows.sample()]


def _is_numeric(cells: Sequence[str]) -> bool:
    good = sum(is_number(cell) or cell.lower() == "nan" for cell in cells)
    return good > len(cells) / 2


def _split(name: str) -> list[str]:
    """Return the words of a column's name in lower case: ``JobRuntime`` is two."""
    return re.split(r"[\W_\d]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).casefold())


def _words(name: str) -> set[str]:
    """Return the words of a column's name in lower case, without plurals."""
    words = _split(name)
    return {w if w in _EXECUTIONS else w.removesuffix("s") for w in words if w}


def _counters(rows: Rows, taken: set[int]) -> set[int]:
    """Find columns that number executions, or what is inside them: by name and content.

    All columns of numbers are such where no other is left for the values: then none is.
    """
    found, others = set(), 0
    sampled = rows.sample()
    series = [*zip(*(sampled[i] for i in _of_levels(rows, set())), strict=True)]
    for i, cells in enumerate(_sampled(rows)):
        if i in taken or not cells or not _is_numeric(cells):
            continue
        words = _words(rows.names[i]) - _NUMBER
        is_index = i == 0 and rows.names[0] == _UNNAMED
        is_named = len(words) == 1 and words <= _EXECUTIONS | _INSIDE
        if _is_counting(cells) and (
            is_named or is_index or _numbers_rows(rows.names[i], cells, series)
        ):
            found.add(i)
        else:
            others += 1
    return found if others or taken else set()


def _numbers_rows(name: str, cells: Sequence[str], series: Sequence[tuple[str, ...]]) -> bool:
    """Whether the rows of each series have consecutive integers, whatever the column's name."""
    if _PARAMETERS.intersection(_split(name)) or units.of_column(name)[1] is not None:
        return False
    if len(cells) < _LEAST_ROWS or (series and len(series) != len(cells)):
        return False
    last: dict[tuple[str, ...], int] = {}
    for of, cell in zip(series or [()] * len(cells), cells, strict=True):
        number = int(cell.strip())
        if last.setdefault(of, number - 1) != number - 1:
            return False
        last[of] = number
    return True


def _is_counting(cells: Sequence[str]) -> bool:
    """Whether the numbers are consecutive integers that begin with 0 or 1."""
    if not all(cell.strip().isdecimal() and len(cell.strip()) < _MOST_DIGITS for cell in cells):
        return False
    numbers = {int(cell.strip()) for cell in cells}
    return min(numbers) <= 1 and max(numbers) - min(numbers) + 1 == len(numbers)


def _of_levels(rows: Rows, taken: set[int]) -> Iterator[int]:
    """Find columns of text whose levels recur; these are neither dates nor remarks."""
    found, fewer = [], []
    for i, cells in enumerate(_sampled(rows)):
        if i in taken or not cells or _is_numeric(cells):
            continue
        if 2 * len({cell.strip() for cell in cells}) > len(cells):
            fewer += [i] if rows.names[i].lower() in TASKS else []
        elif Times().numbers(cells) is None:
            found.append(i)
    yield from sorted((*found, *(i for i in fewer if _are_tasks(rows, i, found))))


def _are_tasks(rows: Rows, column: int, levels: Sequence[int]) -> bool:
    """Whether several configurations ran a few of the same tasks, each of them once."""
    columns = rows.sample()
    runs = [*zip(*(columns[i] for i in (column, *levels)), strict=True)]
    ran = Counter(task for task, *_ in runs)
    common = sum(often > 1 for often in ran.values())
    return len({*runs}) == len(runs) and common >= _COMMON_TASKS


def dates(rows: Rows, roles: Roles) -> str | None:
    """Return the only column of dates that could order the rows; None if an order was named."""
    taken = {roles.value, *roles.keys, roles.trial, roles.block, roles.order, roles.status}
    found = []
    for i, cells in enumerate(_sampled(rows)):
        times = Times()
        is_complete = 1 < len(cells) == len(rows.sample()[i])
        if i in taken or not is_complete or any(map(is_number, cells)):
            continue
        numbers = times.numbers(cells)
        if numbers is not None and np.isfinite(numbers).all() and np.ptp(numbers) > 0:
            found.append(rows.names[i])
    return found[0] if roles.order is None and len(found) == 1 else None


def _labels(rows: Rows, taken: set[int]) -> Iterator[int]:
    """Find columns with another text in each row, such as names of benchmarks; no dates."""
    for i, cells in enumerate(_sampled(rows)):
        if i in taken or len(cells) < len(rows.sample()[i]) or len(cells) < 2:
            continue
        differ = len({*cells}) == len(cells) and not any(map(is_number, cells))
        if differ and Times().numbers(cells) is None:
            yield i


def _parameters(rows: Rows, taken: set[int], keys: Sequence[int]) -> Iterator[int]:
    """Find columns of whole numbers that recur within a series, all about equally often."""
    columns = rows.sample()
    for i, cells in enumerate(_sampled(rows)):
        if i in taken or not cells or not _are_levels(cells):
            continue
        levels = zip(*(columns[k] for k in (*keys, i)), strict=True)
        often = [*Counter(levels).values()]
        # The sample may end within the rows of the last level.
        complete = often[:-1] if len(often) > 2 else often
        if len({*cells}) > 1 and min(complete) > 1 and max(complete) <= 1.2 * min(complete):
            yield i


def _are_rounds(rows: Rows, column: int, keys: Sequence[int]) -> bool:
    """Whether rows with the same number follow each other, and have the same series each time."""
    cells = [rows.sample()[i] for i in (column, *keys)]
    rounds = [[*group] for _, group in itertools.groupby(zip(*cells, strict=True), lambda r: r[0])]
    series = [sorted(row[1:] for row in group) for group in rounds]
    # The sample may end within a round.
    alike = all(one == series[0] for one in series[:-1])
    return alike and len(rounds) == len({*cells[0]}) > 1 and len({*series[0]}) > 1


def _likeliest(columns: Mapping[str, Sequence[str]]) -> str:
    """Return the column that looks most like values: an amount or a rate, at least no moment.

    Parameters
    ----------
    columns : mapping
        Cells of the first rows by the name of the column.
    """
    is_index = _UNNAMED in columns and "c2" not in columns
    no_counts = [
        name
        for name in columns
        if not _words(name) & (_EXECUTIONS | _INSIDE) and not (is_index and name == _UNNAMED)
    ]
    amounts = (name for name in no_counts if _AMOUNTS.intersection(_split(name)))
    # Whole numbers that recur are levels of a parameter, unless they have a unit.
    names = [
        name
        for name in no_counts
        if units.of_column(name)[1] is not None or not _are_levels(columns[name])
    ] or [*columns]
    # A time with a unit is a duration, unless it is called a timestamp.
    no_times = [
        name
        for name in names
        if _TIMES.isdisjoint(_split(name))
        or (_TIMES.intersection(_split(name)) == {"time"} and units.of_column(name)[1] is not None)
    ]
    measured = (name for name in no_times if units.of_column(name)[1] is not None)
    return next(amounts, None) or next(measured, None) or next(iter(no_times), names[0])


def _are_levels(cells: Sequence[str]) -> bool:
    """Tell whether whole numbers recur in at least half of the rows."""
    return all(cell.strip().isdecimal() for cell in cells) and 2 * len({*cells}) <= len(cells)


def _only_numeric(file: Path, rows: Rows, taken: set[int]) -> int:
    sampled = _sampled(rows)
    numeric = [i for i, cells in enumerate(sampled) if i not in taken and _is_numeric(cells)]
    free = [rows.names[i] for i in numeric]
    with_commas = [
        rows.names[i]
        for i, cells in enumerate(sampled)
        if i not in (*taken, *numeric) and _is_numeric([c.replace(",", "") for c in cells])
    ]
    # A column that only numbers the rows is no value where others have decimal commas.
    if with_commas and all(_is_counting(sampled[i]) for i in numeric):
        raise InputError(
            f"{file} has commas in its numbers: {listed(with_commas)}",
            "write them with decimal points, and without commas between thousands",
        )
    if len(numeric) == 1:
        return numeric[0]
    if not numeric:
        raise InputError(
            f"{file} has no column of numbers, except those that were named otherwise",
            f"name it with --value; there are: {listed(rows.names)}",
        )
    if all(_STATISTICS.fullmatch(name) for name in free):
        raise InputError(
            f"{file} holds statistics: {listed(free)}; no single values",
            Typed(
                f"--value {shlex.quote(label(free[0]))} --trial {EACH_ROW}   "
                "(if each row is one run; otherwise let the tool write every value)"
            ),
        )
    stems = {re.sub(r"\d+", "", name) for name in free}
    if len(free) > 2 and len(stems) == 1:
        raise InputError(
            f"{file} has its values in several columns: {listed(free)}",
            "write one value per row, and the name of its column beside it",
        )
    likeliest = _likeliest({rows.names[i]: sampled[i] for i in numeric})
    raise InputError(
        f"{file} has several columns of numbers: {listed(free)}",
        Typed(
            f"--value {shlex.quote(label(likeliest))}"
            + _grouped(rows, taken, rows.names.index(likeliest))
            + _others_alike(rows, numeric, likeliest)
        ),
    )


def _others_alike(rows: Rows, numeric: Sequence[int], likeliest: str) -> str:
    """Name the other columns that hold values of the same unit, as those of a wide table do."""
    unit = units.of_column(likeliest)[1]
    others = [
        shlex.quote(label(rows.names[i]))
        for i in numeric
        if unit is not None
        and rows.names[i] != likeliest
        and units.of_column(rows.names[i])[1] == unit
    ]
    return f"   (or {listed(others)})" if others else ""


def _grouped(rows: Rows, taken: set[int], value: int) -> str:
    """Return the option that separates values by parameters that are numbers; empty: none are."""
    taken = {value, *taken}
    levels = [*_of_levels(rows, taken)]
    parameters = [*_parameters(rows, taken, levels)]
    if not parameters:
        return ""
    columns = sorted([*parameters, *levels])
    return f" --group {shlex.quote(','.join(label(rows.names[i]) for i in columns))}"
