"""The first thing that is read: one overall answer to the experiment's question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tare.findings import caveats, completeness, sessions
from tare.findings.cells import basis_of
from tare.findings.failures import failures, reasons
from tare.findings.platform_cells import cost_basis
from tare.frames import Results
from tare.render.vocabulary import metric_name
from tare.render.words import listing, paragraph, sentence
from tare.results.finding import Finding
from tare.results.message import Message, Said, each
from tare.units import counted


@dataclass(frozen=True)
class Headline:
    """What sums up an experiment, each a few sentences.

    Attributes
    ----------
    missing : tuple of Said
        What a budget ended too early, or was stopped because it kept failing: an answer is about
        less than was asked.
    answers : tuple of Said
        The answer first, then what else matters; never empty.
    failed : tuple of str
        What failed besides, and why.
    left_out : tuple of str
        What was not measured.
    """

    missing: tuple[Said, ...]
    answers: tuple[Said, ...]
    failed: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def lines(self) -> tuple[Said, ...]:
        """All of it, in order of importance."""
        return (*self.missing, *self.answers, *self.failed, *self.left_out)


def headline(results: Results, found: Sequence[Finding]) -> list[Said]:
    """Sum up an experiment in a few sentences; as for :func:`summarize`."""
    return [*summarize(results, found).lines]


def summarize(results: Results, found: Sequence[Finding]) -> Headline:
    """Sum up an experiment.

    Parameters
    ----------
    results : Results
        What the findings were made from.
    found : sequence of Finding
        As :func:`tare.findings.answers.all_findings` gave them.
    """
    told: list[Said] = [line for f in found for line in f.advice]
    told += [one for f in found for one in each(f.summary)]
    if not told:
        told = [paragraph(f.answer) for f in found[:1]] or [
            "There is nothing to conclude from yet."
        ]
    early = completeness.over_budget(results)
    busy = caveats.notes(sessions.caveats(results))
    return Headline(
        missing=(*([early] if early else []), *completeness.given_up(results)),
        answers=(*told, *busy, *_basis(results, found)),
        failed=tuple(_failures(results)),
        left_out=tuple(results.notes),
    )


def _basis(results: Results, found: Sequence[Finding]) -> list[str]:
    basis, cost = basis_of(results), cost_basis(results)
    if isinstance(basis, Message):
        return []
    costs = ""
    if not isinstance(cost, Message) and cost != basis and any(f.advice for f in found):
        costs = f"; costs by {metric_name(cost.metric)}, {cost}"
    good = results.cells()["n"]
    least = "" if good.min() == good.max() else f"{good.min()} to "
    return [
        f"Judged by {metric_name(basis.metric)}, {basis}{costs}; n = {least}"
        f"{counted(good.max(), 'trial')} of a cell; intervals are 95 %."
    ]


def _failures(results: Results) -> list[str]:
    """Tell what failed in cells that were not given up, and why."""
    trials = results.trial_table
    over = [cell.cell for cell in completeness.short_cells(results) if cell.given_up]
    failed = trials[(trials["status"] == "failed") & ~trials["cell"].isin(over)]
    if failed.empty:
        return []
    counts = failed.groupby(["workload", "platform"]).size().rename("n").reset_index()
    where = [f"{row.n} of {row.workload} on {row.platform}" for row in counts.itertuples()]
    counted_in = trials[~trials["cell"].isin(over)]
    of = " of the other cells" if over else ""
    return [
        f"{len(failed)} of {counted(len(counted_in), 'trial')}{of} failed and "
        f"{'is' if len(failed) == 1 else 'are'} not in these answers ({listing(where)}): "
        f"{sentence(reasons(failures(results, failed)) or '')}"
    ]
