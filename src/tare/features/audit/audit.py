"""Can these numbers be trusted? Verdicts on series of results, whoever measured them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tare.features.audit.cold import ColdStart, cold_start
from tare.features.audit.comparison import ComparisonAudit, compare_series
from tare.features.audit.design import design_of
from tare.features.audit.naming import named, varied
from tare.features.audit.overhead import OverheadAudit, overhead
from tare.features.audit.question import Question, Sizing, Tell, silent
from tare.features.audit.series import VERDICTS, SeriesAudit, audit_series
from tare.features.audit.variance import VarianceAudit, explain
from tare.readers import Columns, Imported, Series, read
from tare.readers.single_runs import identity, is_single, join
from tare.results.message import Said
from tare.statistics.trust import Verdict, verdict_of_all

__all__ = ["VERDICTS", "Audit", "FileAudit", "Question", "Sizing", "audit"]

#: Key that tells the files of an audit apart, where there are several.
FILE = "file"
#: What a file should say of its numbers, and what that means. The first three are the criteria of
#: CLOUDNET's survey, section 2: of 44 articles over 60 % left out the first two, and of those that
#: gave averages 37 % the third. The environment is tare's own addition.
CRITERIA = {
    "repetitions": "how often it was measured",
    "statistic": "mean, median or single values",
    "spread": "how far values vary",
    "environment": "where it was measured",
}


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
    overhead : OverheadAudit or None
        What platforms cost, where that is asked for or the columns plainly are a study of them.
    comparisons : tuple of ComparisonAudit
        Pairs named by ``compare``; one family.
    variance : tuple of VarianceAudit
        One a metric, where several columns were named.
    """

    question: Question
    files: tuple[FileAudit, ...]
    series: tuple[SeriesAudit, ...]
    cold: ColdStart | None = None
    overhead: OverheadAudit | None = None
    comparisons: tuple[ComparisonAudit, ...] = ()
    variance: tuple[VarianceAudit, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """Verdict of all series together."""
        return verdict_of_all([s.trust for s in self.series])

    @property
    def exit_code(self) -> int:
        """0, 1 or 2 by the verdict.

        At least 1 where a required precision was missed, or part of a file cannot be read.
        """
        missed = self.question.precision_required and any(not s.reached for s in self.series)
        damaged = any(not one.imported.is_complete for one in self.files)
        return max(VERDICTS.index(self.verdict), int(missed), int(damaged))

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
        If a file cannot be read, or lacks what was named.
    """
    question = question or Question()
    asked = _without_file(question.columns) if len(files) > 1 else question.columns
    imported = []
    for i, file in enumerate(files):
        tell("reading", i, len(files))
        imported.append(read(file, asked, question.format))
    found = _joined([(one.file, s) for one in imported for s in one.series], question.columns)
    keys = _keys(found)
    apart = varied(keys)
    series = []
    for i, ((in_files, s), key) in enumerate(zip(found, keys, strict=True)):
        tell("looking at series", i, len(found))
        name = named(key, apart) or s.metric
        if keys.count(key) > 1 and s.metric not in name:
            name = f"{name} · {s.metric}"
        made = audit_series(in_files[0], s, key, name, question)
        series.append(replace(made, others=in_files[1:]))
    read_in = tuple(map(FileAudit, imported))
    cold = cold_start(series)
    whole = Audit(question, read_in, tuple(series), cold, _overhead(series, cold, question))
    return whole if question.finding else _beside(whole, tell)


def _joined(
    found: Sequence[tuple[Path, Series]], columns: Columns
) -> list[tuple[tuple[Path, ...], Series]]:
    """Join the series of which every file has one run, unless files are to be told apart."""
    apart = FILE in (*columns.group, *columns.compare)
    alike: dict[Hashable, list[tuple[Path, Series]]] = {}
    for i, (file, s) in enumerate(found):
        alike.setdefault(identity(s) if is_single(s) and not apart else i, []).append((file, s))
    return [(tuple(f for f, _ in some), join([s for _, s in some])) for some in alike.values()]


def _overhead(
    series: Sequence[SeriesAudit], cold: ColdStart | None, question: Question
) -> OverheadAudit | None:
    """Tell what platforms cost, where that is asked for or plain to be a study of them."""
    asked = question.finding == "overhead"
    design = design_of(series, question.columns.compare, question.sizing, asked=asked)
    return None if design is None else overhead(series, design, cold, question)


def _beside(found: Audit, tell: Tell) -> Audit:
    """Compare series with each other, and say what explains their variance."""
    question, series = found.question, found.series
    columns = question.columns
    compared = compare_series(series, columns.compare, question, tell) if columns.compare else []
    tell("decomposing the variance", 0, 1)
    factors = tuple(dict.fromkeys((*columns.group, *columns.compare)))
    return replace(
        found,
        comparisons=tuple(compared),
        variance=explain(series, factors, question.seed),
    )


def _keys(found: Sequence[tuple[tuple[Path, ...], Series]]) -> list[dict[str, str]]:
    """Name series so that no two of an audit are called the same; by file, if it is one of many."""
    files = list(dict.fromkeys(file for some, _ in found for file in some))
    short = _short(files)
    return [
        {**({FILE: short[some[0]]} if 1 == len(some) < len(files) else {}), **dict(s.key)}
        for some, s in found
    ]


def _without_file(columns: Columns) -> Columns:
    """Leave out the key that an audit of several files has, and no file itself."""
    group, compare = (
        tuple(c for c in some if c != FILE) for some in (columns.group, columns.compare)
    )
    return replace(columns, group=group, compare=compare)


def _short(files: Sequence[Path]) -> dict[Path, str]:
    """Name files by their last part where that tells them apart."""
    names = [file.name for file in files]
    unique = len(set(names)) == len(names)
    return {file: file.name if unique else str(file) for file in files}
