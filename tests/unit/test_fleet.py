"""Fleets: addresses that are refused, names of hosts, what is worked out over all of them."""

from __future__ import annotations

import dask
import pytest

from tare.errors import PlatformError, UsageError
from tare.features.fleet import laboratory, work


def test_a_scheduler_of_this_machine_needs_no_certificates() -> None:
    work.admit("tcp://127.0.0.1:8786")


@pytest.mark.parametrize("file", [None, "/no/such.pem"])
def test_without_certificates_no_other_is_reached(file: str | None) -> None:
    names = [f"distributed.comm.tls.{name}" for name in ("ca-file", "client.cert", "client.key")]
    with (
        dask.config.set(dict.fromkeys(names, file)),
        pytest.raises(PlatformError) as refused,
    ):
        work.admit("tls://scheduler:8786")
    assert "Certificates" in (refused.value.hint or "")


@pytest.mark.parametrize("address", ["tcp://scheduler:8786", "tcp://10.0.0.1:1"])
def test_others_are_refused_without_tls(address: str) -> None:
    with pytest.raises(UsageError, match="without TLS") as refused:
        work.admit(address)
    assert "tls://" in (refused.value.hint or "")


@pytest.mark.parametrize("address", ["scheduler:8786", "http://scheduler", "tls://", ""])
def test_what_is_no_scheduler_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="not the address"):
        work.admit(address)


@pytest.mark.parametrize("address", ["local:", "local:0", "local:x", "local:100000"])
def test_so_many_hosts_are_none(address: str) -> None:
    with pytest.raises(UsageError, match="hosts"), work.connected(address):
        pass


@pytest.mark.parametrize(
    ("given", "name"),
    [("box1", "box1"), ("tcp://10.0.0.1:4000", "tcp-10.0.0.1-4000"), ("../../etc", "etc"),
     ("..", "host"), ("é\n", "host"), ("a" * 100, "a" * 64)],
)  # fmt: skip
def test_a_worker_names_a_folder_and_nothing_else(given: str, name: str) -> None:
    assert laboratory.name_of(given) == name
