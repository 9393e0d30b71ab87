"""What an image was made of, exactly: enough to make it again, and stored with results."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from tare.decoding import DecodeError, decode
from tare.errors import ExperimentError
from tare.workloads.application import Artefact, Sha256

#: No lock is longer; those of large images have some hundred kilobytes.
MOST_BYTES = 8 << 20

#: As Debian's policy has them: none of them is an option, or ends a line.
Name = Annotated[str, msgspec.Meta(pattern=r"\A[a-z0-9][a-z0-9+.-]+\Z", max_length=200)]
Version = Annotated[str, msgspec.Meta(pattern=r"\A[0-9][A-Za-z0-9.+~:-]*\Z", max_length=200)]
Architecture = Annotated[str, msgspec.Meta(pattern=r"\A[a-z0-9][a-z0-9-]*\Z", max_length=40)]
Suite = Annotated[str, msgspec.Meta(pattern=r"\A[a-z][a-z0-9-]*\Z", max_length=40)]
_File = Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]


class Package(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, order=True):
    """A package of Debian as it is installed."""

    name: Name
    version: Version
    architecture: Architecture


class Lock(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that an image was made of."""

    #: Of this format.
    format: Literal[1] = 1
    #: The version of tare that made it.
    tare: Annotated[str, msgspec.Meta(max_length=100)]
    #: Of all files of the image.
    digest: Sha256
    #: None: the image is not from packages.
    suite: Suite | None = None
    packages: Annotated[tuple[Package, ...], msgspec.Meta(max_length=20_000)] = ()
    #: Of the engine's image.
    oci: Sha256 | None = None
    artefacts: Annotated[tuple[Artefact, ...], msgspec.Meta(max_length=1_000)] = ()
    #: SHA-256 of the application's files by their path in ``/application``.
    files: Annotated[dict[_File, Sha256], msgspec.Meta(max_length=20_000)] = {}


def parse(data: bytes) -> Lock:
    """Read a lock that may be hostile.

    Raises
    ------
    ExperimentError
        If it is none, or another version's.
    """
    try:
        if len(data) > MOST_BYTES:
            raise ExperimentError(f"the lock of the image is larger than {MOST_BYTES} bytes")
        return decode(data, Lock)
    except DecodeError as error:
        raise ExperimentError(
            f"the lock of the image cannot be read: {error}",
            "the same command without the lock makes one",
        ) from error


def format_(lock: Lock) -> bytes:
    """Return a lock as JSON."""
    return msgspec.json.format(msgspec.json.encode(lock), indent=1) + b"\n"
