"""Parsing of what comes from files and from other processes, which may be damaged or hostile."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from typing import Annotated, Any, Generic, TypeVar, overload

import msgspec

T = TypeVar("T")
#: An integer that NumPy and the agent can hold; JSON allows any number of digits.
Int64 = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
_MOST_DOTS = 100
_QUOTED = re.compile(r""""[^"\n]*"|'[^'\n]*'""")
_ENDS_OF_KEYS = re.compile(r"[\n,={}\[\]#]")


class DecodeError(ValueError):
    """Data is not what was expected; the message says what is wrong with it."""


class Decoder(Generic[T]):
    """Decodes JSON to a type.

    Parameters
    ----------
    kind : type
        As for `msgspec.json.Decoder`.
    packed : bool
        The data is MessagePack instead.
    """

    def __init__(self, kind: type[T] | Any = Any, *, packed: bool = False) -> None:
        self._decoder: Any = (msgspec.msgpack.Decoder if packed else msgspec.json.Decoder)(kind)

    def decode(self, data: bytes | bytearray | memoryview | str) -> T:
        """Return the value; raises DecodeError."""
        value: T = _parsed(self._decoder.decode, data)
        return value

    def decode_lines(self, data: bytes) -> list[T]:
        """Return the values of all lines; raises DecodeError."""
        values: list[T] = _parsed(self._decoder.decode_lines, data)
        return values


@overload
def decode(data: bytes | str, kind: type[T]) -> T: ...
@overload
def decode(data: bytes | str, kind: Any) -> Any: ...
def decode(data: bytes | str, kind: Any) -> Any:
    """Return JSON as a value of a type; raises DecodeError."""
    return Decoder[Any](kind).decode(data)


def builtins(data: bytes | str) -> Any:
    """Return JSON as dictionaries, lists, text and numbers; raises DecodeError."""
    return _builtins.decode(data)


def toml(text: str) -> dict[str, Any]:
    """Return the values of a TOML document; raises DecodeError.

    The time that `tomllib` takes grows with the square of the parts of a dotted key.
    """
    plain = _QUOTED.sub("", text)
    if max(part.count(".") for part in _ENDS_OF_KEYS.split(plain)) > _MOST_DOTS:
        raise DecodeError(f"a key has more than {_MOST_DOTS} dots")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise DecodeError("its brackets are nested too deeply") from error
    except ValueError as error:
        # Also a number of thousands of digits.
        raise DecodeError(str(error)) from error


def _parsed(parse: Callable[[Any], Any], data: Any) -> Any:
    try:
        return parse(data)
    except UnicodeError as error:
        raise DecodeError("it holds what is not UTF-8") from error
    except RecursionError as error:
        raise DecodeError("it is nested too deeply") from error
    except msgspec.DecodeError as error:
        raise DecodeError(str(error)) from error


_builtins = Decoder[Any]()
