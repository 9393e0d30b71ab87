"""Probes of files and networks, where they can be had and where they cannot."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tare.agent import record
from tare.agent.client import Agent, ProcessChannel, binary
from tare.experiment.session.probing import Given, Turn, perform_round
from tare.networks import peering

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.system, pytest.mark.timeout(180)]

MB = 1 << 20
ROOT = os.geteuid() == 0
TARE = str(Path(sys.executable).with_name("tare"))


class Answer:
    """What a round brought."""

    def __init__(self, records: Any) -> None:
        self.values: dict[str, dict[tuple[int, ...], float]] = defaultdict(dict)
        for reading in records.readings:
            self.values[reading.metric][tuple(reading.at)] = reading.value
        self.why = [fault.message for fault in records.faults]
        self.kinds = {fault.kind for fault in records.faults}

    def value(self, metric: str) -> float:
        return self.values[metric][()]


def probe(name: str, *prefix: str, timeout_s: float = 60, **given: Any) -> Answer:
    """One round in an agent of its own, behind a prefix of the command line."""
    channel = ProcessChannel([*prefix, str(binary()), "serve"])
    with closing(Agent(channel)) as agent:
        return Answer(perform_round(agent, Turn(name, 0, timeout_s), Given(**given)))


@pytest.fixture
def disk(tmp_path: Path) -> str:
    """A directory on a disk with O_DIRECT."""
    try:
        (tmp_path / "probe").touch()
        os.close(os.open(tmp_path / "probe", os.O_RDONLY | os.O_DIRECT))
    except OSError:
        pytest.skip("no O_DIRECT where tests have their files")
    kind = subprocess.run(
        ["stat", "-f", "-c", "%T", tmp_path], capture_output=True, text=True, check=True
    )
    if kind.stdout.strip() in ("tmpfs", "ramfs"):
        pytest.skip("tests have their files in memory")
    return str(tmp_path)


class TestLoopback:
    def test_brief_round_trips_have_no_tail(self) -> None:
        answer = probe("network.round_trip", effort="brief")
        assert answer.why == []
        assert set(answer.values) == {"network.round_trip.tcp_p50"}
        assert answer.value("network.round_trip.tcp_p50") > 0

    def test_round_trips(self) -> None:
        answer = probe("network.round_trip", effort="quick")
        kinds = ("tcp", "tcp56", "udp")
        assert answer.why == []
        assert set(answer.values) == {
            f"network.round_trip.{kind}_{q}" for kind in kinds for q in ("p50", "p99")
        }
        for kind in kinds:
            p50, p99 = (answer.value(f"network.round_trip.{kind}_{q}") for q in ("p50", "p99"))
            assert 0 < p50 <= p99

    def test_bandwidth_rises_with_the_size_of_messages(self) -> None:
        answer = probe("network.bandwidth")
        assert answer.why == []
        curve = answer.values["network.bandwidth.by_size"]
        assert curve[131072,] == answer.value("network.bandwidth.loopback")
        # 2000 times fewer system calls.
        assert curve[64,] < curve[131072,]

    def test_connections_leave_a_bounded_number_of_ports(self) -> None:
        answer = probe("network.connect")
        assert answer.why == []
        parts = {p: answer.value(f"network.connect.{p}") for p in ("setup", "teardown", "least")}
        whole = answer.value("network.connect.whole")
        assert all(0 < part <= whole for part in parts.values())
        assert answer.value("network.connect.reset") > 0

    @pytest.mark.skipif(not ROOT, reason="only root makes network namespaces")
    @pytest.mark.parametrize("name", ["round_trip", "bandwidth", "connect"])
    def test_no_loopback_is_told(self, name: str) -> None:
        # In a new namespace it is down.
        answer = probe(f"network.{name}", "unshare", "--net")
        assert answer.kinds == {"unavailable"}
        assert not answer.values
        assert any("etwork" in why for why in answer.why), answer.why


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    peering.make_key(path)
    return path


@contextlib.contextmanager
def end(key: Path, bind: str = "127.0.0.1:0", *prefix: str) -> Iterator[tuple[str, Any]]:
    """The other end, as `tare net serve` starts it; its address and its process."""
    tare = [TARE, "net", "serve"]
    process = subprocess.Popen(
        [*prefix, *tare, "--bind", bind, "--key", str(key)],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        words = process.stdout.readline().split()
        assert words[:2] == ["listening", "on"]
        address = words[2].rstrip(";")
        assert process.stdout.readline().split() == [
            "tare",
            "fingerprint",
            "--peer",
            address,
            "--key",
            str(key),
        ]
        yield address, process
    finally:
        process.terminate()
        assert process.wait(timeout=10) == 0


def given(address: str, key: Path) -> record.Peer:
    return record.Peer(address=address, key=peering.read_key(key))


class TestPeer:
    def test_all_network_probes_measure_to_there(self, key: Path) -> None:
        with end(key) as (address, _):
            peer = given(address, key)
            trip = probe("network.round_trip", peer=peer)
            width = probe("network.bandwidth", peer=peer)
            connect = probe("network.connect", peer=peer)
        assert trip.why == width.why == connect.why == []
        remote = "network.round_trip.remote"
        assert 0 < trip.value(f"{remote}.tcp_p50") <= trip.value(f"{remote}.tcp_p99")
        assert 0 < trip.value(f"{remote}.tcp56_p50") <= trip.value(f"{remote}.tcp56_p99")
        assert 0 < trip.value(f"{remote}.udp_p50") <= trip.value(f"{remote}.udp_p99")
        assert 0 <= trip.value(f"{remote}.udp_lost") < 1
        assert width.value("network.bandwidth.remote") > 0
        assert connect.value("network.connect.remote.setup") > 0

    @pytest.mark.skipif(not ROOT, reason="only root makes network namespaces")
    @pytest.mark.skipif(shutil.which("ip") is None, reason="no ip (iproute2)")
    def test_between_two_machines(self, key: Path) -> None:
        names = [f"tare-test-{secrets.token_hex(3)}" for _ in range(2)]
        for name in names:
            made = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False)
            if made.returncode:
                pytest.skip("no network namespaces here")
        try:
            run(
                f"ip -n {names[0]} link add tare0 type veth peer name tare0 netns {names[1]}",
                *(
                    f"ip -n {n} address add 192.0.2.{i}/24 dev tare0"
                    for i, n in enumerate(names, 1)
                ),
                *(f"ip -n {name} link set tare0 up" for name in names),
                *(f"ip -n {name} link set lo up" for name in names),
            )
            enter = [("ip", "netns", "exec", name) for name in names]
            with end(key, "192.0.2.2:8273", *enter[1]) as (address, _):
                peer = given(address, key)
                for name in ("round_trip", "bandwidth", "connect"):
                    answer = probe(f"network.{name}", *enter[0], peer=peer)
                    assert answer.why == []
                    assert any(".remote" in metric for metric in answer.values)
            # It is gone: told, and the loopback is measured all the same.
            answer = probe("network.round_trip", *enter[0], peer=peer)
            assert any("nothing listens there" in why for why in answer.why)
            assert answer.value("network.round_trip.tcp_p50") > 0
        finally:
            for name in names:
                subprocess.run(["ip", "netns", "delete", name], check=False)

    def test_another_key_opens_nothing(self, key: Path, tmp_path: Path) -> None:
        other = tmp_path / "other"
        peering.make_key(other)
        with end(key) as (address, _):
            answer = probe("network.round_trip", peer=given(address, other))
        assert sum("has another key" in why for why in answer.why) == 2
        assert not any("remote" in metric for metric in answer.values)

    def test_an_impostor_is_not_believed(self, key: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            pid = os.fork()
            if pid == 0:
                while True:
                    stream, _ = server.accept()
                    stream.sendall(b"TAREPEER\x05" + bytes(32))
                    stream.recv(64)
                    stream.sendall(bytes(32))
            try:
                port = server.getsockname()[1]
                answer = probe("network.round_trip", peer=given(f"127.0.0.1:{port}", key))
            finally:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        assert sum("not trust" in why for why in answer.why) == 2

    def test_garbage_floods_and_the_silent_do_not_shut_others_out(self, key: Path) -> None:
        with end(key) as (address, process), contextlib.ExitStack() as stack:
            host, port = address.split(":")
            silent = [
                stack.enter_context(socket.create_connection((host, int(port)))) for _ in range(100)
            ]
            for count in (1, 63, 64, 65, 100_000):
                stream = stack.enter_context(socket.create_connection((host, int(port))))
                with contextlib.suppress(ConnectionError):
                    stream.sendall(os.urandom(count))
                stream.close()
            for stream in silent[-3:]:
                # Half open: it says nothing more, and listens.
                stream.shutdown(socket.SHUT_WR)
            assert greeting(silent[0]) in (b"TAREPEER\x05", b"")
            answer = probe("network.round_trip", peer=given(address, key))
            assert answer.why == []
            assert process.poll() is None
            threads = len(list(Path(f"/proc/{process.pid}/task").iterdir()))
            assert threads <= 40
            files = len(list(Path(f"/proc/{process.pid}/fd").iterdir()))
            assert files <= 80

    def test_a_connection_has_so_long_to_prove_the_key(self, key: Path) -> None:
        with end(key) as (address, _):
            host, port = address.split(":")
            stream = socket.create_connection((host, int(port)))
            # A byte now and then: never silent, never done.
            with closing(stream), pytest.raises(ConnectionError):
                trickle(stream)

    def test_it_listens_where_it_was_told_and_nowhere_else(self, key: Path) -> None:
        with end(key) as (address, process):
            inode = set()
            for link in Path(f"/proc/{process.pid}/fd").iterdir():
                target = str(link.readlink())
                if target.startswith("socket:"):
                    inode.add(target[8:-1])
            lines = [
                line.split()
                for family in ("tcp", "tcp6", "udp", "udp6")
                for line in Path(f"/proc/net/{family}").read_text().splitlines()[1:]
            ]
            mine = [line[1] for line in lines if line[9] in inode]
            port = int(address.split(":")[1])
            assert mine == [f"0100007F:{port:04X}"]

    def test_a_key_that_others_may_read_is_refused(self, key: Path) -> None:
        key.chmod(0o644)
        for command in (
            [TARE, "net", "serve", "--bind", "127.0.0.1:0", "--key", str(key)],
            [str(binary()), "peer", "--bind", "127.0.0.1:0", "--key-file", str(key)],
        ):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode != 0
            assert f"chmod 600 {key}" in done.stderr


def trickle(stream: socket.socket) -> None:
    for _ in range(60):
        stream.sendall(b"x")
        time.sleep(0.5)


def greeting(stream: socket.socket) -> bytes:
    try:
        return stream.recv(9)
    except ConnectionError:
        return b""


def run(*commands: str) -> None:
    for command in commands:
        subprocess.run(command.split(), check=True)


class TestFiles:
    def test_reads_past_the_cache(self, disk: str) -> None:
        answer = probe("file.read", directory=disk, file_bytes=4 * MB)
        assert answer.why == []
        for order in ("sequential", "random"):
            latency = answer.values[f"file.read.{order}.latency"]
            assert set(latency) == {(4096,), (65536,), (MB,)}
            assert set(answer.values[f"file.read.{order}.bandwidth"]) == set(latency)
            assert all(value > 0 for value in latency.values())
            curve = answer.values[f"file.read.by_size.{order}"]
            assert max(size for (size,) in curve) <= 4 * MB
            # The range of SYSMEASURE's figures: 128 KiB to 1.5 MiB, remote to 3 MiB.
            kib = {size >> 10 for (size,) in curve}
            assert kib >= {128, 256, 512, 768, 1024, 1280, 1536, 2048, 3072}
        (file,) = [path for path in Path(disk).iterdir() if path.name != "probe"]
        about = file.stat()
        assert about.st_size == 4 * MB
        assert about.st_blocks * 512 >= about.st_size
        # Another round takes the same file.
        probe("file.read", directory=disk, file_bytes=4 * MB)
        assert file.stat().st_mtime_ns == about.st_mtime_ns

    def test_contention_leaves_nobody_behind(self, disk: str) -> None:
        answer = probe("file.contention", directory=disk)
        assert answer.why == []
        assert set(answer.values["file.contention.latency"]) == {(n,) for n in range(10)}
        assert answer.value("file.contention.slowdown") > 0

    def test_contention_that_is_ended_leaves_nobody_behind(self, disk: str) -> None:
        with closing(Agent(ProcessChannel([str(binary()), "serve"]))) as agent:
            answer = Answer(
                perform_round(
                    agent, Turn("file.contention", 0, 0.4), Given(directory=disk, effort="whole")
                )
            )
            assert answer.kinds == {"timeout"}
            children = Path(f"/proc/{agent.hello.pid}/task/{agent.hello.pid}/children")
            # They are killed at once; that the agent takes leave of them may take a moment.
            deadline = time.monotonic() + 20
            while children.read_text() and time.monotonic() < deadline:
                time.sleep(0.05)
            assert children.read_text() == ""

    def test_the_cache_is_no_larger_than_what_was_allowed(self, disk: str) -> None:
        answer = probe("file.cache", directory=disk, memory_bytes=8 * MB, file_bytes=32 * MB)
        curve = answer.values["file.cache.by_size"]
        assert max(curve) == (8 * MB,)
        assert answer.value("file.cache.speed") > 0
        assert all(path.stat().st_size <= 8 * MB for path in Path(disk).iterdir())

    @pytest.mark.parametrize("name", ["read", "contention", "cache", "cache_size", "remote"])
    def test_no_directory_is_told(self, name: str) -> None:
        answer = probe(f"file.{name}")
        assert answer.kinds == {"unavailable"}
        assert not answer.values

    @pytest.mark.parametrize("name", ["read", "contention", "cache"])
    def test_memory_is_no_disk(self, name: str) -> None:
        folder = Path("/dev/shm") / f"tare-test-{secrets.token_hex(3)}"
        folder.mkdir()
        try:
            answer = probe(f"file.{name}", directory=str(folder))
            assert list(folder.iterdir()) == []
        finally:
            shutil.rmtree(folder)
        assert answer.kinds == {"unavailable"}
        assert "lies in memory (tmpfs)" in answer.why[0]

    @pytest.mark.skipif(not ROOT, reason="only root mounts")
    @pytest.mark.parametrize("name", ["read", "contention", "cache"])
    @pytest.mark.parametrize("state", ["full", "read-only"])
    def test_a_full_or_read_only_disk_is_told(self, name: str, state: str, tmp_path: Path) -> None:
        image, mount = tmp_path / "image", tmp_path / "mount"
        mount.mkdir()
        with image.open("wb") as file:
            file.truncate(16 * MB)
        made = subprocess.run(["mkfs.ext4", "-q", image], capture_output=True, check=False)
        mounted = subprocess.run(["mount", "-o", "loop", image, mount], check=False)
        if made.returncode or mounted.returncode:
            pytest.skip("no loop devices here")
        try:
            if state == "full":
                with contextlib.suppress(OSError), (mount / "filler").open("wb") as file:
                    while True:
                        file.write(bytes(MB))
            else:
                run(f"mount -o remount,ro {mount}")
            answer = probe(f"file.{name}", directory=str(mount))
            left = {path.name for path in mount.iterdir()} - {"lost+found", "filler"}
        finally:
            run(f"umount {mount}")
        assert answer.kinds == {"unavailable"}
        assert not answer.values
        assert left == set()


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[str]:
    """A directory behind sshfs, over the loopback, by an sshd of the test's own."""
    for program in ("sshfs", "ssh-keygen", "fusermount3"):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here")
    sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    sftp = Path("/usr/lib/openssh/sftp-server")
    if sshd is None or not sftp.exists():
        pytest.skip("no sshd here (openssh-server)")
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("/dev/fuse may not be used here")
    source, mount = tmp_path / "source", tmp_path / "mount"
    source.mkdir()
    mount.mkdir()
    for name in ("host", "user"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True
        )
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen([sshd, "-D", "-e", "-f", configured(tmp_path, port, sftp)])
    try:
        wait_for(port, server)
        mounted = subprocess.run(sshfs(tmp_path, port, source, mount), check=False)
        if mounted.returncode:
            pytest.skip("sshfs cannot mount here")
        yield str(mount)
        subprocess.run(["fusermount3", "-u", mount], check=True)
    finally:
        server.terminate()
        server.wait(timeout=10)


