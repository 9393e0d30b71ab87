"""Series compared with each other: pairs named by ``--compare``, judged as one family."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from tare.errors import InputError, Typed
from tare.features.audit import phrases
from tare.features.audit.naming import named, varied
from tare.features.audit.pairing import Matched, match
from tare.features.audit.question import Question, Tell, silent
from tare.features.audit.series import SeriesAudit
from tare.render.vocabulary import RATES, SPREADS, TIMES, VALUES, Words
from tare.results.message import Message, message
from tare.results.verdict import HIGHER, INCONCLUSIVE, LOWER, Verdict
from tare.statistics.comparison import Comparison, adjust
from tare.statistics.downsample import sample
from tare.statistics.holm import holm
from tare.statistics.shift import has_ratio
from tare.statistics.spread import (
    SpreadComparison,
    adjust_spreads,
)
from tare.statistics.stability_words import Of, Word, percentile_intervals, word
from tare.statistics.statistic import Shift
from tare.statistics.ticks import ticks_of
from tare.units import chosen, factor

#: Keys of where a series was read: the file, of several, and its folder, if that is named.
FILE, FOLDER = "file", "folder"
#: Key of a command line, in which the levels of its parameters stand.
COMMAND = "command"
#: Ratios of medians this close to a power of 1000 or 1024, as a factor, may be of two units.
_UNITS, _CLOSE = (1e3, 1024.0, 1e6, 1024.0**2, 1e9, 1024.0**3), 1.25
#: Values up to which STABILITY's bootstrap is repeated as published.
MOST_POOLED = 20_000
#: Comparisons of one audit.
MOST_PAIRS = 5000
#: Share of the margin from which a difference of warm-ups may change the verdict.
_UNLIKE = 0.25
#: Relative growth of the p10–p90 range that matters.
SPREAD_MARGIN = 0.5


@dataclass(frozen=True, eq=False)
class ComparisonAudit:
    """Two series that are compared.

    Attributes
    ----------
    key : dict of str to str
        Levels that both have.
    levels : str
        The same in words, without what all comparisons have in common.
    where : str
        Levels, and the metric where comparisons are of several.
    a, b : str
        Level of the compared columns of the first and the second.
    first, second : SeriesAudit
    matched : Matched
        Which trials were put together, and why.
    location : Comparison or None
        The ratio b / a; None where there is none.
    refusal : Message or None
        Why there is none.
    difference : Shift or None
        b − a in the unit of the values, where they have no ratio.
    spread : SpreadComparison or None
        Of the p10–p90 ranges.
    mean, sd : str or None
        STABILITY's words; None where there are too few values, or too many.
    verdict : Verdict
        Of the second, relative to the first.
    """

    key: dict[str, str]
    levels: str
    where: str
    a: str
    b: str
    first: SeriesAudit
    second: SeriesAudit
    matched: Matched
    location: Comparison | None
    refusal: Message | None
    difference: Shift | None
    spread: SpreadComparison | None
    mean: Word | None
    sd: Word | None
    margin: float
    #: p-value of the ratio or the difference, adjusted by Holm's method; 1 where there is neither.
    p_adjusted: float = 1.0
    confidence: float = 0.95

    @property
    def metric(self) -> str:
        """What is compared."""
        return self.first.series.metric

    @property
    def doubtful(self) -> bool:
        """Whether one of the two is doubtful for more than the precision of its median."""
        return not all(s.trust.is_sound for s in (self.first, self.second))

    @property
    def differs_alone(self) -> bool:
        """Whether the interval excludes no difference, but Holm's family is not conclusive."""
        found = self.location
        if found is None or found.low is None or found.high is None or found.verdict.conclusive:
            return False
        return found.low > 1 or found.high < 1

    @property
    def verdict(self) -> Verdict:
        """On the ratio, or on the difference where there is none."""
        if self.location is not None:
            return self.location.verdict
        d = self.difference
        if d is None or not d.different or self.p_adjusted >= 1 - self.confidence:
            return INCONCLUSIVE
        return HIGHER if d.middle > 0 else LOWER

    @property
    def unit_doubt(self) -> Message | None:
        """That the two may be in different units, where these are unknown and 1000 times apart."""
        if self.first.series.unit is not None and self.second.series.unit is not None:
            return None
        one, other = abs(self.first.median.estimate), abs(self.second.median.estimate)
        known = min(one, other) > 0 and math.isfinite(max(one, other))
        ratio = max(one, other) / min(one, other) if known else 1.0
        if not any(unit / _CLOSE <= ratio <= unit * _CLOSE for unit in _UNITS):
            return None
        return message(
            "{second} and {first} differ by a factor of about {times}: are they in the same unit?",
            first=self.a,
            second=self.b,
            times=round(ratio),
        )

    @property
    def words(self) -> Words:
        """What verdicts on the quantity that is compared are called."""
        return _WORDS[self.first.series.lower_is_better]

    @property
    def word(self) -> str:
        """The verdict, to be read: "slower (within 2 %)"."""
        return self.words.of(self.verdict, chosen(self.margin))

    @property
    def spread_word(self) -> str | None:
        """The verdict on the spreads, to be read; None where they are not compared."""
        s = self.spread
        return None if s is None or s.low is None else SPREADS.of(s.verdict, factor(s.margin))


