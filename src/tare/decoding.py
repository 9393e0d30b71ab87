"""Parsing of what comes from files and from other processes, which may be damaged or hostile."""

from __future__ import annotations

from typing import Any, Generic, TypeVar, overload

import msgspec

T = TypeVar("T")


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
        try:
            value: T = self._decoder.decode(data)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise DecodeError(_what(error)) from error
        return value

    def decode_lines(self, data: bytes) -> list[T]:
        """Return the values of all lines; raises DecodeError."""
        try:
            values: list[T] = self._decoder.decode_lines(data)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise DecodeError(_what(error)) from error
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


def _what(error: Exception) -> str:
    if isinstance(error, UnicodeError):
        return "it holds what is not UTF-8"
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


_builtins = Decoder[Any]()
