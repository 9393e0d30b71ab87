"""Results as JSON has them: messages with their text in place of the template."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec

from tare.errors import Typed
from tare.render import words
from tare.results.message import Message


class _Written(msgspec.Struct, tag="message"):
    """A message as files have it."""

    text: str
    args: dict[str, Any]


def builtins(value: Any) -> Any:
    """Return lists, mappings and plain values; each message as its ``text`` and ``args``.

    Messages are found by their class. A mapping that looks like one may come from a file, whose
    template must not be rendered.
    """
    return msgspec.to_builtins(_written(value), enc_hook=_plain)


def _written(value: Any) -> Any:
    """Return the same value with every message inside of it written."""
    match value:
        case Message():
            return _Written(words.text(value), _written(value.args))
        case dict():
            return {key: _written(one) for key, one in value.items()}
        case list() | tuple():
            return [_written(one) for one in value]
        case msgspec.Struct():
            return msgspec.structs.replace(
                value, **{name: _written(getattr(value, name)) for name in value.__struct_fields__}
            )
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [one.name for one in dataclasses.fields(value)]
        return {name: _written(getattr(value, name)) for name in fields}
    return value


def _plain(value: Any) -> Any:
    """Return a number of numpy, as a chart may hold, as a plain value."""
    import numpy as np

    if isinstance(value, Typed):
        return str(value)
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} cannot be JSON")
