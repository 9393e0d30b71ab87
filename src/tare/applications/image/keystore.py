"""Java's store of certificates without the times at which they were put there."""

from __future__ import annotations

import hashlib
import struct

#: Where Debian has it, and the password that everybody knows.
PATH, PASSWORD = "etc/ssl/certs/java/cacerts", "changeit"
_BEGIN = struct.pack(">II", 0xFEEDFEED, 2)
_CERTIFICATE = 2


def without_times(store: bytes) -> bytes:
    """Return a store with entries in the order of their names, as of 1970.

    Anything else than a store of version 2 with certificates alone is returned as it is.
    """
    try:
        entries = _entries(store)
    except (struct.error, ValueError):
        return store
    body = _BEGIN + struct.pack(">I", len(entries)) + b"".join(sorted(entries))
    return body + _digest(body)


def _digest(body: bytes) -> bytes:
    return hashlib.sha1(PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()


def _entries(store: bytes) -> list[bytes]:
    if store[:8] != _BEGIN or _digest(store[:-20]) != store[-20:]:
        raise ValueError("it is no store of certificates, or has another password")
    (count,), at = struct.unpack_from(">I", store, 8), 12
    found = []
    for _ in range(count):
        tag, length = struct.unpack_from(">IH", store, at)
        if tag != _CERTIFICATE:
            raise ValueError("it has keys")
        time = at + 6 + length
        (kind,) = struct.unpack_from(">H", store, time + 8)
        (size,) = struct.unpack_from(">I", store, time + 10 + kind)
        end = time + 14 + kind + size
        found.append(store[at:time] + bytes(8) + store[time + 8 : end])
        at = end
    if at != len(store) - 20:
        raise ValueError("it has more than its entries")
    return found