#: Words for verdicts, by whether lower values are better; None: not known.
_WORDS = {True: TIMES, False: RATES, None: VALUES}


def compare_series(
    series: Sequence[SeriesAudit],
    columns: Sequence[str],
    question: Question,
    tell: Tell = silent,
) -> list[ComparisonAudit]:
    """Compare all pairs of series that differ in some columns only.

    Parameters
    ----------
    series : sequence of SeriesAudit
        All of the audit.
    columns : sequence of str
        Keys whose levels are compared.
    question : Question
    tell : callable, optional
        Told of progress.

    Returns
    -------
    list of ComparisonAudit
        Group by group; within one, in the order in which the levels first appear; with the
        reference alone where one was named. All of them are one family: Holm holds the error of
        all ratios together, and of all spreads.

    Raises
    ------
    InputError
        If no series has such a key or reference, or there are no pairs, or too many.
    """
    require_keys([s.key for s in series], columns)
    reference = question.sizing.reference
    if reference is not None:
        require_level([s.key for s in series], columns, reference)
    pairs = [
        pair
        for group in _groups(series, columns, question.columns.group)
        for pair in _paired(group, columns, reference)
    ]
    if not pairs:
        raise nothing_to_compare(columns)
    require_few(pairs)
    family = _Family(
        columns=columns,
        varied=varied(_common(a.key, b.key, columns) for a, b in pairs),
        several_metrics=len({a.series.metric for a, _ in pairs}) > 1,
        words=_stability_intervals(pairs, question),
        size=len(pairs),
    )
    single = []
    for i, (a, b) in enumerate(pairs):
        tell("comparing", i, len(pairs))
        single.append(_compare(a, b, family, question))
    return _judge_family(single, question.margin)


def nothing_to_compare(columns: Sequence[str]) -> InputError:
    """Return the refusal to compare where no two series differ in the columns alone."""
    return InputError(
        f"no two series differ in {' and '.join(columns)} alone: there is nothing to compare",
        "name a column of two levels or more with --compare, and with --group those within which "
        "each has several; without --compare, each series is judged by itself",
    )


def _paired(
    group: Sequence[SeriesAudit], columns: Sequence[str], reference: str | None
) -> Iterator[tuple[SeriesAudit, SeriesAudit]]:
    """Put all with each other, or all others with the reference where one was named."""
    if reference is None:
        pairs = combinations(group, 2)
        yield from (
            (a, b) for a, b in pairs if level_of(a.key, columns) != level_of(b.key, columns)
        )
        return
    first = [s for s in group if level_of(s.key, columns) == reference]
    yield from ((one, other) for one in first for other in group if other not in first)


