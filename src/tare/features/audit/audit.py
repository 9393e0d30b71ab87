"""Can these numbers be trusted? Verdicts on series of results, whoever measured them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from tare.errors import FailedRunError, InputError
from tare.experiment.findings.time_of_day import Timed
from tare.experiment.findings.variance import Explained
from tare.features.audit.cold import ColdStart, cold_start
from tare.features.audit.comparison import (
    FILE,
    FOLDER,
    ComparisonAudit,
    compare_series,
    nothing_to_compare,
    require_keys,
)
from tare.features.audit.design import design_of
from tare.features.audit.naming import by_kind, named, varied
from tare.features.audit.platforms import Study, study
from tare.features.audit.pooling import Read, are_sets, pool, stem
from tare.features.audit.question import Question, Sizing, Tell, silent
from tare.features.audit.series import VERDICTS, SeriesAudit, audit_series, counted
from tare.features.audit.task_sets import TaskSets, task_sets, with_tasks
from tare.features.audit.variance import explain_each
from tare.readers import ColumnOptions, Imported, Series, read, recognise, require_used
from tare.render.escaping import on_one_line
from tare.render.words import text
from tare.results.message import Message, Said, message
from tare.statistics.time_of_day import TimeOfDay, as_one_family, time_of_day
from tare.statistics.trust import Trust, Verdict, extent_of_all, verdict_of_all

__all__ = ["VERDICTS", "Audit", "FileAudit", "Question", "Sizing", "audit"]

#: What a file should say of its numbers, and what that means. The first three are the criteria of
#: CLOUDNET's survey, section 2: of 44 articles over 60 % left out the first two, and of those that
#: gave averages 37 % the third. The environment is tare's own addition.
CRITERIA = {
    "repetitions": "how often it was measured",
    "statistic": "mean, median or single values",
    "spread": "how far values vary",
    "environment": "where it was measured",
}


#: Format of tables, whose columns are recognised by their names.
_TABLE = "table"


@dataclass(frozen=True)
class FileAudit:
    """What an audit says of a file as a whole."""

    imported: Imported

    @property
    def path(self) -> Path:
        """The file."""
        return self.imported.file

    @property
    def specification(self) -> dict[str, Said | None]:
        """Each criterion, and what the file says of it; None where it says nothing."""
        return {name: getattr(self.imported.specification, name) for name in CRITERIA}

    @property
    def missing(self) -> tuple[str, ...]:
        """Criteria that are not met."""
        return tuple(name for name, said in self.specification.items() if said is None)

    @property
    def points(self) -> int:
        """How many criteria are met."""
        return len(CRITERIA) - len(self.missing)


@dataclass(frozen=True)
class Audit:
    """An audit of one or more files of results.

    Attributes
    ----------
    question : Question
    files : tuple of FileAudit
    series : tuple of SeriesAudit
        In the order of the files.
    cold : ColdStart or None
        The first values of all series beside the rest.
    platforms : Study or None
        What platforms cost, where that is asked for or the columns plainly are a study of them.
    comparisons : tuple of ComparisonAudit
        Pairs named by ``compare``; one family.
    variance : tuple of Explained
        One a metric, where several columns were named.
    tasks : TaskSets or None
        What runs the tasks of a set, of files whose series are tasks.
    """

    question: Question
    files: tuple[FileAudit, ...]
    series: tuple[SeriesAudit, ...]
    cold: ColdStart | None = None
    platforms: Study | None = None
    comparisons: tuple[ComparisonAudit, ...] = ()
    variance: tuple[Explained, ...] = ()
    tasks: TaskSets | None = None

    @property
    def is_of_tasks(self) -> bool:
        """Whether all series are tasks with too few runs, so that only their sets say something."""
        tasks = self.tasks
        return tasks is not None and tasks.are_single and all(s.series.task for s in self.series)

    @property
    def doubts(self) -> tuple[Message, ...]:
        """Reasons to doubt the whole that are not those of one series."""
        failed = [on_one_line(str(f.path)) for f in self.files if not f.imported.series]
        runs = (
            (
                message(
                    "{% if names | length > 3 %}{names | length} files{% else %}{names | listing}"
                    "{% endif %} {% if names | length == 1 %}is a failed run{% else %}are "
                    "failed runs"
                    "{% endif %}",
                    names=failed,
                ),
            )
            if failed
            else ()
        )
        return (*runs, *(said for c in self.comparisons if (said := c.unit_doubt) is not None))

    @property
    def verdict(self) -> Verdict:
        """Verdict of all series together; of a set of tasks, that of the set."""
        if self.tasks is not None and self.is_of_tasks:
            is_corrupt = any(s.series.defects for s in self.series)
            found = "REJECT" if is_corrupt else self.tasks.verdict
        else:
            found = verdict_of_all([s.trust for s in self.series])
        return "DOUBT" if found == "TRUST" and self.doubts else found

    @property
    def trust(self) -> Trust:
        """Verdict of all series, with the widest extent and the fewest sessions of any."""
        some = [s.trust for s in self.series]
        fewest = min(one.sessions for one in some)
        return Trust(self.verdict, (), extent=extent_of_all(some), sessions=fewest)

    @property
    def exit_code(self) -> int:
        """0, 1 or 2 by the verdict; at least 1 where part of a file cannot be read."""
        damaged = any(not one.imported.is_complete for one in self.files)
        return max(VERDICTS.index(self.verdict), int(damaged))

    @cached_property
    def timed(self) -> dict[str, tuple[Timed, ...]]:
        """Series with time stamps in at least 6 units of time, by metric."""
        several = len(self.series) > 1
        return {
            name: tuple(
                Timed(s.name if several else "", s.series.unit or "1", s.over_time)
                for s in some
                if s.over_time is not None
            )
            for name, some in by_kind(s for s in self.series if s.over_time is not None).items()
        }

    def count(self, verdict: Verdict) -> int:
        """Series with this verdict."""
        return sum(s.trust.verdict == verdict for s in self.series)


def audit(files: Sequence[Path], question: Question | None = None, tell: Tell = silent) -> Audit:
    """Audit files of results.

    Parameters
    ----------
    files : sequence of Path
        In any format that :mod:`tare.readers` reads.
    question : Question, optional
        Precision, confidence, quantiles, what the columns mean.
    tell : callable, optional
        Told of progress.

    Raises
    ------
    InputError
        If a file cannot be read, is named twice, or has no column that an option names.
    """
    question = question or Question()
    seen: set[Path] = set()
    for file in files:
        try:
            path = file.resolve()
        except (OSError, RuntimeError) as error:
            raise InputError(f"cannot read {file}: {error}", "name a file of results") from error
        if path in seen:
            raise InputError(f"{file} is named twice", "name each file once")
        seen.add(path)
    require_used(files, question.columns, question.format)
    asked = _without_file(question.columns) if len(files) > 1 else question.columns
    named = (*question.columns.group, *question.columns.compare)
    imported = _read_all(files, asked, question.format, tell)
    if FOLDER in named:
        _require_each_folder(imported)
        imported = _by_label(imported, asked, question.format, tell)
    sets = FOLDER in named or (FILE not in named and are_sets(imported))
    if sets:
        imported = [_with_folder(one) for one in imported]
    found = pool(imported, apart=FILE in named, sets=sets, named=FOLDER in named)
    stems = {one.file: stem(one) for one in imported} if FOLDER in named else {}
    if all(one.format == _TABLE for one in imported):
        found = [
            replace(one, series=series)
            for one, series in zip(found, with_tasks([one.series for one in found]), strict=True)
        ]
    keys = _keys(found, stems, folders=sets)
    require_keys(keys, named)
    apart = varied(keys)
    # Formats name the program or commit first.
    machine_of = {one.file: one.subject[-1] if one.subject else "" for one in imported}
    series = []
    parts = [counted(one.series, question) for one in found]
    cycles = {} if question.finding else _over_time([part.series for part in parts], question)
    for i, (one, key) in enumerate(zip(found, keys, strict=True)):
        tell("looking at series", i, len(found))
        name = _name(one.series, key, keys, apart)
        found_of = audit_series(
            one.files, parts[i], key, name, question, one.executions, cycles.get(i)
        )
        machines = {machine_of[file] for file in one.files}
        series.append(replace(found_of, machine=machines.pop() if len(machines) == 1 else ""))
    read_in = tuple(map(FileAudit, imported))
    cold = cold_start(series)
    made = Audit(
        question,
        read_in,
        tuple(series),
        cold,
        _platforms(series, cold, question),
        tasks=task_sets(series, question),
    )
    return made if question.finding else _beside(made, tell)


def _over_time(series: Sequence[Series], question: Question) -> dict[int, TimeOfDay]:
    """Analyse series that carry times; those of one metric and unit are tested together."""
    found: dict[tuple[str, str | None], dict[int, TimeOfDay]] = {}
    for i, one in enumerate(series):
        if one.at_s is not None and (
            analysis := time_of_day(
                one.at_s, one.least, question.precision, question.confidence, question.unit_s
            )
        ):
            found.setdefault((one.metric, one.unit), {})[i] = analysis
    return {
        i: one
        for some in found.values()
        for i, one in zip(some, as_one_family([*some.values()]), strict=True)
    }


def _read_all(
    files: Sequence[Path], columns: ColumnOptions, format: str | None, tell: Tell
) -> list[Imported]:
    """Read files; those of failed runs have no series.

    Raises
    ------
    FailedRunError
        If all files are of failed runs.
    """
    imported = []
    failed: list[FailedRunError] = []
    for i, file in enumerate(files):
        tell("reading", i, len(files))
        try:
            imported.append(read(file, columns, format))
        except FailedRunError as error:
            failed.append(error)
            note = message("the run failed and is left out: {why}", why=error.why)
            of = recognise(file, format)
            imported.append(Imported(file, (), notes=(note,), is_complete=False, format=of))
    if len(failed) == len(imported):
        raise failed[0]
    return imported


def _by_label(
    imported: list[Imported], columns: ColumnOptions, format: str | None, tell: Tell
) -> list[Imported]:
    """Separate the rows of tables that name them alike in every file, as by a benchmark.

    Otherwise the rows of a file are runs of one program.
    """
    measured = [one for one in imported if one.series]
    common = set.intersection(*({*one.labels} for one in measured))
    if not common:
        return imported
    group = tuple(dict.fromkeys((*columns.group, *sorted(common))))
    files = [one.file for one in imported]
    again = _read_all(files, replace(columns, group=group), format, tell)
    keys = [{frozenset(s.key.items()) for s in one.series} for one in again if one.series]
    return again if all(of_file == keys[0] for of_file in keys) else imported


def _require_each_folder(imported: Sequence[Imported]) -> None:
    """Refuse a folder without a successful run, which would be missing from a comparison.

    Raises
    ------
    InputError
        Names the folder.
    """
    measured = {one.file.parent for one in imported if one.series}
    lost = next((one for one in imported if one.file.parent not in measured), None)
    if lost is not None:
        why = text(lost.notes[0])
        raise InputError(
            f"{lost.file.parent} has no successful run; of {lost.file.name}, {why}",
            "find out why they fail, and measure again",
        )


def _name(
    series: Series, key: dict[str, str], keys: Sequence[dict[str, str]], apart: Sequence[str]
) -> str:
    """Name a series by the levels that set it apart, and by its metric where others share them."""
    if len(keys) == 1:
        return next(iter(key.values()), series.metric)
    name = named(key, apart) or series.metric
    if keys.count(key) > 1 and series.metric not in name:
        return f"{name} · {series.metric}"
    return name


def _platforms(
    series: Sequence[SeriesAudit], cold: ColdStart | None, question: Question
) -> Study | None:
    """Tell what platforms cost, where that is asked for or plain to be a study of them."""
    asked = question.finding == "overhead"
    design = design_of(series, question.columns.compare, question.sizing, asked=asked)
    return None if design is None else study(series, design, cold, question)


def _beside(found: Audit, tell: Tell) -> Audit:
    """Compare series with each other, and say what explains their variance."""
    question, series, tasks = found.question, found.series, found.tasks
    columns = question.columns
    compared: list[ComparisonAudit] = []
    # Single tasks of few runs say nothing, and their sets are compared already.
    alone = [s for s in series if s.series.task is None or tasks is None or not tasks.are_single]
    if columns.compare and alone:
        compared = compare_series(alone, columns.compare, question, tell)
    elif columns.compare and (tasks is None or tasks.ranking is None):
        raise nothing_to_compare(columns.compare)
    tell("decomposing the variance", 0, 1)
    factors = tuple(dict.fromkeys((*columns.group, *columns.compare)))
    return replace(
        found,
        comparisons=tuple(compared),
        variance=explain_each(series, factors, question.seed),
    )


def _keys(found: Sequence[Read], stems: dict[Path, str], *, folders: bool) -> list[dict[str, str]]:
    """Return the keys of series, with their file unless all files have the same one in common.

    ``folders``: the folder of a file is a key, so that files of two folders have the same name.
    ``stems``: what the names of pooled files have in common, where that tells programs apart.
    """
    sources = dict.fromkeys(one.files for one in found)
    firsts = [files[0] for files in sources]
    short = {f: on_one_line(f.name) for f in firsts} if folders else _short(firsts)
    several = len(sources) > 1
    several_programs = len({*stems.values()}) > 1
    return [
        {
            **({FILE: short[one.files[0]]} if several and len(one.files) == 1 else {}),
            **({FILE: stems[one.files[0]]} if several_programs and len(one.files) > 1 else {}),
            **one.series.key,
        }
        for one in found
    ]


def _with_folder(one: Imported) -> Imported:
    """Add the folder of a file to the keys of its series."""
    folder = {FOLDER: str(one.file.parent)}
    return replace(one, series=tuple(replace(s, key={**folder, **s.key}) for s in one.series))


def _without_file(columns: ColumnOptions) -> ColumnOptions:
    """Leave out the keys that an audit of several files has, and no file itself."""
    group, compare = (
        tuple(c for c in some if c not in (FILE, FOLDER))
        for some in (columns.group, columns.compare)
    )
    return replace(columns, group=group, compare=compare)


def _short(files: Sequence[Path]) -> dict[Path, str]:
    """Name files by their last part where that tells them apart."""
    names = [file.name for file in files]
    unique = len(set(names)) == len(names)
    return {file: on_one_line(file.name if unique else str(file)) for file in files}
