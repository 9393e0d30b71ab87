"""Where tare keeps what outlives a session: one folder a user."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from tare import files
from tare.decoding import DecodeError, decode
from tare.errors import StoreError

#: What `tare selftest` found at last.
SELFTEST = "selftest.json"
#: What `tare calibrate` found of this machine, the newest of each workload on each platform.
CALIBRATIONS = "calibrations.json"
#: That programs without a sandbox have been warned of.
WARNED = "warned.json"
#: Fingerprints of networks.
NETWORKS = "networks.json"
#: The folder of root: what it holds, only root can see.
ROOT = Path("/var/lib/tare")
_ELSEWHERE = "set XDG_STATE_HOME to a folder that may be written to"
#: A document that is larger is none of tare's.
_MOST_BYTES = 16 << 20
#: What every number type of a table holds exactly.
_Number = msgspec.Meta(ge=-(2**53), le=2**53)


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """A fact about tare that every session stores: a quantity with its unit, or a few words.

    Strict, since it is read from a file that anything may have happened to, and goes into results.
    """

    name: Annotated[str, msgspec.Meta(pattern=r"\Aselftest_[a-z_]{1,60}\Z")]
    value: Annotated[int, _Number] | Annotated[float, _Number] | Annotated[
        str, msgspec.Meta(pattern=r"\A[ -~]{1,100}\Z")
    ]  # fmt: skip
    unit: Literal["ns", "bytes"] | None = None

    def __post_init__(self) -> None:
        """Refuse a quantity in words, and one whose name has another unit."""
        if (self.unit is None) != isinstance(self.value, str):
            raise ValueError(f"{self.name} is no quantity with a unit")
        if self.unit is not None and not self.name.endswith(f"_{self.unit}"):
            raise ValueError(f"{self.name} is not in {self.unit}")


def folder() -> Path:
    """Return the folder, which may not be there yet: ``/var/lib/tare`` for root."""
    if os.geteuid() == 0:
        return ROOT
    given = os.environ.get("XDG_STATE_HOME")
    return (Path(given) if given else Path.home() / ".local" / "state") / "tare"


def read(name: str) -> dict[str, Any] | None:
    """Return a document of the folder; None where there is none that can be read."""
    try:
        return decode(_bytes(folder() / name), dict[str, Any])
    except (OSError, RuntimeError, DecodeError):
        return None  # RuntimeError: a user without a home, or brackets without end


def _bytes(path: Path) -> bytes:
    """Read a plain file of a plausible size; a pipe must not make every session wait."""
    with files.open_plain(path, links=True) as file:
        text = file.read(_MOST_BYTES + 1)
    if len(text) > _MOST_BYTES:
        raise OSError("too large")
    return text


def remove(name: str) -> Path | None:
    """Remove a document from the folder; None where there was none.

    Raises
    ------
    StoreError
        If it cannot be removed.
    """
    try:
        path = folder() / name
        path.unlink()
    except FileNotFoundError:
        return None
    except (OSError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise StoreError(f"cannot remove {name} from where tare keeps its state: {why}") from error
    return path


def write(name: str, document: Any) -> Path:
    """Put a document into the folder, whole or not at all.

    Raises
    ------
    StoreError
        If it cannot be written.
    """
    try:
        path = folder() / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise StoreError(
            f"cannot write {name} to where tare keeps its state: {why}", _ELSEWHERE
        ) from error
    text = msgspec.json.format(msgspec.json.encode(document), indent=1)
    files.write(path, text + b"\n", _ELSEWHERE)
    return path