def _stability_intervals(
    pairs: Sequence[tuple[SeriesAudit, SeriesAudit]], question: Question
) -> dict[int, dict[Of, tuple[float, float]]]:
    """Bootstrap the pooled values of every series that is compared, once."""
    involved = {id(s): s for pair in pairs for s in pair}
    return {
        i: percentile_intervals(s.series.values, np.random.default_rng([question.seed, number]))
        for number, (i, s) in enumerate(involved.items())
        if 2 <= len(s.series.values) <= MOST_POOLED and s.series.above is None
    }


@dataclass(frozen=True)
class _Family:
    """What all comparisons of an audit share."""

    columns: Sequence[str]
    varied: Sequence[str]
    several_metrics: bool
    #: STABILITY's intervals of each series, by its identity.
    words: Mapping[int, dict[Of, tuple[float, float]]]
    size: int


def _compare(
    a: SeriesAudit, b: SeriesAudit, family: _Family, question: Question
) -> ComparisonAudit:
    columns, words = family.columns, family.words
    matched = match(a.trials, b.trials)
    if a.is_one_process or b.is_one_process:
        matched = _of_processes(matched)
    tick = ticks_of(sample(a.series.ended), sample(b.series.ended), (a.tick, b.tick))
    matched = replace(
        matched,
        tick=tick or (a.tick, b.tick),
        dependence=matched.dependence if matched.paired else max(a.dependence, b.dependence),
    )
    refusal, level = _refusal(a, b, matched), question.confidence
    location = None if refusal else matched.compare(question.margin, level)
    said = {of: _word(words.get(id(a)), words.get(id(b)), of) for of in ("mean", "sd")}
    inside = _unlike_inside(a, b, question)
    weak = (*_confounded(a, b, columns), *([] if inside is None else [inside]))
    because = (*matched.because, *weak)
    matched = replace(matched, because=because, unlike_inside=inside is not None)
    key = _common(a.key, b.key, columns)
    return ComparisonAudit(
        key=key,
        levels=named(key, family.varied),
        where=_where(a, key, family),
        a=level_of(a.key, columns),
        b=level_of(b.key, columns),
        first=a,
        second=b,
        matched=matched,
        location=location,
        refusal=refusal,
        difference=_difference(a, b, matched, level) if refusal else None,
        spread=matched.compare_spread(SPREAD_MARGIN, level, question.seed, family.size),
        mean=said["mean"],
        sd=said["sd"],
        margin=question.margin,
        confidence=question.confidence,
    )


def _confounded(a: SeriesAudit, b: SeriesAudit, columns: Sequence[str]) -> Iterator[Message]:
    """Say which other conditions may make the difference."""
    if a.machine and b.machine and a.machine != b.machine:
        yield message(
            "the files name different machines ({first}, {second}): the difference may be theirs",
            first=a.machine,
            second=b.machine,
        )
    left_out = {FILE, FOLDER, COMMAND, *columns}
    for key in sorted((a.key.keys() & b.key.keys()) - left_out):
        if a.key[key] != b.key[key]:
            yield message(
                "{key} differs as well ({first}, {second}): the difference may be its effect",
                key=key,
                first=a.key[key],
                second=b.key[key],
            )


def _unlike_inside(a: SeriesAudit, b: SeriesAudit, question: Question) -> Message | None:
    """Say that iterations inside the trials of one change otherwise than in the other."""
    if question.steady or a.timeline is b.timeline is None:
        return None
    shifts = [0.0 if s.timeline is None else s.timeline.shift for s in (a, b)]
    if abs(shifts[1] - shifts[0]) <= _UNLIKE * question.margin:
        return None
    name, timeline = next((s.name, t) for s in (b, a) if (t := s.timeline) is not None)
    return message(
        "the two differ inside their executions. {name}: {said}{% if kind == 'warm-up' %}. "
        "Compare the steady parts (--steady){% endif %}",
        name=name,
        said=timeline.sentence,
        kind=timeline.kind,
    )


