"""``tare compare``: is it different? Commands interleaved until the verdict is safe."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from tare.cli import console
from tare.cli.call import Call
from tare.cli.standard_input import standard_input
from tare.features.measure.compare.options import CompareOptions
from tare.options.command import command
from tare.results.report import Report
from tare.results.verdict import GATE_CODES

if TYPE_CHECKING:
    from tare.features.measure.comparison.execution import Execution


@command(CompareOptions)
def compare(given: CompareOptions, call: Call) -> Report:
    """Compare commands.

    Is one slower, by how much, and how certain is that? Trials are interleaved until the verdict is
    conclusive, or the budget ends. For hyperfine's options see
    docs/how-to/from-hyperfine.md.

        tare compare 'sleep 0.1' 'sleep 0.103'
    """
    from tare.features.measure.compare import work
    from tare.features.measure.comparison.execution import Execution
    from tare.features.measure.comparison.session import check_report

    console.check_writable(given.json, given.junit, given.markdown, given.report)
    check_report(given.report)
    with standard_input(given.input) as input:
        given = given.replace(input=input)
        table = work.ask(given)
        execution = Execution(call.supplies, given, command=call.command, gate=given.gate)
        if given.baseline is not None:
            from tare.features.measure.compare.against_baseline import against

            made = against(table, given.baseline, execution)
        else:
            made = _interleaved(table, execution)
        # Failed trials of one side show git bisect no difference in time.
        by_failures = made.lost or any(one.failing == "failed" for one in made.comparisons)
        code = GATE_CODES["inconclusive"]
        is_skipped = given.bisect and by_failures
        return msgspec.structs.replace(made, exit_code=code) if is_skipped else made


def _interleaved(table: dict[str, Any], execution: Execution) -> Report:
    from tare.features.measure.comparison.session import (
        check,
        conclude,
        differences_in,
        measure,
        prepare,
    )

    prepared = prepare(table, execution.given)
    with execution.folder() as folder:
        ended, failure = measure(prepared, folder, execution)
        results = prepared.results(folder)
        found = differences_in(results, folder, execution, ended)
        complete = partial(check, results, execution, ended, failure)
        return conclude(found, results, ended, folder, execution, complete)
