"""Which trials failed, why, and what their commands wrote on standard error at last."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tare.experiment.journal import SPEAKING
from tare.render.escaping import harmless
from tare.results import phrases
from tare.results.message import Message, message

if TYPE_CHECKING:
    from tare.experiment.results import Results
    from tare.results.columns import Columns

#: What is shown of standard error: lines, and characters of each. In an error that ends a command
#: there is room for a whole traceback.
LINES, ALONE, WIDTH = 3, 12, 120
#: Kinds of failure that are named; the others are counted.
MOST_KINDS = 3
#: Share of failed trials from which on the exit code says so.
OFTEN = 0.25


@dataclass(frozen=True)
class Failed:
    """A trial that failed."""

    reason: str
    #: Of the fault; None: no command had a part in it.
    kind: str | None = None
    #: End of standard error; None: it is empty, or was not read.
    evidence: str | None = None
    #: Whether it was read.
    captured: bool = False
    #: What is the same for trials that failed alike; None: the reason is.
    like: str | None = None


@dataclass(frozen=True)
class Failure:
    """Trials that failed in the same way.

    Attributes
    ----------
    reason : str
        Why, for a person; where ``differ``, that of the first.
    kind : str or None
        Of the fault, as in :data:`tare.agent.record.FaultKind`; None: no command had a part in it.
    trials : int
        How many.
    stderr : str or None
        End of the standard error of the last that wrote any, as it was; empty: none of those that
        were read wrote any; None: none was read.
    """

    reason: str
    kind: str | None
    trials: int
    stderr: str | None
    #: Whether the reasons differ, in numbers or lines of a log.
    differ: bool = False

    @property
    def ran(self) -> bool:
        """Whether a command ran, and may have said why."""
        return self.kind in SPEAKING

    @property
    def line(self) -> Message:
        """The reason, with the last lines of standard error where there are any: one line."""
        return message(
            "{% if differ %}e.g. {% endif %}{reason}{% if lines %}; standard error ends with "
            '{% for line in lines %}"{line}"{% if not loop.last %} / {% endif %}'
            "{% endfor %}{% elif silent %}; nothing on standard error{% endif %}",
            reason=self.reason,
            lines=last_lines(self.stderr or ""),
            silent=self.ran and self.stderr == "",
            differ=self.differ,
        )

    @property
    def block(self) -> Message:
        """The same with a line for each of standard error, for an error that ends a command."""
        lines = last_lines(self.stderr or "", ALONE)
        if not lines:
            return self.line
        return message(
            "{reason}; standard error ends with:{% for line in lines %}\n    {line}{% endfor %}",
            reason=self.reason,
            lines=lines,
        )


def last_lines(text: str, most: int = LINES) -> list[str]:
    """Return the last lines of what a command wrote, each short, and harmless where it is shown."""
    lines = [harmless(line.rstrip()) for line in re.split(r"[\r\n]+", text)]
    some = [line for line in lines if line][-most:]
    return [line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…" for line in some]


def together(failed: Iterable[Failed]) -> list[Failure]:
    """Put trials together that failed alike, the most frequent kind first."""
    by_reason: dict[str, list[Failed]] = {}
    for one in failed:
        by_reason.setdefault(one.like or one.reason, []).append(one)
    found = []
    for some in by_reason.values():
        said = [one.evidence for one in some if one.evidence]
        silent = "" if any(one.captured for one in some) else None
        found.append(
            Failure(
                some[0].reason,
                some[0].kind,
                len(some),
                said[-1] if said else silent,
                differ=len({one.reason for one in some}) > 1,
            )
        )
    return sorted(found, key=lambda one: -one.trials)


def failures(results: Results, trials: Columns | None = None) -> list[Failure]:
    """Return how trials failed: all of them, or those of some rows of the trial table."""
    table = results.trial_table if trials is None else trials
    failed = table.where(status="failed")
    numbers = set(failed["trial"].tolist())
    of: dict[int, Any] = {}
    for fault in results.faults.where(trial=numbers).records():
        if fault["kind"] == "warning":
            continue
        # Of several workers, the first that said something.
        if not _said(of.get(fault["trial"])):
            of.setdefault(fault["trial"], fault)
            if _said(fault):
                of[fault["trial"]] = fault
    return together(
        Failed(
            reason=row["reason"] or "for an unknown reason",
            kind=of[row["trial"]]["kind"] if row["trial"] in of else None,
            evidence=_said(of.get(row["trial"])),
            captured=bool(row.get("error_captured", False)),
            like=row.get("failure_kind"),
        )
        for row in failed.records()
    )


def _said(fault: Any) -> str | None:
    found = None if fault is None else fault["evidence"]
    return found if isinstance(found, str) and found.strip() else None


def reasons(found: Sequence[Failure]) -> Message | None:
    """Say why trials failed; of many kinds, the most frequent. None: none failed."""
    if not found:
        return None
    return message(
        "{failures | join('; ')}{% if others %}; and {others | counted('other reason')}{% endif %}",
        failures=[one.line for one in found[:MOST_KINDS]],
        others=len(found[MOST_KINDS:]),
    )


def all_failed(trials: int, levels: Sequence[str] = (), *, on: str = "of") -> Message:
    """Say that every trial failed, and how many there were.

    ``levels``: of which workloads; with ``on="on"`` on which platforms; none: of the whole session.
    """
    return message(phrases.FAILURES_ALL, trials=trials, levels=list(levels), on=on)


def by_level(results: Results, factor: str = "workload") -> list[Message]:
    """Say of each level of a factor which trials failed, and why."""
    return [
        message(
            "{failed} of {trials | counted('trial')} of {level}: {reasons}",
            failed=sum(one.trials for one in found),
            trials=len(some),
            level=str(name),
            reasons=reasons(found),
        )
        for name in results.trial_table.distinct(factor)
        for some in (results.trial_table.where(**{factor: name}),)
        if (found := failures(results, some))
    ]


def failing_often(trials: Iterable[tuple[int, str]]) -> tuple[int, int] | None:
    """Return how many trials failed, and of how many, where it was often; None: it was not.

    What the others say is then not of the command as it is. Of several sessions the last one
    counts: what failed before it may have been repaired since.

    Parameters
    ----------
    trials : iterable of (int, str)
        Session and status of each.
    """
    ended = [(session, status) for session, status in trials if status != "unfinished"]
    last = max((session for session, _ in ended), default=0)
    of_last = [status for session, status in ended if session == last]
    failed = of_last.count("failed")
    return (failed, len(of_last)) if failed and failed >= OFTEN * len(of_last) else None
