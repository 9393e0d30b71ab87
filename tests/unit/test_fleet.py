"""Fleets: addresses that are refused, names of hosts, what is worked out over all of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import dask
import pytest
from inprocess import invoke

from tare.errors import PlatformError, StoreError, UsageError
from tare.experiment import journal
from tare.experiment.session import budget
from tare.features.fleet import certificate, laboratory, work
from tare.features.fleet import folder as fleet_folder
from tare.features.fleet.laboratory import Hello, Refusal, Told


@pytest.mark.parametrize("file", [None, "/no/such.pem"])
def test_without_certificates_no_other_is_reached(file: str | None) -> None:
    names = [f"distributed.comm.tls.{name}" for name in ("ca-file", "client.cert", "client.key")]
    with (
        dask.config.set(dict.fromkeys(names, file)),
        pytest.raises(PlatformError) as refused,
    ):
        work.admit("tls://scheduler:8786")
    assert "Certificates" in (refused.value.hint or "")


@pytest.mark.parametrize(
    "address",
    ["tcp://scheduler:8786", "tcp://10.0.0.1:1", "tcp://127.0.0.1:8786", "tcp://[::1]:8786"],
)
def test_others_are_refused_without_tls(address: str) -> None:
    with pytest.raises(UsageError, match="without TLS") as refused:
        work.admit(address)
    assert "tls://" in (refused.value.hint or "")


def sent(reply: laboratory.Reply) -> bytes:
    return laboratory._sent(reply)


@pytest.mark.parametrize(
    "reply",
    [
        Told(b"", None, None),
        Told(b"\xff\n", "finished", Refusal("why", None), blocks=3, began_ns=1, ended_ns=2),
        Hello("1", "a", "m", "s", 2),
        Refusal("why", "hint"),
        laboratory.Looked((), ()),
        laboratory.Listening("10.0.0.1:7"),
        laboratory.Probed(b"{}"),
    ],
)
def test_a_reply_is_read_as_it_was_sent(reply: laboratory.Reply) -> None:
    assert laboratory.read(sent(reply)) == reply


@pytest.mark.parametrize(
    "found",
    [
        sent(Told(b"", "nonsense", None)),  # type: ignore[arg-type]
        sent(Told(b"", blocks=-1)),
        sent(Told("text")),  # type: ignore[arg-type]
        sent(Told(b"", began_ns=1, ended_ns=2)).replace(b"\xa8began_ns\x01", b"\xa8began_ns\x03"),
        sent(Told(b"", ended_ns=10**19)),
        sent(Hello("1", "a", "m", "s", "two")),  # type: ignore[arg-type]
        sent(Hello("\xe9", "a", "m", "s", 2)).replace(b"\xc3", b"\xff"),
        sent(Refusal(7, None)),  # type: ignore[arg-type]
        b"", b"\x91" * 100_000, Hello("1", "a", "m", "s", 2), {"version": "1"}, 42, None,
    ],
)  # fmt: skip
def test_what_a_worker_sends_may_be_anything(found: object) -> None:
    assert laboratory.read(found) is None


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


def test_where_nobody_listens_it_is_said_at_once(tmp_path: Path) -> None:
    began = time.monotonic()
    made = certificate.make()
    for name in ("certificate", "key"):
        (tmp_path / name).write_text(getattr(made, name))
    files = {"ca-file": tmp_path / "certificate", "client.cert": tmp_path / "certificate",
             "client.key": tmp_path / "key"}  # fmt: skip
    with (
        dask.config.set({f"distributed.comm.tls.{name}": str(one) for name, one in files.items()}),
        pytest.raises(PlatformError, match="no scheduler answers"),
        work.connected("tls://127.0.0.1:1"),
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
    done = invoke("fleet", "check", "ssh:a,b", "--network")
    assert isinstance(done.exception, UsageError)
    assert "tare net measure" in str(done.exception.hint)
