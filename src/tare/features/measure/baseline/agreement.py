"""Whether a session was measured where, how and by what a baseline was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tare.errors import StoreError
from tare.experiment.findings import caveats
from tare.experiment.findings.same_network import apart
from tare.experiment.fingerprints.machine.difference import Change, differences
from tare.render.words import text
from tare.results.message import Message, message

if TYPE_CHECKING:
    from tare.features.measure.baseline.stored import Baseline, Session

#: Memory that the kernel keeps for itself changes from boot to boot.
_ABOUT = {"memory_bytes": 0.01}
#: Differences that one message names.
_MOST_NAMED = 5


def check(path: Path, stored: Baseline, now: Session, asked: dict[str, str]) -> None:
    """Refuse a baseline of another machine, another version of tare, or other settings.

    Raises
    ------
    StoreError
        Says what differs.
    """
    unlike = [*unlike_settings(stored.settings, asked), *disagreements(stored, now)]
    if unlike:
        raise refusal(
            path, unlike, "measure both versions here, interleaved: tare compare './old' './new'"
        )


def refusal(path: Path, unlike: Sequence[Message], hint: str) -> StoreError:
    """Say what differs."""
    named = [*map(text, unlike[:_MOST_NAMED])]
    named += [f"and {more} more"] if (more := len(unlike) - _MOST_NAMED) > 0 else []
    return StoreError(f"{path} was measured under other conditions: {'; '.join(named)}", hint)


def disagreements(stored: Baseline, now: Session) -> list[Message]:
    """Say which facts of the stored sessions differ from those of a session now.

    Facts of platforms count only where both know them: before a session, none is known.
    """
    found: dict[str, Message] = {}
    for session in stored.sessions:
        then, here = session.facts, now.facts
        pairs: dict[str, tuple[Any, Any]] = {
            name: (then.get(name), here.get(name))
            for name in {**then, **here}
            if "(" not in name or (name in then and name in here)
        }
        pairs["tare"] = (session.tare, now.tare)
        pairs["agent"] = (session.agent[:12], now.agent[:12])
        for name, (was, value) in pairs.items():
            if not _agree(name, was, value):
                found.setdefault(name, _differs(name, was, value, "unknown"))
    for session in stored.sessions:
        unlike = apart(session.network, now.network)
        if unlike is not None:
            found.setdefault(
                "network", message("the network was another: {differences}", differences=unlike)
            )
    if changed := machine_changes(stored.sessions, now):
        found["machine"] = message(
            "the machine changed: {changes}", changes=caveats.changes(changed)
        )
    return list(found.values())


def machine_changes(stored: Sequence[Session], now: Session) -> list[Change]:
    """Return what of the machine differs from what it was in every stored session.

    One take has no say, on either side: what disturbs it for five seconds is no other machine.
    """
    before = [take for session in stored for take in _takes(session)]
    after = _takes(now)
    if min(len(before), len(after)) < 2:
        return []
    known = {metric: probed.rule for metric, probed in now.machine.items()}
    return [c for c in differences(before, after, known) if c.verdict == "changed"]


def _takes(session: Session) -> list[dict[str, tuple[float, ...]]]:
    count = max((len(probed.takes) for probed in session.machine.values()), default=0)
    return [
        {m: probed.takes[i] for m, probed in session.machine.items() if i < len(probed.takes)}
        for i in range(count)
    ]


def _agree(name: str, was: Any, value: Any) -> bool:
    about = _ABOUT.get(name)
    if about is not None and isinstance(was, int | float) and isinstance(value, int | float):
        return abs(was - value) <= about * max(abs(was), abs(value))
    return bool(was == value)


def _differs(name: str, was: Any, now: Any, absent: Literal["unknown", "not set"]) -> Message:
    before, after = (absent if value is None else str(value) for value in (was, now))
    return message("{name} was {was} and is {now}", name=name, was=before, now=after)


def unlike_settings(then: Mapping[str, str], now: Mapping[str, str]) -> list[Message]:
    """Say which settings differ."""
    return [
        _differs(name, then.get(name), now.get(name), "not set")
        for name in {**then, **now}
        if then.get(name) != now.get(name)
    ]