def configured(folder: Path, port: int, sftp: Path) -> str:
    if ROOT:
        # Where Debian's sshd, as root, wants an empty directory.
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    settings = {
        "Port": port,
        "ListenAddress": "127.0.0.1",
        "HostKey": folder / "host",
        "AuthorizedKeysFile": folder / "user.pub",
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
        "PasswordAuthentication": "no",
        "PermitRootLogin": "yes",
        "Subsystem": f"sftp {sftp}",
    }
    path = folder / "sshd_config"
    path.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    return str(path)


def sshfs(folder: Path, port: int, source: Path, mount: Path) -> list[str]:
    options = f"IdentityFile={folder / 'user'},StrictHostKeyChecking=no"
    options += ",UserKnownHostsFile=/dev/null,IdentitiesOnly=yes,BatchMode=yes"
    where = f"127.0.0.1:{source}"
    return ["sshfs", "-F", "/dev/null", "-p", str(port), "-o", options, where, str(mount)]


def wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            if server.poll() is not None:
                pytest.skip("sshd does not run here")
            time.sleep(0.05)


class TestRemote:
    def test_reads_over_sshfs(self, remote: str, tmp_path: Path) -> None:
        answer = probe("file.remote", remote=remote, file_bytes=2 * MB)
        assert answer.why == []
        for order in ("sequential", "random"):
            latency = answer.values[f"file.remote.{order}.latency"]
            assert set(latency) == {(4096,), (65536,), (MB,)}
        # It lies on the other side.
        assert [path.stat().st_size for path in (tmp_path / "source").iterdir()] == [2 * MB]

    def test_a_path_that_is_gone_is_told(self, tmp_path: Path) -> None:
        answer = probe("file.remote", remote=str(tmp_path / "gone"))
        assert answer.kinds == {"unavailable"}
        assert os.strerror(errno.ENOENT) in answer.why[0]
