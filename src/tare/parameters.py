"""Values that a user gives to a unit, checked against what the unit says of its parameters."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from tare.errors import ExperimentError
from tare.registry import Description, Parameter

_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def checked(where: str, description: Description, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of all parameters of a unit: those given, otherwise the defaults.

    Parameters
    ----------
    where : str
        What the user wrote them in: ``[platforms.docker]``.
    description : Description
        Of the unit.
    given : mapping
        By name.

    Raises
    ------
    ExperimentError
        If one is unknown, of the wrong type, or out of range: which, and what was expected.
    """
    known = {parameter.name: parameter for parameter in description.parameters}
    for name, value in given.items():
        if name not in known:
            hint = f"it has: {', '.join(known)}" if known else "it has nothing to set"
            raise ExperimentError(f"{where} has no {name!r}", hint)
        if not fits(known[name], value):
            raise ExperimentError(f"{where}: {name} = {value!r} is not {expected(known[name])}")
    return {name: given.get(name, parameter.default) for name, parameter in known.items()}


def words(where: str, text: str) -> list[str]:
    """Return the words of a parameter that is written like a command line.

    Parameters
    ----------
    where : str
        What the user wrote them in: ``[platforms.ssh] options``.
    text : str
        Its value.

    Raises
    ------
    ExperimentError
        If a quotation does not end.
    """
    try:
        return shlex.split(text)
    except ValueError as error:
        raise ExperimentError(f"{where} = {text!r} is no command line: {error}") from error


def _type(parameter: Parameter) -> type:
    if parameter.default is not None:
        return type(parameter.default)
    return str if parameter.minimum is None and parameter.maximum is None else float


def fits(parameter: Parameter, value: Any) -> bool:
    """Tell whether a value can be that of a parameter."""
    kinds = (int, float) if _type(parameter) is float else (_type(parameter),)
    if not any(type(value) is kind for kind in kinds):
        return False
    if parameter.choices is not None:
        return value in parameter.choices
    low, high = parameter.minimum, parameter.maximum
    return (low is None or value >= low) and (high is None or value <= high)


def expected(parameter: Parameter) -> str:
    """Return what a parameter's value must be, in words that follow "expected"."""
    if parameter.choices is not None:
        return f"one of {', '.join(map(repr, parameter.choices))}"
    told = _WORDS[_type(parameter)]
    if parameter.minimum is not None:
        told += f" from {_number(parameter.minimum)}"
    if parameter.maximum is not None:
        told += f" to {_number(parameter.maximum)}"
    return told


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:g}"
