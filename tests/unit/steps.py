"""What an audit proposes next: a command that runs as it stands, or advice with placeholders."""

from __future__ import annotations

from said import template

from tare.results.message import Message
from tare.results.report import NextStep

#: As :func:`tare.features.audit.next_steps.follow_up` returns it.
Step = NextStep | Message | None


def is_advice(step: Step) -> bool:
    """Whether it does not run as it stands."""
    return isinstance(step, Message)


def command(step: Step) -> str:
    """Return the command, with placeholders where it is advice."""
    assert step is not None
    return step.command if isinstance(step, NextStep) else str(step.args["command"])


def brings(step: Step) -> str:
    """Return the template of what it brings."""
    assert step is not None
    said = step.brings if isinstance(step, NextStep) else step.args["brings"]
    assert isinstance(said, Message)
    return template(said)
