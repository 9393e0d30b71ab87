"""``tare run --application``: what is typed, as the table that an experiment file would have."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from tare.cli.lines import Line
from tare.errors import Typed, UsageError
from tare.registry import Parameter, expected, typed

#: Option that gives several values of a parameter; only commands have it.
PARAMETERS = "--parameter-list"


def line(reference: str, given: Sequence[str], refused: Mapping[str, bool]) -> Line:
    """Return an application with its parameters, in the place of a command.

    Parameters
    ----------
    reference : str
        Its name, or its folder.
    given : sequence of str
        ``NAME=VALUE`` of parameters.
    refused : mapping
        What is of commands alone, to whether it was given.

    Raises
    ------
    UsageError
        If a parameter is none, or something was given that is of commands alone.
    ExperimentError
        If there is no such application.
    """
    from tare.experiment.file import application

    option = next((name for name, is_given in refused.items() if is_given), None)
    if option is not None:
        new = Typed(
            f"tare experiment new mine.toml --application {shlex.quote(str(reference))}   "
            "(then as a factor)"
        )
        own = "leave one of both out; an application has its own command (docs/applications.md)"
        raise UsageError(f"--application excludes {option}", new if option == PARAMETERS else own)
    found = application.read(reference)
    known = {parameter.name: parameter for parameter in found.parameters}
    names = [one.partition("=")[0] for one in given]
    if len(set(names)) < len(names):
        raise UsageError(
            "--set gives a parameter twice",
            Typed(
                f"tare experiment new mine.toml --application {shlex.quote(reference)}   "
                "(as a factor)"
            ),
        )
    values = dict(_value(one, known) for one in given)
    text = " ".join([found.name, *given])
    return Line(found.name, text, [found.name], options={"application": reference, **values})


def needs_network(reference: str) -> bool:
    """Whether an application has services, and with them a network without being asked."""
    from tare.experiment.file import application

    return bool(application.read(reference).services)


def _value(given: str, known: Mapping[str, Parameter]) -> tuple[str, Any]:
    """Return name and value of a parameter, of the type that it has."""
    name, sign, text = given.partition("=")
    if not sign or name not in known:
        names = ", ".join(known) or "it has no parameters"
        raise UsageError(f"--set {given} sets no parameter", f"it has: {names}")
    try:
        return name, typed(known[name], text)
    except ValueError:
        raise UsageError(f"--set {given}: expected {expected(known[name])}") from None
