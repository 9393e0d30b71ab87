"""Results as JSON has them: messages with their text in place of the template."""

from __future__ import annotations

from typing import Any

import msgspec

from tare.render import words
from tare.results.message import Message, Template


def builtins(value: Any) -> Any:
    """Return lists, mappings and plain values; each message as its ``text`` and ``args``."""
    return _written(msgspec.to_builtins(value, enc_hook=_plain))


def _written(value: Any) -> Any:
    match value:
        case {"type": "message", "template": template, "args": args}:
            # Messages inside of it first: they are shown by their text.
            shown = {name: _written(one) for name, one in args.items()}
            made = msgspec.convert({"type": "message", "args": shown}, Message)
            text = value["text"] or words.text(Message(Template(template), made.args))
            return {"type": "message", "text": text, "args": shown}
        case dict():
            return {key: _written(one) for key, one in value.items()}
        case list() | tuple():
            return [_written(one) for one in value]
    return value


def _plain(value: Any) -> Any:
    """Return a template, or a number of numpy, as a chart may hold, as a plain value."""
    import numpy as np

    if isinstance(value, Template):
        return str(value)
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} cannot be JSON")
