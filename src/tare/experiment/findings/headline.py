"""The first thing that is read: one overall answer to the experiment's question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tare.experiment.findings import caveats, completeness, sessions, trusted
from tare.experiment.findings.cells import basis_of
from tare.experiment.findings.failures import failures, reasons
from tare.experiment.findings.platform_cells import cost_basis
from tare.experiment.results import Results
from tare.results.columns import Columns
from tare.results.finding import Finding
from tare.results.message import Message, Said, each, message

#: Findings that explain what the others answer.
_EXPLAIN = {
    "causes", "platform_advice", "platform_factor", "platform_why", "input_dependence", "variance",
}  # fmt: skip


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
    lead : str or None
        Name of the finding that gives the first answer; its badge is shown.
    notes : tuple of Said
        What holds for all answers: whether series can be trusted, the state of the machine.
    basis : tuple of Said
        The metric, its source, trials per cell; what applications were run with.
    failed : tuple of str
        What exceeded its time limit; what failed besides, and why.
    left_out : tuple of Said
        What was not measured.
    """

    missing: tuple[Said, ...]
    answers: tuple[Said, ...]
    lead: str | None
    notes: tuple[Said, ...]
    basis: tuple[Said, ...]
    failed: tuple[Said, ...]
    left_out: tuple[Said, ...]

    @property
    def lines(self) -> tuple[Said, ...]:
        """All of it, in order of importance."""
        return (
            *self.missing,
            *self.answers,
            *self.notes,
            *self.basis,
            *self.failed,
            *self.left_out,
        )


def summarize(results: Results, found: Sequence[Finding]) -> Headline:
    """Sum up an experiment.

    Parameters
    ----------
    results : Results
        What the findings were made from.
    found : sequence of Finding
        As :func:`tare.experiment.findings.answers.all_findings` gave them.
    """
    told = _ordered(results, found)
    lead = next((f.name for f in found if told and told[0] in f.head), None)
    if not told:
        told = [*each(found[0].answer)] if found else [message("nothing can be concluded yet")]
    early = completeness.over_budget(results)
    trust = trusted.note(results)
    notes = [*([trust] if trust else []), *caveats.notes(sessions.caveats(results))]
    return Headline(
        missing=(*([early] if early else []), *completeness.given_up(results)),
        answers=tuple(_with_one_number(told, found)),
        lead=lead,
        notes=tuple(notes),
        basis=(*_basis(results, found), *_conditions(found)),
        failed=(*_killed(results), *_failures(results)),
        left_out=tuple(results.notes),
    )


def _ordered(results: Results, found: Sequence[Finding]) -> list[Said]:
    """Order what findings say: advice, answers, what explains them; the known before the rest."""
    advised = any(f.name == "platform_advice" and f.advice for f in found)
    cost = cost_basis(results)
    is_rate = not isinstance(cost, Message) and cost.more_is_better
    explain = {*_EXPLAIN, "overhead"} if advised else _EXPLAIN
    answers = [f for f in found if f.name not in explain]
    known_first = sorted(answers, key=lambda f: f.verdict == "inconclusive")
    told = [
        *(line for f in found for line in f.advice),
        *(one for f in known_first for one in each(f.summary)),
    ]
    for f in found:
        if f.name in explain:
            # What each platform costs is in the advice already, but for rates.
            is_known = f.name == "overhead" and not is_rate
            told += each(f.summary)[1 if is_known else 0 :]
    return told


def _with_one_number(told: Sequence[Said], found: Sequence[Finding]) -> list[Said]:
    """Keep how many more trials would settle a line only where it is the largest number."""
    waiting = [(each(f.summary)[one.line], one) for f in found for one in f.waiting]
    in_order = (one for said in told for of, one in waiting if of == said)
    most = max(in_order, key=lambda one: one.trials, default=None)
    less = [(said, one.brief) for said, one in waiting if one is not most]
    return [next((brief for of, brief in less if of == said), said) for said in told]


def _basis(results: Results, found: Sequence[Finding]) -> list[Message]:
    basis, cost = basis_of(results), cost_basis(results)
    if isinstance(basis, Message):
        return []
    differs = not isinstance(cost, Message) and cost != basis and any(f.advice for f in found)
    good = [n for _, n in results.cells()]
    return [
        message(
            "judged by {metric | metric} ({source | source}){% if cost %}, overhead by "
            "{cost | metric}{% endif %}; {% if least < most %}{least} to {% endif %}"
            "{most | counted('trial')} per cell; 95 % intervals",
            metric=basis.metric,
            source=basis.source,
            cost=cost.metric if differs and not isinstance(cost, Message) else None,
            least=min(good),
            most=max(good),
        )
    ]


def _conditions(found: Sequence[Finding]) -> list[Said]:
    """Say what applications were run with."""
    return [one for f in found if f.name == "conditions" for one in each(f.answer)]


def _killed(results: Results) -> list[Message]:
    """Count the trials that exceeded their time limit, where no comparison counts them."""
    killed = results.trial_table.where(status="killed")
    if not killed or results.experiment.stopping.compare is not None:
        return []
    return [
        message(
            "{killed} of {trials | counted('trial')} exceeded the time limit ("
            "{where | listing}): medians and overheads count them, other answers do not",
            killed=len(killed),
            trials=len(results.counted),
            where=_by_place(killed),
        )
    ]


def _failures(results: Results) -> list[Message]:
    """Say what failed in cells that were not given up, and why."""
    trials = results.trial_table
    over = [cell.cell for cell in completeness.short_cells(results) if cell.given_up]
    counted_in = trials.rows(~np.isin(trials["cell"], over))
    failed = counted_in.where(status="failed")
    if not failed:
        return []
    return [
        message(
            "{failed} of {trials | counted('trial')}{% if others %} of the other cells"
            "{% endif %} failed and {% if failed == 1 %}is{% else %}are{% endif %} left out ("
            "{where | listing}): {reasons}",
            failed=len(failed),
            trials=len(counted_in),
            others=bool(over),
            where=_by_place(failed),
            reasons=reasons(failures(results, failed)),
        )
    ]


def _by_place(trials: Columns) -> list[Message]:
    """Say how many of some trials are of which workload, and on which platform."""
    counts = Counter(zip(trials["workload"], trials["platform"], strict=True))
    return [
        message(
            "{failed} of {workload} on {platform}",
            failed=n,
            workload=str(workload),
            platform=str(platform),
        )
        for (workload, platform), n in counts.items()
    ]