def _common(a: Mapping[str, str], b: Mapping[str, str], columns: Sequence[str]) -> dict[str, str]:
    """Return the levels that two series have in common, besides those compared."""
    return {k: v for k, v in a.items() if k not in columns and b.get(k) == v}


def _where(a: SeriesAudit, key: Mapping[str, str], family: _Family) -> str:
    """Name what a comparison is of: common levels, and the metric where there are several."""
    metric = a.series.metric if family.several_metrics else ""
    return " · ".join(filter(None, (named(key, family.varied), metric)))


def _of_processes(matched: Matched) -> Matched:
    """Reduce the values of each process to their mean: two processes differ without a cause."""
    first, second = (np.array([values.mean()]) for values in (matched.first, matched.second))
    one, two = (np.array([values.mean()]) for values in matched.limits)
    return replace(
        matched, first=first, second=second, limits=(one, two), paired=False, dependence=1.0,
        how="not", because=(
            message("each is one process, and processes of one program differ: there is no "
                "interval"),
        ),
    )  # fmt: skip


def _difference(a: SeriesAudit, b: SeriesAudit, matched: Matched, level: float) -> Shift | None:
    """Return the difference where there is no ratio, but values."""
    if min(len(matched.first), len(matched.second)) == 0 or a.series.defects or b.series.defects:
        return None
    return None if has_ratio(matched.first, matched.second) else matched.difference(level)


def _refusal(a: SeriesAudit, b: SeriesAudit, matched: Matched) -> Message | None:
    """Say why two series have no ratio."""
    if failed := [s.name for s in (a, b) if s.failed]:
        return message("every run of {names | listing} failed", names=failed)
    if min(len(matched.first), len(matched.second)) == 0:
        return message(phrases.REFUSAL_EMPTY)
    if unsteady := [s.name for s in (a, b) if s.counted.refusal]:
        return message("{names | listing}: no part of the iterations is steady", names=unsteady)
    unfit = [s.name for s in (a, b) if s.series.defects]
    if unfit:
        return message("{names | listing}: corrupt values are not compared", names=unfit)
    if min(float(matched.first.min()), float(matched.second.min())) <= 0:
        return message("values of zero or below have no ratio")
    return None


def _word(
    first: dict[Of, tuple[float, float]] | None,
    second: dict[Of, tuple[float, float]] | None,
    of: Of,
) -> Word | None:
    return None if first is None or second is None else word(first[of], second[of])


def _judge_family(some: Sequence[ComparisonAudit], margin: float) -> list[ComparisonAudit]:
    """Adjust ratios and differences, and spreads apart, by Holm over all that were compared."""
    found = [c.location or c.difference for c in some]
    p = iter(holm([one.p for one in found if one is not None]))
    adjusted = [1.0 if one is None else next(p) for one in found]
    spreads = iter(adjust_spreads([c.spread for c in some if c.spread is not None], SPREAD_MARGIN))
    return [
        replace(
            c,
            location=None if c.location is None else adjust(c.location, p_adjusted, margin),
            spread=None if c.spread is None else next(spreads),
            p_adjusted=p_adjusted,
        )
        for c, p_adjusted in zip(some, adjusted, strict=True)
    ]


def require_keys(keys: Sequence[Mapping[str, str]], columns: Sequence[str]) -> None:
    """Refuse to compare or group by a key that no series has.

    Raises
    ------
    InputError
        Lists the keys that there are.
    """
    known = list(dict.fromkeys(name for key in keys for name in key))
    for column in columns:
        if column not in known:
            has = f"has {', '.join(known)}" if known else "has none"
            raise InputError(
                f"no series has the key {column!r}; what was read {has}",
                Typed(f"--compare {shlex.quote(str(known[0]))}")
                if known
                else "leave --compare and --group out",
            )


