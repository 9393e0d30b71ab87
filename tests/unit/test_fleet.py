"""Fleets: addresses that are refused, names of hosts, what is worked out over all of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import dask
import pytest
from typer.testing import CliRunner

from tare.errors import PlatformError, StoreError, UsageError
from tare.experiment import journal
from tare.experiment.session import budget
from tare.features.fleet import folder as fleet_folder
from tare.features.fleet import laboratory, work
from tare.features.fleet.laboratory import Hello, Refusal, Told
from tare.wiring import command_line


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


def test_a_configuration_that_asks_for_encryption_is_kept_to() -> None:
    with (
        dask.config.set({"distributed.comm.require-encryption": True}),
        pytest.raises(UsageError, match="asks for encryption"),
    ):
        work.admit("tcp://127.0.0.1:8786")


@pytest.mark.parametrize(
    ("found", "is_sound"),
    [
        (Told(b"", None, None), True),
        (Told(b"", "finished", Refusal("why", None), blocks=3, began_ns=1, ended_ns=2), True),
        (Told(b"", "nonsense", None), False),  # type: ignore[arg-type]
        (Told(b"", blocks=-(10**30)), False),
        (Told("text"), False),  # type: ignore[arg-type]
        (Told(b"", began_ns=2, ended_ns=1), False),
        (Hello("1", "a", "m", "s", 2), True),
        (Hello("1", "a", "m", "s", "two"), False),  # type: ignore[arg-type]
        (Refusal(7, None), False),  # type: ignore[arg-type]
        ({"version": "1"}, False),
        (42, False),
    ],
)
def test_what_a_worker_sends_may_be_anything(found: object, is_sound: bool) -> None:
    assert laboratory.is_sound(found) == is_sound


@pytest.mark.parametrize("name", ["hosts", "hosts/box", "hosts/box/journal"])
def test_nothing_is_written_through_a_link(name: str, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "out" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="is a link"):
        fleet_folder.make(tmp_path / "out/hosts/box")
    assert not [*(tmp_path / "elsewhere").iterdir()]


@pytest.mark.parametrize("address", ["scheduler:8786", "http://scheduler", "tls://", ""])
def test_what_is_no_scheduler_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="not the address"):
        work.admit(address)


@pytest.mark.parametrize(
    "address", ["local:", "local:0", "local:x", "local:100000", "local:\u0663"]
)
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


@pytest.mark.parametrize(
    "address",
    ["tcp://127.0.0.1", "tcp://127.0.0.1:abc", "tcp://[::1", "tcp://127.0.0.1:1/?x",
     "tcp://127.0.0.1:1#@x", "TCP://127.0.0.1:1", "tcp://a@127.0.0.1:1"],
)  # fmt: skip
def test_half_an_address_is_refused_at_once(address: str) -> None:
    with pytest.raises(UsageError, match="not the address"):
        work.admit(address)


def test_where_nobody_listens_it_is_said_at_once() -> None:
    began = time.monotonic()
    with (
        pytest.raises(PlatformError, match="no scheduler answers"),
        work.connected("tcp://127.0.0.1:1"),
    ):
        pass
    assert time.monotonic() - began < 5


def test_what_is_no_journal_is_known() -> None:
    line = b'{"record":"note","message":"a"}\n'
    assert journal.is_journal(b"")
    assert journal.is_journal(line * 2)
    for wrong in (b"not a journal\n", line + b'{"record":', line[:-1], line + b"\xff\n"):
        assert not journal.is_journal(wrong)


def test_time_of_others_is_none_of_a_budget() -> None:
    own = budget.Budget(100.0)
    own.extend(50.0)
    assert own.left_s == pytest.approx(150.0, abs=1.0)


#: Shared with a task in a thread of this process, which is sent by its name.
GOES_ON, SEEN = threading.Event(), []


def waits() -> None:
    SEEN.append(laboratory._is_wanted())
    GOES_ON.wait(60)
    SEEN.append(laboratory._is_wanted())


def test_a_task_knows_when_nobody_waits_for_it_any_more() -> None:
    """As where a host waits for its turn on a machine, and whoever began the fleet has gone."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            1, threads_per_worker=1, processes=False, protocol="tcp://", host="127.0.0.1"
        ) as cluster,
        Client(cluster) as client,
    ):
        asked = client.submit(waits, pure=False)
        until(lambda: SEEN)
        (worker,) = cluster.workers.values()
        asked.cancel()
        until(lambda: all(task.state == "cancelled" for task in worker.state.tasks.values()))
        GOES_ON.set()
        until(lambda: len(SEEN) == 2)
    assert SEEN == [True, False]
    assert laboratory._is_wanted()


def until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_the_network_between_hosts_by_ssh_is_refused_before_anything_starts() -> None:
    done = CliRunner().invoke(command_line(), ["fleet", "check", "ssh:a,b", "--network"])
    assert isinstance(done.exception, UsageError)
    assert "tare net measure" in str(done.exception.hint)
