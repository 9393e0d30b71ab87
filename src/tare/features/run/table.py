"""``tare run`` of several commands, parameters or platforms: one table of all of them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tare import units
from tare.cli import console
from tare.cli.again import again
from tare.errors import ExperimentError, TrialError
from tare.experiment.findings.known import figure_of, relative_spread
from tare.measure.comparison.session import (
    Execution,
    Wanted,
    by_hand,
    check_complete,
    differences_in,
    measure,
    prepare,
)
from tare.results.verdict import EQUIVALENT

if TYPE_CHECKING:
    from tare.cli.lines import Line
    from tare.experiment.findings.judgement import Difference
    from tare.experiment.results import Results
    from tare.results.message import Message
    from tare.statistics.intervals import Interval
    from tare.statistics.statistic import FloatArray

#: Comparisons of which each is told what would settle it.
MOST_TOLD = 3


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    median: str
    #: Difference from the reference with its verdict; None: nothing is compared.
    versus: str | None
    spread: str
    n: str

    @property
    def cells(self) -> tuple[str, ...]:
        """What stands in the columns."""
        versus = () if self.versus is None else (self.versus,)
        return self.name, self.median, *versus, self.spread, self.n


def check(platforms: Sequence[str], lines: Sequence[Line], refused: Mapping[str, bool]) -> None:
    """Refuse what is asked of one command alone, and a platform that is named twice.

    Parameters
    ----------
    platforms : sequence of str
        In the order of the table.
    lines : sequence of Line
        In the order of the table.
    refused : mapping
        Options to whether they were given.
    """
    twice = next((one for one in platforms if list(platforms).count(one) > 1), None)
    if twice is not None:
        raise ExperimentError(f"--platform {twice} is given twice", "name each platform once")
    if len(platforms) > 1 and len(lines) > 1:
        raise ExperimentError(
            f"{len(lines)} commands on {len(platforms)} platforms are more than one table",
            "one of both, or an experiment: tare experiment new",
        )
    given = next((option for option, is_given in refused.items() if is_given), None)
    if given is not None:
        what = "platform" if len(platforms) > 1 else "command"
        raise ExperimentError(
            f"{given} is about one {what}, and {max(len(platforms), len(lines))} are asked for",
            f"leave {given} out (--budget and -n are for all), or run each {what} by itself",
        )


def run_table(
    table: dict[str, Any],
    lines: Sequence[Line],
    execution: Execution,
    wanted: Wanted,
    export: str | None,
    *,
    named: bool,
) -> int:
    """Measure all in turn, print the table, return the exit code.

    Parameters
    ----------
    table : dict
        The experiment, with ``compare``.
    lines : sequence of Line
        What was typed.
    execution, wanted
        As for ``tare compare``.
    export : str or None
        File in hyperfine's format.
    named : bool
        Whether the commands were given names.
    """
    from tare.experiment.findings.failures import by_level
    from tare.measure.comparison import session
    from tare.render.words import text

    table["experiment"] = {k: v for k, v in table["experiment"].items() if k != "quantile"}
    _check_one(table["experiment"])
    factor = table["experiment"]["compare"]
    prepared = prepare(table, execution.network)
    with wanted.folder() as folder:
        ended, failure = measure(prepared, folder, execution)
        spoken = "-" not in (wanted.json, wanted.markdown, export)
        results = prepared.results(folder)
        try:
            found = differences_in(results, folder, execution, ended)
        except TrialError:
            if spoken:
                _show_uncompared(results)
            if wanted.json is not None:
                _write_json((), results, ended, wanted.json)
            raise
        heads, rows = _laid_out(found, results)
        failed = by_level(results, factor=factor)
        if spoken:
            _show(heads, rows, found, lines, results, ended, failed)
        if wanted.json is not None:
            _write_json(found, results, ended, wanted.json)
        if wanted.markdown is not None:
            console.write_text(markdown(heads, rows, failed), wanted.markdown, "--markdown")
        if export is not None:
            from tare.features.run.exports import as_hyperfine, trials_of

            console.write_json(as_hyperfine(trials_of(results), lines, named=named), export)
        page = session.page(folder, results, found, wanted)
        if spoken:
            waiting = any(not d.comparison.verdict.conclusive for d in found)
            instead = session.by_cpu_time(results, "run") if waiting else None
            if instead:
                console.out.print(f"Next    {text(instead)}", style="dim", soft_wrap=True)
            drawing = again("run", {"--report": "report.html"})
            told = f"Report  {page}" if page else f"Next    {drawing}   (draws the page)"
            console.out.print(told, style="dim", soft_wrap=True)
        if failure is not None:
            raise failure
        _check_all(results, factor)
        check_complete(results, execution, 0, ended)
        return 0


def _write_json(found: Sequence[Difference], results: Results, ended: str, file: str) -> None:
    from tare.experiment.results import COUNTED
    from tare.features.run.exports import trial_json, trials_of
    from tare.measure.comparison import document

    trials = [
        {"workload": t.workload, "platform": t.platform, **trial_json(t)}
        for t in trials_of(results)
        if t.status in COUNTED
    ]
    console.write_json(document.as_json(found, results, ended, None) | {"trials": trials}, file)


def _show_uncompared(results: Results) -> None:
    """Print what was measured where there is nothing to compare it with."""
    from tare.experiment.findings.cells import values_of
    from tare.results.message import Message

    if not isinstance(values_of(results), Message):
        _print(*_laid_out((), results))


def _print(heads: Sequence[str], rows: Sequence[Row]) -> None:
    console.table([heads, *(row.cells for row in rows)])


def _check_one(asked: Mapping[str, Any]) -> None:
    if len(asked.get("metric", ())) > 1:
        raise ExperimentError(
            "what stands in one table is compared by one --metric", "name the one that matters"
        )


def _show(
    heads: Sequence[str],
    rows: Sequence[Row],
    found: Sequence[Difference],
    lines: Sequence[Line],
    results: Results,
    ended: str,
    failed: Sequence[Message],
) -> None:
    from tare.experiment.findings import conditions
    from tare.experiment.findings.disturbance import switch_records
    from tare.measure.comparison import service_load
    from tare.measure.comparison.trust import trust
    from tare.render.words import sentence, text

    say = console.out.print
    if results.experiment.stopping.compare == "platform":
        say(shlex.join(lines[0].words), no_wrap=True, overflow="ellipsis")
    _print(heads, rows)
    if unlike := next(filter(None, (d.of_pairs for d in found)), None):
        say(sentence(unlike), style="dim")
    for line in service_load.table(results, console.out.width):
        say(line, soft_wrap=True)
    for one in conditions.sentences(conditions.rows(results)):
        say(f"With    {text(one)}", soft_wrap=True)
    for one in failed:
        say(f"Failed  {text(one)}")
    label, trusted = trust(results, found)
    say(f"{label:<7} {trusted}", soft_wrap=True)
    if (recording := switch_records(results)) is not None:
        say(f"Note    {text(recording)}")
    if ended == "interrupted":
        say(f"Note    {text(by_hand(results, kept=False))}")
    for note in _further(found):
        say(f"Note    {note}")


def heads_of(factor: str, reference: str | None, metric: str) -> list[str]:
    """Return the heads of the columns; the metric is named where it is not the usual one."""
    from tare.render.vocabulary import metric_name

    what = "command" if factor == "workload" else factor
    of = "median" if metric == "wall_ns" else f"{metric_name(metric)}, median"
    versus = [] if reference is None else [f"vs. {reference} (paired)"]
    return [what, f"{of} (95 %)", *versus, "p10–p90", "n"]


def _laid_out(found: Sequence[Difference], results: Results) -> tuple[list[str], list[Row]]:
    """Return the heads of a table and its rows: what is compared, then what is not."""
    from tare.experiment.findings.cells import cells_of, values_of
    from tare.results.message import Message

    factor, basis = results.experiment.stopping.compare, values_of(results)
    assert factor is not None
    assert not isinstance(basis, Message)
    reference = found[0].first if found else None
    rows, shown = list(_rows(found)), {reference, *(d.levels[factor] for d in found)}
    for cell in cells_of(results.of_levels, basis).all:
        level = cell.levels[factor]
        if level not in shown:
            name = f"{level} (emulated)" if level in results.emulated else level
            versus = "–" if found else None
            rows.append(Row(name, *_own(cell.median, cell.trial_values, basis.unit, versus)))
    return heads_of(factor, reference, basis.metric), rows


def _rows(found: Sequence[Difference]) -> Iterator[Row]:
    for first in found[:1]:
        medians, values = first.medians[0], first.level_values[0]
        yield Row(first.first, *_own(medians, values, first.basis.unit, "–"))
    for d in found:
        told = f"{d.ratio} {_word(d)}"
        yield Row(d.second, *_own(d.medians[1], d.level_values[1], d.basis.unit, told))


def _own(
    median: Interval, values: FloatArray, unit: str, versus: str | None
) -> tuple[str, str | None, str, str]:
    return figure_of(unit, median, values), versus, relative_spread(values), str(len(values))


def _word(d: Difference) -> str:
    found = d.comparison.verdict
    is_within = found.differs or found == EQUIVALENT
    return d.words.of(found, units.chosen(d.margin) if is_within else None)


def markdown(heads: Sequence[str], rows: Sequence[Row], failed: Sequence[Message]) -> str:
    """Return a table for a README or a comment.

    Parameters
    ----------
    heads : sequence of str
        Of its columns.
    rows : sequence of Row
    failed : sequence of Message
        Which trials failed, and why.
    """
    from tare.render.markdown import text
    from tare.render.words import text as written

    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    lines += [[text(cell) for cell in row.cells] for row in rows]
    table = "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
    return table + "".join(f"\nFailed: {text(written(one))}\n" for one in failed)


def _further(found: Sequence[Difference]) -> list[str]:
    """Say what would settle what is inconclusive; of many, how many they are."""
    from tare.render.words import text
    from tare.results.message import Duration, message

    open_ones = [(d, d.further) for d in found if d.further]
    if len(open_ones) <= MOST_TOLD:
        return [
            text(message("compare.open", second=d.second, further=further))
            for d, further in open_ones
        ]
    more = max((d.comparison.more_pairs or 0 for d, _ in open_ones), default=0)
    seconds = more * sum(d.seconds for d in found)
    several = message(
        "compare.several_open",
        open=len(open_ones),
        comparisons=len(found),
        more=more,
        time=Duration(seconds),
    )
    return [text(several)]


def _check_all(results: Results, factor: str) -> None:
    """Raise where something that was asked for has no good trial."""
    from tare.cli.command_line import hiding, how_to_see
    from tare.experiment.findings.failures import failures
    from tare.experiment.findings.judgement import failing, failing_trials
    from tare.render.words import text

    hopeless = failing(results, factor)
    if hopeless:
        stacks = hiding(hopeless, results.experiment) if factor == "platform" else ()
        raise TrialError(
            text(failing_trials(results, factor, hopeless)),
            how_to_see(failures(results), stacks),
        )