def require_few(pairs: Sequence[object]) -> None:
    """Refuse to compare too many pairs.

    Raises
    ------
    InputError
        Says how many there are.
    """
    if len(pairs) > MOST_PAIRS:
        raise InputError(
            f"{len(pairs):,} pairs are too many to compare (at most {MOST_PAIRS:,})",
            "name a column of few levels with --compare, and with --group those within which it "
            "is compared",
        )


def require_level(
    keys: Sequence[Mapping[str, str]], columns: Sequence[str], reference: str
) -> None:
    """Refuse to compare with a level that no series has.

    Raises
    ------
    InputError
        Lists the levels that there are.
    """
    some = [key for key in keys if all(column in key for column in columns)]
    levels = list(dict.fromkeys(level_of(key, columns) for key in some))
    if reference not in levels:
        raise InputError(
            f"no series is of {reference!r}; there are: {', '.join(levels)}",
            Typed(f"--reference {shlex.quote(levels[0])}")
            if levels
            else "name what is compared with --compare",
        )


def _groups(
    series: Sequence[SeriesAudit], columns: Sequence[str], named: Sequence[str]
) -> Iterator[list[SeriesAudit]]:
    """Series that differ in the compared columns only; levels in order of first appearance."""
    some = [s for s in series if all(column in s.key for column in columns)]
    order: dict[str, int] = {}
    found: dict[tuple[object, ...], list[SeriesAudit]] = {}
    for s, others in zip(some, conditions([s.key for s in some], columns, named), strict=True):
        order.setdefault(level_of(s.key, columns), len(order))
        found.setdefault((s.series.metric, s.series.unit, *others.items()), []).append(s)
    for alike in found.values():
        for group in _by_file(alike, columns):
            if len(group) > 1:
                yield sorted(group, key=lambda s: order[level_of(s.key, columns)])


def _by_file(alike: Sequence[SeriesAudit], columns: Sequence[str]) -> list[list[SeriesAudit]]:
    """Split series that differ in the compared columns and their file, where a level recurs."""
    levels = {level_of(s.key, columns) for s in alike}
    if len(levels) == len(alike):
        return [list(alike)]
    found: dict[str | None, list[SeriesAudit]] = {}
    for s in alike:
        found.setdefault(s.key.get(FILE), []).append(s)
    return list(found.values())


def conditions(
    keys: Sequence[Mapping[str, str]], columns: Sequence[str], named: Sequence[str]
) -> list[dict[str, str]]:
    """Return the levels in which those that are compared agree.

    The file, and what the compared columns determine, are conditions only where an option names
    them.
    """
    free = {*columns, *({FILE, *_following(keys, columns)} - {*named})}
    return [{k: v for k, v in key.items() if k not in free} for key in keys]


def _following(some: Sequence[Mapping[str, str]], columns: Sequence[str]) -> set[str]:
    """Return keys whose levels the compared ones determine; of a command, all its parameters.

    Left among the conditions, they would leave no two series to compare.
    """
    keys = [k for k in dict.fromkeys(k for key in some for k in key) if k not in columns]
    found = {
        name
        for name in keys
        if len({key.get(name) for key in some}) > 1 and _determine(some, columns, (name,))
    }
    others = [name for name in keys if name not in {COMMAND, FILE, *found}]
    if COMMAND in keys and _determine(some, (*columns, *others), (COMMAND,)):
        found.add(COMMAND)
    return found


def _determine(
    some: Sequence[Mapping[str, str]], keys: Sequence[str], others: Sequence[str]
) -> bool:
    """Whether series with the same levels of ``keys`` have the same levels of ``others``."""
    found: dict[tuple[str | None, ...], tuple[str | None, ...]] = {}
    for key in some:
        of_keys, of_others = (tuple(map(key.get, names)) for names in (keys, others))
        if found.setdefault(of_keys, of_others) != of_others:
            return False
    return True


def level_of(key: Mapping[str, str], columns: Sequence[str]) -> str:
    """Name the level of the compared columns."""
    return ", ".join(key[column] for column in columns)
