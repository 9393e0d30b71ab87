"""A fingerprint of a network as a file: read with suspicion, written whole or not at all."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tare import decoding, files
from tare.decoding import DecodeError
from tare.errors import StoreError
from tare.experiment.fingerprints.network.document import KIND, VERSION, Figure, NetworkFingerprint
from tare.experiment.fingerprints.network.identified import Estimate, Identification

#: A file larger than this is no fingerprint.
_SIZE_LIMIT = 4 << 20
#: Gbit and Gbit/s beyond which nothing is measured.
_MOST = 1e15
#: Characters of a text, and entries of a list, in what was identified.
_LONGEST, _MOST_TOLD = 2000, 64
_TAKES = "take one with tare net fingerprint HOST --key FILE --json FILE"


class _Versioned(msgspec.Struct):
    version: int
    kind: str | None = None


def read(path: Path) -> NetworkFingerprint:
    """Read what :func:`write` wrote.

    Raises
    ------
    StoreError
        If it cannot be read, is no fingerprint of a network, or another tare wrote it in another
        way.
    """
    try:
        with files.open_plain(path, links=True) as file:
            data = file.read(_SIZE_LIMIT + 1)
    except OSError as error:
        raise StoreError(
            f"cannot read the network's fingerprint {path}: {error.strerror}", _TAKES
        ) from error
    return decode(data, str(path))


def decode(data: bytes, name: str) -> NetworkFingerprint:
    """Read the bytes of a fingerprint; ``name`` is what complaints call it.

    Raises
    ------
    StoreError
        As :func:`read` does.
    """
    try:
        if len(data) > _SIZE_LIMIT:
            raise DecodeError(f"it is larger than {_SIZE_LIMIT} bytes")
        about = decoding.decode(data, _Versioned)
        if about.kind != KIND:
            raise DecodeError("it is not of a network")
        if about.version != VERSION:
            raise StoreError(
                f"{name} was written by another tare (version {about.version} of the file, this "
                f"one reads {VERSION})",
                _TAKES.replace("take one", "take it again"),
            )
        found = decoding.decode(data, NetworkFingerprint)
        check(found)
    except DecodeError as error:
        raise StoreError(f"{name} is no fingerprint of a network: {error}", _TAKES) from error
    return found


def write(fingerprint: NetworkFingerprint, path: Path) -> None:
    """Write a fingerprint; what stood there before stays until the new one is whole.

    Raises
    ------
    StoreError
        If it cannot be written.
    """
    text = msgspec.json.format(msgspec.json.encode(fingerprint), indent=2) + b"\n"
    files.write(path, text, "choose another --json FILE")


def check(found: NetworkFingerprint) -> None:
    """Raise :class:`DecodeError` for what no measurement brings."""
    for name, figure in _figures(found):
        if figure.ci is not None and not figure.ci[0] <= figure.value <= figure.ci[1]:
            raise DecodeError(f"{name} lies outside its interval")
    sizes = [write.write_bytes for write in found.writes]
    if sizes != sorted(set(sizes)):
        raise DecodeError("its writes are not in order of their size")
    if found.shaping is not None:
        _check_shaping(found.shaping)


def _figures(found: NetworkFingerprint) -> Iterator[tuple[str, Figure]]:
    yield from found.figures.items()
    for write in found.writes:
        for one in (write.bandwidth, write.round_trip, write.retransmitted):
            if one is not None:
                yield f"a write of {write.write_bytes} bytes", one


def _check_shaping(shaping: Identification) -> None:
    for value in msgspec.structs.asdict(shaping).values():
        if not isinstance(value, Estimate):
            continue
        numbers = (value.ci[0], value.value, value.ci[1])
        if not all(math.isfinite(x) and 0 <= x <= _MOST for x in numbers):
            raise DecodeError("what shapes it has a value that nothing measures")
        if not numbers[0] <= numbers[1] <= numbers[2]:
            raise DecodeError("what shapes it has a value outside its interval")
    texts = [*shaping.reasons, *shaping.key, *shaping.key.values()]
    if not all(isinstance(text, str) for text in texts):
        raise DecodeError("what shapes it has reasons that are no text")
    if len(texts) > _MOST_TOLD or any(len(str(text)) > _LONGEST for text in texts):
        raise DecodeError("what shapes it is told in more words than anybody reads")
