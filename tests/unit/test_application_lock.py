"""Locks of images as files: what is read back, and what is refused."""

from __future__ import annotations

import pytest

from tare.applications.image import lock
from tare.applications.image.lock import Lock, Package
from tare.errors import ExperimentError

DIGEST = "0" * 64


def test_a_lock_of_a_large_image_is_read_back() -> None:
    packages = tuple(
        Package(name=f"package-{n}", version="1:2.0~rc1+dfsg-1", architecture="amd64")
        for n in range(2000)
    )
    written = lock.format_(Lock(tare="1", digest=DIGEST, suite="bookworm", packages=packages))
    assert 100_000 < len(written) < lock.MOST_BYTES
    assert lock.parse(written).packages == packages


def test_a_lock_may_be_as_large_as_the_limit_and_no_larger() -> None:
    written = lock.format_(Lock(tare="1", digest=DIGEST))
    assert lock.parse(written.ljust(lock.MOST_BYTES)).digest == DIGEST
    with pytest.raises(ExperimentError, match="larger"):
        lock.parse(written.ljust(lock.MOST_BYTES + 1))


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff", b'{"format": 2}', b"[" * 100_000])
def test_what_is_no_lock_is_refused(data: bytes) -> None:
    with pytest.raises(ExperimentError, match="cannot be read"):
        lock.parse(data)
