"""What is written down of a cell that stops."""

from __future__ import annotations

from tare.experiment import journal
from tare.experiment.session.request import Decision
from tare.experiment.session.session_state import Tally
from tare.experiment.specification import Stopping
from tare.render.words import text


def stop(
    cell: int,
    tally: Tally,
    stopping: Stopping,
    reason: journal.StopReason | None,
    decision: Decision | None,
) -> journal.Stop:
    """Return why a cell stopped and what it reached; ``reason`` outranks the decision's."""
    more = decision.more_trials if decision else None
    return journal.Stop(
        cell=cell,
        trials=tally.trials[cell],
        reason=reason or (decision and decision.reason) or "target",
        target=stopping.precision if stopping.compare is None else None,
        reached=decision.reached if decision else None,
        more_trials=more,
        more_seconds=None if more is None else more * tally.seconds(cell),
        why=decision.why if decision else None,
        refusal=text(decision.refusal) if decision and decision.refusal else None,
    )
