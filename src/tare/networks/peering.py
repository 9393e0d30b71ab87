"""The other end of network probes: where it is, and the secret that both ends share."""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
import shlex
import socket
import stat
from pathlib import Path

from tare.errors import Typed, UsageError

#: Where an end listens unless it is told otherwise: "tare" on a telephone's keys.
PORT = 8273
#: A key file holds one line.
_SIZE_LIMIT = 4096
_KEY = re.compile(r"(?:[0-9a-fA-F]{2}){16,1024}")


def make_key(path: Path) -> None:
    """Write a new key of 256 bits to a file that did not exist and that nobody else may read.

    Raises
    ------
    UsageError
        If the file exists or cannot be written.
    """
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise UsageError(
            f"{path} is there already, and a key that is in use is not overwritten",
            Typed(f"tare net serve --new-key {shlex.quote(f'{path}.new')}"),
        ) from error
    except OSError as error:
        raise UsageError(f"cannot write the key {path}: {error.strerror}") from error
    with os.fdopen(file, "w") as writer:
        writer.write(secrets.token_hex(32) + "\n")


def read_key(path: Path, *, absent: str | None = None) -> str:
    """Return the key of a file, hexadecimal.

    Parameters
    ----------
    path : Path
    absent : str, optional
        What to type where there is no such file; by default it is to be copied from the other end,
        since a new one would fit nothing.

    Raises
    ------
    UsageError
        If there is none, if it is none, or if others may read it.
    """
    try:
        # A pipe of this name must not hold us up.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            about = os.fstat(file.fileno())
            regular = stat.S_ISREG(about.st_mode)
            data = file.read(_SIZE_LIMIT) if regular else b""
    except FileNotFoundError as error:
        raise UsageError(
            f"there is no key {path}",
            absent or f"copy it from the other end to {path}",
        ) from error
    except OSError as error:
        raise UsageError(
            f"cannot read the key {path}: {error.strerror}",
            Typed(f"ls -l {shlex.quote(str(path))}"),
        ) from error
    if regular and about.st_mode & 0o077:
        raise UsageError(
            f"others may read the key {path}", Typed(f"chmod 600 {shlex.quote(str(path))}")
        )
    key = data.decode("ascii", errors="replace").strip()
    if not _KEY.fullmatch(key):
        raise UsageError(
            f"{path} holds no key: one line of 32 to 2048 hexadecimal digits",
            absent or "copy the key file of the other end",
        )
    return key


def numeric(address: str) -> str:
    """Return ``HOST[:PORT]`` as the agent takes it, which resolves no names.

    Parameters
    ----------
    address : str
        A name or an address; one of version 6 with a port stands in brackets.

    Raises
    ------
    UsageError
        If it is none, or the name is unknown.
    """
    host, port = _parts(address)
    try:
        (*_, where), *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UsageError(
            f"{host!r} is no address, and no name that is known here: {error.args[-1]}",
            Typed(f"getent hosts {shlex.quote(host)}"),
        ) from error
    found = ipaddress.ip_address(str(where[0]).partition("%")[0])
    return f"[{found}]:{port}" if found.version == 6 else f"{found}:{port}"


def _parts(address: str) -> tuple[str, int]:
    match = re.fullmatch(r"\[([^\[\]]+)\](?::(\d{1,5}))?|([^:\[\]]+)(?::(\d{1,5}))?", address)
    if match is not None:
        host, port = match[1] or match[3], match[2] or match[4]
    elif address.count(":") > 1:
        # Of version 6, without a port.
        host, port = address, None
    else:
        host, port = "", None
    if not host or (port is not None and int(port) > 65535):
        raise UsageError(
            f"{address!r} is no address with a port", f"192.0.2.1:{PORT}   or: [2001:db8::1]:{PORT}"
        )
    return host, PORT if port is None else int(port)
