"""What earlier sessions of an experiment did, as far as the next one must know."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from tare import journal


@dataclass
class Past:
    """Counts over all earlier sessions."""

    sessions: int = 0
    #: Highest number of a trial, and the first unused number of a block.
    trials: int = 0
    blocks: int = 0
    #: Trials by cell that ended, and those of them that were good.
    ended: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    good: dict[int, int] = field(default_factory=lambda: defaultdict(int))


def past(lines: Iterable[journal.Line]) -> Past:
    """Count what the sessions in a journal did; a trial without its end was not done."""
    found = Past()
    cell_of: dict[int, int] = {}
    for line in lines:
        match line:
            case journal.Session():
                found.sessions = max(found.sessions, line.session)
            case journal.TrialStart():
                found.trials = max(found.trials, line.trial)
                if not line.calibration:
                    cell_of[line.trial] = line.cell
                    found.blocks = max(found.blocks, line.block + 1)
            case journal.TrialEnd() if line.trial in cell_of:
                found.ended[cell_of[line.trial]] += 1
                found.good[cell_of[line.trial]] += line.status == "ok"
    return found
