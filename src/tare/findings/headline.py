"""The first thing that is read: one overall answer to the experiment's question."""

from __future__ import annotations

from collections.abc import Sequence

from tare.findings import caveats, sessions
from tare.findings.cells import basis_of
from tare.findings.finding import Finding
from tare.findings.phrasing import counted, listing, metric_name
from tare.results import Results


def headline(results: Results, found: Sequence[Finding]) -> list[str]:
    """Sum up an experiment in a few sentences.

    Parameters
    ----------
    results : Results
        What the findings were made from.
    found : sequence of Finding
        As :func:`tare.findings.answers.all_findings` gave them.

    Returns
    -------
    list of str
        Sentences in order of importance; what was left out comes last.
    """
    told = [line for f in found for line in f.advice]
    told += [f.summary for f in found if f.summary]
    if not told:
        told = [f.answer for f in found[:1]] or ["There is nothing to conclude from yet."]
    busy = caveats.notes(sessions.caveats(results))
    return [*told, *busy, *_basis(results), *_failures(results), *results.notes]


def _basis(results: Results) -> list[str]:
    basis = basis_of(results)
    if isinstance(basis, str):
        return []
    good = results.cells()["n"]
    least = "" if good.min() == good.max() else f"{good.min()} to "
    return [
        f"Judged by {metric_name(basis.metric)}, {basis}; n = {least}"
        f"{counted(good.max(), 'trial')} of a cell; intervals are 95 %."
    ]


def _failures(results: Results) -> list[str]:
    trials = results.trial_table
    failed = trials[trials["status"] == "failed"]
    if failed.empty:
        return []
    counts = failed.groupby(["workload", "platform"]).size().rename("n").reset_index()
    where = [f"{row.n} of {row.workload} on {row.platform}" for row in counts.itertuples()]
    return [
        f"{len(failed)} of {counted(len(trials), 'trial')} failed and "
        f"{'is' if len(failed) == 1 else 'are'} not in these answers: {listing(where)}."
    ]
