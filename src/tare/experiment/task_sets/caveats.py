"""Caveats of comparisons over tasks, whether tare or another tool measured them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from tare.experiment.task_sets.outcomes import Scored
from tare.results.message import Message, Said, message

S = TypeVar("S", bound=Scored)


def crashed_alike(
    some: Sequence[S], remedy: Callable[..., Said | None] | None = None
) -> Iterator[Message]:
    """Say which configurations crashed in every run in the same way, why, and what to do.

    ``remedy``: what to do about some of them; None where that is not known.
    """
    alike: dict[str, list[S]] = {}
    for one in some:
        if one.broken is not None:
            alike.setdefault(one.broken, []).append(one)
    for why, own in alike.items():
        yield message(
            "{names | listing}: all {n | counted('run')} crashed alike, so "
            "{% if names | length > 1 %}they are{% else %}it is{% endif %} compared with "
            "nothing{% if why %}: {why}{% endif %}{% if remedy %}. {remedy}{% endif %}",
            names=[one.label for one in own],
            n=int(sum(one.counts.sum() for one in own)),
            why=why or None,
            remedy=None if remedy is None else remedy(*own),
        )


def other_tasks(counts: Sequence[int]) -> Iterator[Message]:
    """Say that configurations ran different numbers of tasks."""
    if len({*counts}) > 1:
        yield message(
            "configurations ran {least} to {most} tasks: solved and PAR2 are each over its own "
            "tasks, comparisons over those of both",
            least=min(counts),
            most=max(counts),
        )
