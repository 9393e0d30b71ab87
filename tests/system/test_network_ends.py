"""Both ends of a measurement: `tare-agent measure` and `tare-agent peer`, over real connections."""

from __future__ import annotations

import contextlib
import hmac
import itertools
import json
import os
import re
import secrets
import signal
import socket
import struct
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tare.agent import record
from tare.agent.client import binary
from tare.errors import AgentError
from tare.networks import peering
from tare.networks.recording.histogram import Times

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.system, pytest.mark.timeout(60)]

ROOT = os.geteuid() == 0
MS = 1_000_000
_decoder = msgspec.json.Decoder(record.MeasureRecord)


class End:
    """The other end, which can be killed and started again under the same port."""

    def __init__(self, key: Path, bind: str = "127.0.0.1:0", *options: str, prefix: Any = ()):
        self.key = key
        self._options, self._prefix = options, prefix
        self.address = bind
        self.start()

    def start(self) -> None:
        words = [str(binary()), "peer", "--bind", self.address, "--key-file", str(self.key)]
        self.process = subprocess.Popen(
            [*self._prefix, *words, *self._options], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().split()[2].rstrip(";")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def close(self) -> None:
        self.process.terminate()
        assert self.process.wait(timeout=10) == 0
        assert self.process.stdout is not None
        self.process.stdout.close()


class Measure:
    """The measuring end, and what it has told."""

    def __init__(self, address: str, key: str, prefix: Any = (), **asked: Any) -> None:
        self.process = subprocess.Popen(
            [*prefix, str(binary()), "measure"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.told: list[Any] = []
        defaults: dict[str, Any] = {
            "direction": "out",
            "streams": 1,
            "congestion": "cubic",
            "pings": 200,
            "interval_ns": 100 * MS,
            "sample_ns": 10 * MS,
            "patience_ns": 10_000 * MS,
        }
        self.order(record.Connect(end=address, key=key, **(defaults | asked)))

    def order(self, order: record.MeasureOrder) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(msgspec.json.encode(order) + b"\n")
            self.process.stdin.flush()

    def send(
        self,
        number: int,
        duration_ms: int,
        on_ms: int = 1,
        off_ms: int = 0,
        write_bytes: int = 16384,
    ) -> None:
        self.order(
            record.Sending(
                id=number,
                duration_ns=duration_ms * MS,
                on_ns=on_ms * MS,
                off_ns=off_ms * MS,
                write_bytes=write_bytes,
            )
        )

    def next(self) -> Any:
        assert self.process.stdout is not None
        self.told.append(_decoder.decode(self.process.stdout.readline()))
        return self.told[-1]

    def until(self, kind: type) -> Any:
        while not isinstance(self.next(), kind | record.MeasureOver):
            pass
        assert isinstance(self.told[-1], kind), self.told[-1]
        return self.told[-1]

    def intervals(self, direction: str = "out") -> list[record.Interval]:
        intervals = [told for told in self.told if isinstance(told, record.Interval)]
        return [told for told in intervals if told.direction == direction]

    def close(self) -> record.MeasureOver:
        """End its input, hear it out."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        if not (self.told and isinstance(self.told[-1], record.MeasureOver)):
            self.until(record.MeasureOver)
        over: record.MeasureOver = self.told[-1]
        assert self.process.stdout.read() == b""
        assert self.process.wait(timeout=10) == (1 if over.why else 0)
        self.process.stdout.close()
        return over


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    peering.make_key(path)
    return path


@pytest.fixture
def end(key: Path) -> Iterator[End]:
    end = End(key)
    yield end
    end.close()


def measure(end: End, **asked: Any) -> Measure:
    return Measure(end.address, peering.read_key(end.key), **asked)


@pytest.fixture
def hosts() -> Iterator[list[list[str]]]:
    """Prefixes of two network namespaces that a cable joins: 10.79.1.1 and 10.79.1.2."""
    if not ROOT:
        pytest.skip("only root makes network namespaces")
    names = [f"tare-test-{os.getpid()}-{number}" for number in (1, 2)]
    try:
        for name in names:
            subprocess.run(["ip", "netns", "add", name], check=True)
        cable = f"link add eth0 netns {names[0]} type veth peer name eth0 netns {names[1]}"
        subprocess.run(["ip", *cable.split()], check=True)
        for number, name in enumerate(names, 1):
            for line in (f"addr add 10.79.1.{number}/24 dev eth0", "link set eth0 up"):
                subprocess.run(["ip", "-n", name, *line.split()], check=True)
        yield [["ip", "netns", "exec", name] for name in names]
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False)


class TestTelling:
    def test_both_directions_add_up_over_a_cable(self, key: Path, hosts: list[list[str]]) -> None:
        end = End(key, "10.79.1.2:0", prefix=hosts[1])
        run = measure(
            end, prefix=hosts[0], direction="both", streams=2, interval_ns=10 * MS, sample_ns=5 * MS
        )
        run.send(7, 500)
        run.send(8, 300, on_ms=0)
        for number in (7, 8):
            over = run.until(record.PhaseOver)
            assert (over.id, over.skipped) == (number, False)
        assert run.close().why is None
        end.close()

        (connected,) = [told for told in run.told if isinstance(told, record.Connected)]
        for facts in (connected.here, connected.there):
            found = {fact.name: fact.value for fact in facts}
            assert found["interface"] == "eth0"
            assert found["congestion"] == "cubic"
            assert (found["mtu"], found["driver"]) == ("1500", "veth")
            assert found["tso"] in ("on", "off")
            assert {"kernel", "cpus", "qdisc", "gro", "tcp_wmem", "tcp_rmem"} <= set(found)
        for direction in ("out", "in"):
            intervals = run.intervals(direction)
            for before, after in itertools.pairwise(intervals):
                # An end that is late where a phase begins takes part from the next interval on.
                is_late = before.id != after.id and before.end_ns < after.start_ns
                assert is_late or before.end_ns == after.start_ns
            # All of the time in which data was sent is counted. What is still on its way at the end
            # has an interval of its own, unless an end was so late that it missed that one's
            # beginning.
            sent = [told for told in intervals if told.id == 7]
            for told in sent[:-1]:
                assert told.on_ns == told.end_ns - told.start_ns
            assert sent[-1].on_ns <= sent[-1].end_ns - sent[-1].start_ns
            assert sum(told.on_ns for told in sent) >= 499 * MS
            assert sum(told.on_ns for told in intervals if told.id == 8) == 0
            acked = sum(interval.acked_bytes for interval in intervals)
            received = sum(interval.received_bytes or 0 for interval in intervals)
            # With the rest, everything has come: the same bytes, counted at both ends.
            assert acked == received > 0
            assert intervals[0].segment_bytes in range(1000, 1500)
            busy = [told for told in intervals if told.id == 7]
            assert sum(count for told in busy for _, count in told.smoothed_rtt.bins) > 10
            assert sum(told.sender_cpu_ns or 0 for told in busy) > 0
            assert sum(told.receiver_cpu_ns or 0 for told in busy) > 0
            assert sum(told.segments or 0 for told in busy) * 1500 > acked / 50
        pings = sum(n for told in run.intervals() for _, n in told.round_trips.bins)
        assert 20 < pings < 400
        assert not any(told.round_trips.bins for told in run.intervals("in"))

    def test_patterns_turn_at_their_times(self, end: End) -> None:
        run = measure(end, interval_ns=50 * MS, pings=0)
        run.send(1, 600, on_ms=100, off_ms=200)
        run.until(record.PhaseOver)
        assert run.close().why is None
        intervals = run.intervals()
        # Where sending begins and ends, an interval does: it is on as a whole, or not at all.
        assert all(told.on_ns in (0, told.end_ns - told.start_ns) for told in intervals)
        turns = [
            (is_on, next(some).start_ns)
            for is_on, some in itertools.groupby(intervals, key=lambda told: told.on_ns > 0)
        ]
        assert [is_on for is_on, _ in turns] == [True, False, True, False]
        # Each turn is when it was seen to be, never before its time.
        due = (0, 100 * MS, 300 * MS, 400 * MS)
        assert all(at <= start < at + 100 * MS for at, (_, start) in zip(due, turns, strict=True))
        # What was sent is what the bursts hold, up to what was buffered when they ended.
        quiet = [told for told in intervals if told.on_ns == 0]
        assert quiet
        assert sum(told.acked_bytes for told in quiet) < sum(told.acked_bytes for told in intervals)

    def test_a_phase_is_skipped_at_once(self, end: End) -> None:
        run = measure(end)
        run.send(1, 3_600_000)
        run.send(2, 3_600_000)
        run.send(3, 3_600_000)
        run.until(record.Interval)
        run.order(record.Skip(id=3))
        assert run.until(record.PhaseOver) == record.PhaseOver(id=1, skipped=True)
        assert run.until(record.PhaseOver) == record.PhaseOver(id=2, skipped=True)
        assert run.until(record.Interval).id == 3
        # Of one that is under way already, nothing.
        run.order(record.Skip(id=3))
        run.process.send_signal(signal.SIGTERM)
        assert run.until(record.PhaseOver) == record.PhaseOver(id=3, skipped=True)
        assert run.close().why is None

    def test_one_after_another_beside_nothing(self, end: End) -> None:
        run = measure(end, pings=None)
        run.send(1, 200, on_ms=0)
        run.until(record.PhaseOver)
        run.close()
        counted = sum(n for told in run.intervals() for _, n in told.round_trips.bins)
        assert counted > 200
        assert sum(told.acked_bytes for told in run.intervals()) == 0


@pytest.mark.timeout(120)
class TestShortPhases:
    """On a link that carries 300 Mbit/s, headers included: 286.9 Mbit/s of payload."""

    PAYLOAD_BPS = 300e6 * 1448 / 1514

    @pytest.fixture
    def link(self, hosts: list[list[str]]) -> list[list[str]]:
        for prefix in hosts:
            words = "tc qdisc replace dev eth0 root tbf rate 300mbit burst 64kb latency 50ms"
            subprocess.run([*prefix, *words.split()], check=True)
        return hosts

    @pytest.mark.parametrize("direction", ["out", "in"])
    def test_none_is_faster_than_the_link(
        self, key: Path, link: list[list[str]], direction: str
    ) -> None:
        end = End(key, "10.79.1.2:0", prefix=link[1])
        run = measure(end, prefix=link[0], direction=direction, interval_ns=1000 * MS)
        sizes = [1 << power for power in (14, 20, 12, 17)]
        for number, size in enumerate(sizes):
            run.send(number, 1000, write_bytes=size)
            # As the front does: the next is asked for when this one is over.
            run.until(record.PhaseOver)
        assert run.close().why is None
        end.close()
        sent = [one for one in run.intervals(direction) if one.on_ns]
        assert len(sent) == len(sizes)
        for one in sent:
            # Half of it is the bucket that the shaper itself lets through at once.
            assert 8e9 * one.acked_bytes / one.on_ns < 1.003 * self.PAYLOAD_BPS
        # What was still on its way has its own time, and is no slower for that.
        rest = [one for one in run.intervals(direction) if not one.on_ns]
        assert sum(one.acked_bytes for one in rest) > 0
        bits = 8 * sum(one.acked_bytes for one in run.intervals(direction))
        seconds = sum(one.end_ns - one.start_ns for one in run.intervals(direction)) / 1e9
        assert bits / seconds < 1.003 * self.PAYLOAD_BPS

    @pytest.mark.parametrize("direction", ["out", "in"])
    def test_a_segment_takes_the_time_that_its_queue_takes(
        self, key: Path, hosts: list[list[str]], direction: str
    ) -> None:
        rate_bps, limit_bytes, segment_bytes = 1e6, 30_000, 1448
        for prefix in hosts:
            words = "tc qdisc replace dev eth0 root tbf rate 1mbit burst 2000 limit 30000"
            subprocess.run([*prefix, *words.split()], check=True)
        end = End(key, "10.79.1.2:0", prefix=hosts[1])
        run = measure(end, prefix=hosts[0], direction=direction, pings=0, interval_ns=500 * MS)
        run.send(0, 1500, write_bytes=segment_bytes)
        run.until(record.PhaseOver)
        assert run.close().why is None
        end.close()
        segments, smoothed = Times(), Times()
        for one in run.intervals(direction):
            smoothed.add(one.smoothed_rtt)
            if one.segment_rtt is not None:
                segments.add(one.segment_rtt)
        assert len(segments) > 10
        median_ns, smoothed_ns = segments.quantile_ns(0.5), smoothed.quantile_ns(0.5)
        assert median_ns is not None
        assert smoothed_ns is not None
        # At least the time of the segment itself at the rate, less the burst of the shaper; at most
        # that of a full queue; and about what the kernel's own moving average is.
        assert median_ns > 0.5 * 1e9 * 8 * segment_bytes / rate_bps
        assert median_ns < 1.5 * 1e9 * 8 * limit_bytes / rate_bps
        assert 0.4 < median_ns / smoothed_ns < 2.5

    def test_phases_of_one_size_follow_without_a_pause(
        self, key: Path, link: list[list[str]]
    ) -> None:
        end = End(key, "10.79.1.2:0", prefix=link[1])
        run = measure(end, prefix=link[0], interval_ns=50 * MS)
        for number in range(3):
            run.send(number, 200)
        for _ in range(3):
            run.until(record.PhaseOver)
        assert run.close().why is None
        end.close()
        intervals = run.intervals()
        for before, after in itertools.pairwise(intervals):
            assert before.end_ns == after.start_ns
        # Only at its end what is on its way is waited for.
        assert [one.on_ns > 0 for one in intervals] == [True] * (len(intervals) - 1) + [False]


class TestLog:
    def test_who_came_and_what_became_of_it(self, key: Path, tmp_path: Path) -> None:
        log = tmp_path / "serve.log"
        end = End(key, "127.0.0.1:0", "--streams", "2", "--log", str(log))
        run = measure(end)
        run.send(1, 200)
        run.until(record.PhaseOver)
        assert run.close().why is None
        for secret, streams in ((secrets.token_hex(32), 1), (peering.read_key(key), 3)):
            run = Measure(end.address, secret, streams=streams)
            run.until(record.MeasureOver)
            run.close()
        host, port = end.address.rsplit(":", 1)
        for _ in range(300):
            with socket.create_connection((host, int(port))) as guest:
                guest.sendall(b"\x1b[31m\nroot was here\n" * 4)
        end.close()
        text = log.read_text()
        lines = text.splitlines()
        assert "serves on 127.0.0.1:" in lines[0]
        assert re.search(r"127\.0\.0\.1 measures: to here, streams: 1", text)
        assert re.search(r"ended: .*; \d+\.\d s, \d{4,} bytes received, 0 sent", text)
        assert "127.0.0.1 refused: wrong key" in text
        assert "no more than 2 streams at once are allowed, 3 were asked for" in text
        assert "more connections without the key, the last from 127.0.0.1" in text
        assert lines[-1].endswith("ends: SIGTERM")
        # A flood is a few lines, none of what it says is in them, and the key is not.
        assert len(lines) < 25
        assert "root" not in text
        assert "\x1b" not in text
        assert peering.read_key(key) not in text
        assert log.stat().st_mode & 0o777 == 0o600

    def test_a_log_that_is_a_link_is_refused(self, key: Path, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
        words = ["--bind", "127.0.0.1:0", "--key-file", str(key), "--log", str(tmp_path / "link")]
        done = subprocess.run(
            [str(binary()), "peer", *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == AgentError.exit_code
        assert str(tmp_path / "link") in done.stderr
        assert not (tmp_path / "elsewhere").exists()

    @pytest.mark.parametrize("host", ["0.0.0.0", "[::]"])
    def test_every_address_is_none_to_type(
        self, key: Path, hosts: list[list[str]], host: str
    ) -> None:
        words = ["peer", "--bind", f"{host}:8273", "--key-file", str(key)]
        process = subprocess.Popen(
            [*hosts[1], str(binary()), *words], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        first, *rest = (process.stdout.readline() for _ in range(4))
        process.terminate()
        assert process.wait(timeout=10) == 0
        process.stdout.close()
        assert host in first
        assert all("10.79.1.2:8273" in line for line in rest[:2])
        assert "every address" in rest[2]


class Guest:
    """Who has the key and speaks as it likes; the agent's `wire.rs` says what is due."""

    MEASURE, JOIN, DATAGRAMS = 5, 6, 3

    def __init__(self, end: End) -> None:
        host, port = end.address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=5)
        theirs = self._take(41)
        both, version = theirs[9:] + secrets.token_bytes(32), theirs[8:9]

        def secret(key: bytes, what: bytes) -> bytes:
            return hmac.digest(key, bytes([len(what)]) + what + version + both, "sha256")

        key = bytes.fromhex(peering.read_key(end.key))
        self.socket.sendall(both[32:] + secret(key, b"probe"))
        assert self._take(32) == secret(key, b"end")
        self._session = secret(key, b"session")
        self._framing = hmac.digest(self._session, b"frames of probe", "sha256")
        self.token = hmac.digest(self._session, b"datagrams", "sha256")[:16]
        self._frames = 0

    def _take(self, size: int) -> bytes:
        got = b""
        while len(got) < size:
            more = self.socket.recv(size - len(got))
            if not more:
                raise EOFError
            got += more
        return got

    def ask(self, task: int, size: int, count: int) -> int:
        """Return the port of the answer."""
        plain = struct.pack(">BIQ", task, size, count)
        self.socket.sendall(plain + hmac.digest(self._session, bytes(8) + plain, "sha256"))
        refused, port = struct.unpack(">BH", self._take(3))
        assert not refused
        return int(port)

    def frame(self, tell: str, **more: Any) -> bytes:
        plain = json.dumps({"tell": tell} | more).encode()
        number, self._frames = struct.pack(">Q", self._frames), self._frames + 1
        seal = hmac.digest(self._framing, number + plain, "sha256")
        return struct.pack(">I", len(plain)) + plain + seal

    def send(self) -> bytes:
        times = {"duration_ns": 10**11, "on_ns": 10**11, "off_ns": 0}
        sending = {"id": 1, "write_bytes": 131072} | times
        return self.frame("send", sending=sending, since_ns=0)

    def begin(self, direction: str) -> int:
        """Return the number to join by."""
        self.ask(self.MEASURE, 0, 0)
        begin = {"streams": 1, "congestion": None, "lasts_ns": None, "most_bytes": None}
        times = {"interval_ns": 100 * MS, "sample_ns": 2**63}
        self.socket.sendall(self.frame("begin", direction=direction, **begin, **times))
        ready = json.loads(self._take(struct.unpack(">I", self._take(4))[0]))
        self._take(32)
        assert ready["tell"] == "ready"
        return int(ready["number"])


class TestHostileGuest:
    #: Loopback carries so much until limits are looked at again; without them there is no end.
    MOST = 400 << 20

    def test_bytes_are_counted_whatever_the_order(self, key: Path, tmp_path: Path) -> None:
        log = tmp_path / "serve.log"
        end = End(key, "127.0.0.1:0", "--bytes", "1000000", "--log", str(log))
        for number_cut, how in enumerate(("push", "ping", "late", "flood"), 1):
            guest, stream = Guest(end), Guest(end)
            number = guest.begin("out" if how == "push" else "in")
            if how == "late":
                guest.socket.sendall(guest.send())
            stream.ask(Guest.JOIN, int(how != "ping"), number)
            if how == "flood":
                orders = b"".join(guest.send() for _ in range(5000))
                with contextlib.suppress(OSError):
                    guest.socket.sendall(orders)
            moved = 0
            with contextlib.suppress(OSError):
                while moved < self.MOST:
                    if how in ("push", "ping"):
                        moved += stream.socket.send(bytes(1 << 14))
                    if how != "push":
                        got = len(stream.socket.recv(1 << 20))
                        moved += got
                        if not got:
                            break
            assert moved < self.MOST, how
            for one in (guest, stream):
                one.socket.close()
            # The connection is closed before the reason is logged.
            deadline = time.monotonic() + 30
            while log.read_text().count("was cut") < number_cut and time.monotonic() < deadline:
                time.sleep(0.01)
        end.close()
        cut = re.findall(
            r"was cut: .* 1000000 bytes .*; \S+ s, (\d+) bytes received, (\d+) sent, (\d+) of",
            log.read_text(),
        )
        assert [[int(one) > 1000000 for one in told] for told in cut] == [
            [True, False, False],
            [False, False, True],
            [False, True, False],
            [False, True, False],
        ]

    def test_no_datagram_longer_than_was_ordered_comes_back(self, end: End) -> None:
        guest = Guest(end)
        port = guest.ask(Guest.DATAGRAMS, 100, 10)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            datagrams.connect(("127.0.0.1", port))
            datagrams.settimeout(5)
            for sent in (guest.token, b"x" * 101, b"x" * 65000, b"y" * 100):
                datagrams.send(sent)
            assert datagrams.recv(65536) == guest.token
            assert datagrams.recv(65536) == b"y" * 100
            datagrams.send(b"")
        guest.socket.close()


class TestLoss:
    @pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
    def test_an_end_that_comes_again_is_measured_on(self, key: Path, how: signal.Signals) -> None:
        end = End(key)
        run = measure(end, direction="both")
        run.send(1, 3_600_000)
        run.until(record.Interval)
        end.process.send_signal(how)
        end.process.wait()
        end.process.stdout.close()  # type: ignore[union-attr]
        time.sleep(0.2)
        end.start()
        gap = run.until(record.Gap)
        assert gap.end_ns - gap.start_ns >= 100 * MS
        assert gap.why
        again = run.until(record.Connected)
        assert again.at_ns == gap.end_ns
        after = run.until(record.Interval)
        assert (after.id, after.start_ns) == (1, gap.end_ns)
        while not (run.intervals()[-1].acked_bytes and run.intervals("in")[-1].acked_bytes):
            run.until(record.Interval)
        assert run.close().why is None
        end.close()

    def test_phases_go_on_without_the_other_end(self, key: Path) -> None:
        end = End(key)
        run = measure(end)
        run.send(1, 600)
        run.send(2, 100)
        run.until(record.Interval)
        end.kill()
        gaps = []
        for number in (1, 2):
            assert run.until(record.PhaseOver) == record.PhaseOver(id=number, skipped=False)
            # Who leaves now has been told what was not measured.
            gaps.append(run.told[-2])
        assert all(isinstance(gap, record.Gap) and gap.why for gap in gaps)
        assert gaps[0].end_ns == gaps[1].start_ns
        assert run.close().why is None

    def test_two_clients_are_served_at_once(self, end: End) -> None:
        both = [measure(end, streams=2) for _ in range(2)]
        for run in both:
            run.send(1, 3_600_000)
        for run in both:
            while not run.intervals() or not run.intervals()[-1].acked_bytes:
                run.until(record.Interval)
        for run in both:
            assert run.close().why is None


class TestRefusal:
    def refused(self, address: str, key: str, **asked: Any) -> record.Ended | None:
        run = Measure(address, key, **asked)
        run.send(1, 10_000)
        over: record.MeasureOver = run.until(record.MeasureOver)
        run.close()
        return over.why

    def test_why_there_is_no_connection_is_told(self, end: End) -> None:
        key = peering.read_key(end.key)
        other = self.refused(end.address, secrets.token_hex(32))
        assert other == record.OtherKey(end=end.address)
        strange = self.refused(end.address, key, congestion="nosuch")
        assert isinstance(strange, record.CongestionRefused)
        assert (strange.here, strange.name) == (True, "nosuch")
        assert "reno" in strange.available
        many = self.refused(end.address, key, streams=33, direction="both")
        assert many == record.BeyondLimit(limit="streams", allowed=64, asked=66)
        with closed_port() as port:
            # Who answers that nobody listens there is not waited for, however patient one is.
            closed = self.refused(f"127.0.0.1:{port}", key, patience_ns=3_600_000 * MS)
            assert closed == record.PortClosed(end=f"127.0.0.1:{port}")
        name = self.refused("localhost:1", key)
        assert isinstance(name, record.MeasureFailed)
        if ROOT:
            # In a new namespace there is no network at all.
            alone = ("unshare", "--net")
            lost = self.refused("192.0.2.1:1", key, patience_ns=0, prefix=alone)
            assert isinstance(lost, record.EndUnreachable)

    def test_another_version_is_told(self, end: End) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            address = "{}:{}".format(*listener.getsockname())
            run = Measure(address, peering.read_key(end.key))
            come, _ = listener.accept()
            come.sendall(b"TAREPEER" + bytes([1]) + bytes(32))
            why = run.until(record.MeasureOver).why
            assert isinstance(why, record.OtherVersion)
            assert why.theirs == 1 != why.ours
            run.close()
            come.close()

    def test_garbage_floods_and_slow_ones_do_not_keep_others_away(self, end: End) -> None:
        host, port = end.address.rsplit(":", 1)
        run = measure(end)
        run.send(1, 3_600_000)
        run.until(record.Interval)
        with contextlib.ExitStack() as stack:
            for number in range(200):
                guest = stack.enter_context(socket.create_connection((host, int(port))))
                with contextlib.suppress(OSError):
                    guest.sendall(secrets.token_bytes(number * 7))
            run.until(record.Interval)
            other = measure(end)
            other.send(1, 3_600_000)
            other.until(record.Interval)
            assert other.close().why is None
        run.until(record.Interval)
        assert run.close().why is None

    def test_bounds_of_the_end_are_told(self, key: Path) -> None:
        secret = peering.read_key(key)
        bounds = ("--bytes", "1000000", "--longest", "3600", "--total-bytes", "1500000")
        end = End(key, "127.0.0.1:0", *bounds)
        limits = record.BeyondLimit
        # Known before, it is refused before; otherwise it is cut.
        most = self.refused(end.address, secret, most_bytes=1_000_001)
        assert most == limits(limit="bytes", allowed=1_000_000, asked=1_000_001)
        long = self.refused(end.address, secret, lasts_ns=3_600_001 * MS)
        assert long == limits(limit="time", allowed=3_600_000 * MS, asked=3_600_001 * MS)
        cut = self.refused(end.address, secret, lasts_ns=10_000 * MS)
        assert cut == limits(limit="bytes", allowed=1_000_000)
        # Whoever comes again has less left.
        again = self.refused(end.address, secret)
        assert again == limits(limit="total_bytes", allowed=1_500_000)
        end.close()

    @pytest.mark.parametrize(
        "line", [b"garbage", b'{"job":"skip"}', b"[" * 100000, b'{"job":"connect","end":"\xff"}']
    )
    def test_orders_that_are_none_are_told(self, line: bytes) -> None:
        done = subprocess.run(
            [str(binary()), "measure"], input=line + b"\n", capture_output=True, check=False
        )
        over = _decoder.decode(done.stdout)
        assert isinstance(over, record.MeasureOver)
        assert over.why is not None
        assert done.returncode == 1


@contextlib.contextmanager
def closed_port() -> Iterator[int]:
    """A port on which nobody listens, and which nobody else is given."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]
