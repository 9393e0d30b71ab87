"""Results as JSON has them: messages with their text in place of the template."""

from __future__ import annotations

from typing import Any

import msgspec

from tare.render import words
from tare.results.message import Message


def builtins(value: Any) -> Any:
    """Return lists, mappings and plain values; each message as its ``text`` and ``args``."""
    return _written(msgspec.to_builtins(value, enc_hook=_plain))


def _written(value: Any) -> Any:
    match value:
        case {"type": "message"}:
            written = words.text(msgspec.convert(value, Message))
            args = {name: _written(one) for name, one in value.get("args", {}).items()}
            return {"type": "message", "text": written, "args": args}
        case dict():
            return {key: _written(one) for key, one in value.items()}
        case list() | tuple():
            return [_written(one) for one in value]
    return value


def _plain(value: Any) -> Any:
    """Return a number of numpy, as a chart may hold, as a plain one."""
    import numpy as np

    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} cannot be JSON")
