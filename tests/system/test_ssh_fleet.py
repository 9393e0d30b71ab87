"""A fleet by ssh: two hosts in namespaces, each with an sshd; what is lost, left, and refused."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import cli
import pytest
import sshd

from tare import open as open_results
from tare import platforms
from tare.experiment import remnants
from tare.features.fleet import folder as folders
from tare.host import lease
from tare.networks.emulator import Emulator

pytestmark = [
    pytest.mark.system,
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root makes network namespaces"),
]
FILE = """
[experiment]
name = "fleet"
question = "Do hosts differ?"
trials = {trials}
fingerprint = false
[[workload]]
command = ["sleep", "0.05"]
[factors]
platform = ["bare"]
"""
#: What somebody hears on a port who has no certificate: by TLS, and by what speaks HTTP.
STRANGER = """
import socket, ssl, sys
context = ssl._create_unverified_context()
for port in map(int, sys.argv[1:]):
    with socket.create_connection(("127.0.0.1", port), 20) as plain:
        plain.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
        try:
            heard = plain.recv(100)
        except OSError:
            heard = b""
    if not heard.startswith(b"HTTP/1.1 404"):
        try:
            with socket.create_connection(("127.0.0.1", port), 20) as plain:
                with context.wrap_socket(plain) as tls:
                    tls.sendall(b"x")
                    heard += tls.recv(100)
        except OSError:
            pass
        print(heard.decode(errors="replace"), end="")
"""
#: How long what must happen may take on a busy machine.
PATIENCE_S = 60.0
#: A host that has been killed, or whose front has been, has nothing more after so long.
LEFT_S = 30.0


@dataclass
class Boxes:
    """Hosts 2 and 3 of a network, called box1 and box2; the front is on host 1."""

    network: Emulator
    servers: list[sshd.Server]
    environment: dict[str, str]

    def words(self, *words: str | Path) -> list[str]:
        return [*self.network.enter(1), *cli.TARE, *map(str, words)]

    def tare(self, *words: str | Path, code: int = 0) -> str:
        ended = subprocess.run(
            self.words(*words), env=self.environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode == code, ended.stderr
        # Without the ends of the lines of a terminal.
        return " ".join((ended.stdout + ended.stderr).split())

    @contextlib.contextmanager
    def running(self, *words: str | Path) -> Iterator[subprocess.Popen[str]]:
        with subprocess.Popen(
            self.words(*words), env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ) as front:  # fmt: skip
            try:
                yield front
            finally:
                front.kill()

    def set_link(self, box: int, state: str) -> None:
        words = ["ip", "link", "set", self.network.hosts[box].interface, state]
        subprocess.run([*self.network.enter(box + 1), *words], check=True)

    def listening(self, box: int) -> list[str]:
        """Return where anybody listens on a box (0: the front's), but for ssh's own port."""
        words = [*self.network.enter(box + 1), "ss", "-ltnH"]
        lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        own = [f"{one.address}:{one.port}" for one in self.servers]
        found = [line.split()[3] for line in lines.splitlines()]
        return [address for address in found if address not in own]

    def processes(self, box: int) -> list[str]:
        """Return the command lines of what runs on a box (0: the front's), but for its sshd."""
        return list(self.running_on(box).values())

    def running_on(self, box: int) -> dict[int, str]:
        """Return these by process id."""
        path = self.network.hosts[box].namespace
        assert path is not None
        there, found = Path(path).stat().st_ino, {}
        for one in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                line = (one / "cmdline").read_text().replace("\0", " ")
                if (one / "ns/net").stat().st_ino == there and "sshd" not in line:
                    found[int(one.name)] = line
        return found


@contextlib.contextmanager
def two_boxes(tmp_path: Path) -> Iterator[Boxes]:
    """Yield two hosts that ssh reaches, whose files are in a folder."""
    path = os.pathsep.join(filter(None, sys.path))
    name, config, servers = lease.new_name(), "", []
    with (
        remnants.lease(name),
        Emulator(name, hosts=3) as network,
        contextlib.ExitStack() as stack,
    ):
        for box in (1, 2):
            folder = tmp_path / f"box{box}"
            binaries = folder / "bin"
            binaries.mkdir(parents=True)
            script(binaries / "tare", f'{sys.executable} -c "from tare.wiring import main; main()"')
            environment = {"PATH": f"{binaries}:/usr/bin:/bin:/usr/sbin", "PYTHONPATH": path}
            address = str(network.hosts[box].address)
            one = sshd.running(folder, address, network.enter(box + 1), environment)
            servers.append(stack.enter_context(one))
            config += Path(servers[-1].config).read_text().replace(
                "Host here", f"Host box{box}"
            )  # fmt: skip
        (tmp_path / "config").write_text(config)
        wrapper = tmp_path / "front"
        wrapper.mkdir()
        script(wrapper / "ssh", f"/usr/bin/ssh -F {tmp_path / 'config'}")
        own = {**os.environ, "PATH": f"{wrapper}:{os.environ['PATH']}", "PYTHONPATH": path}
        made = Boxes(network, servers, own)
        yield made
        # Whatever a test came to: what runs there is not killed before it has cleaned up.
        until(lambda: not made.processes(1) + made.processes(2))


@pytest.fixture
def boxes(tmp_path: Path) -> Iterator[Boxes]:
    with two_boxes(tmp_path) as made:
        yield made


def script(path: Path, words: str) -> None:
    path.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    path.chmod(0o755)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(FILE.format(trials=4))
    return path


def until(holds: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
    ends = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.1)


def measured(file: Path, box: int, trials: int = 1) -> Callable[[], bool]:
    """Return whether a box has sent this number of trials."""
    path = file.with_suffix("") / f"hosts/box{box}/journal/1.ndjson"
    return lambda: path.exists() and path.read_bytes().count(b'"record":"ended"') >= trials


def ended(file: Path) -> dict[str, str]:
    return {host.name: host.ended for host in folders.read(file.with_suffix("")).hosts}


def check_complete(file: Path, trials: int) -> None:
    for name in ("box1", "box2"):
        results = open_results(file.with_suffix("") / "hosts" / name)
        good = results.good.frame()
        assert len(good) == trials
        assert not good.duplicated(["session", "block"]).any()


def test_two_boxes_measure_and_nothing_is_left(boxes: Boxes, file: Path, tmp_path: Path) -> None:
    # While that file exists, no trial ends.
    held = tmp_path / "held"
    command = ["sh", "-c", f"sleep 0.05; while test -e {held}; do sleep 0.05; done"]
    file.write_text(FILE.format(trials=4).replace('["sleep", "0.05"]', json.dumps(command)))
    words = ("experiment", "run", file, "--fleet", "ssh:box1,root@box2")
    with boxes.running(*words) as front:
        until(lambda: front.poll() is not None or (measured(file, 1)() and measured(file, 2)()))
        held.touch()
        for box in (0, 1, 2):
            listeners = boxes.listening(box)
            assert listeners
            assert all(one.startswith("127.0.0.1:") for one in listeners)
            ports = [one.rpartition(":")[2] for one in listeners]
            there = [*boxes.network.enter(box + 1), sys.executable, "-c", STRANGER, *ports]
            assert subprocess.run(there, capture_output=True, text=True, check=True).stdout == ""
            assert not any("PRIVATE KEY" in line for line in boxes.processes(box))
        held.unlink()
        said = front.communicate(timeout=PATIENCE_S)[0]
        assert front.returncode == 0, said
        # Both are this machine.
        assert "one measures at a time: box1, box2" in " ".join(said.split())
    assert ended(file) == {"box1": "finished", "box2": "finished"}
    check_complete(file, 4)
    for box in (0, 1, 2):
        assert boxes.processes(box) == []


@pytest.mark.slow
def test_no_measured_program_is_served_on_a_host(boxes: Boxes, file: Path) -> None:
    """On ``bare`` and ``cgroup`` programs reach the ports of their host, and need a certificate."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        program = f"{folder}/reach"
        source = Path(__file__).parent / "attacks" / "reach.c"
        subprocess.run(["cc", "-static", "-O1", "-o", program, source], check=True)
        names = [
            n for n in ("bare", "cgroup", "unshare", "docker") if platforms.availability(n).works
        ]
        asked = FILE.format(trials=2).replace('["sleep", "0.05"]', json.dumps([program, "served"]))
        file.write_text(asked.replace('["bare"]', json.dumps(names)))
        boxes.tare("experiment", "run", file, "--fleet", "ssh:box1,root@box2")
    for name in ("box1", "box2"):
        trials = open_results(file.with_suffix("") / "hosts" / name).trial_table
        assert set(trials["status"]) == {"ok"}
        assert len(trials) == 2 * len(names)


@pytest.mark.slow
def test_a_link_that_goes_down_loses_its_host_alone(boxes: Boxes, file: Path) -> None:
    file.write_text(FILE.format(trials=100))
    words = ("experiment", "run", file, "--fleet", "ssh:box1,box2")
    with boxes.running(*words) as front:
        until(lambda: front.poll() is not None or measured(file, 2)())
        boxes.set_link(2, "down")
        until(lambda: not boxes.processes(2))
        said = front.communicate(timeout=PATIENCE_S)[0]
        assert front.returncode == 18, said
    assert ended(file) == {"box1": "finished", "box2": "lost"}
    boxes.set_link(2, "up")
    boxes.tare(*words, "--resume")
    assert ended(file) == {"box1": "complete", "box2": "finished"}
    check_complete(file, 100)


@pytest.mark.slow
def test_a_connection_that_is_killed_loses_its_host_alone(boxes: Boxes, file: Path) -> None:
    file.write_text(FILE.format(trials=50))
    words = ("experiment", "run", file, "--fleet", "ssh:box1,box2")
    with boxes.running(*words) as front:
        until(lambda: front.poll() is not None or measured(file, 1)())
        boxes.servers[0].tell(sshd.signal.SIGKILL)
        until(lambda: not boxes.processes(1), LEFT_S)
        said = front.communicate(timeout=PATIENCE_S)[0]
        assert front.returncode == 18, said
    assert ended(file) == {"box1": "lost", "box2": "finished"}
    boxes.tare(*words, "--resume")
    check_complete(file, 50)


def test_hosts_that_take_no_part_say_why_and_others_go_on(
    boxes: Boxes, file: Path, tmp_path: Path
) -> None:
    (tmp_path / "box2/bin/tare").unlink()
    others = ["box2", "stranger", "unknown", "nowhere.invalid"]
    said = boxes.tare("experiment", "run", file, "--fleet", f"ssh:box1,{','.join(others)}", code=18)
    assert "ssh-copy-id stranger" in said
    assert "ssh unknown true" in said
    assert "ssh box2 tare --version" in said
    record = folders.read(file.with_suffix(""))
    assert ended(file) == {"box1": "finished", **dict.fromkeys(others, "refused")}
    why = {host.name: host.why or "" for host in record.hosts}
    assert "no tare" in why["box2"]
    assert "Permission denied" in why["stranger"]
    assert "Host key verification failed" in why["unknown"]
    assert "nowhere.invalid" in why["nowhere.invalid"]


def test_where_no_host_takes_part_nothing_has_begun(
    boxes: Boxes, file: Path, tmp_path: Path
) -> None:
    words = ("experiment", "run", file, "--fleet")
    # Somebody else, or a machine that was set up again.
    server, other = boxes.servers[0], (tmp_path / "box1/foreign.pub").read_text()
    (tmp_path / "box1/known").write_text(f"[{server.address}]:{server.port} {other}")
    script(tmp_path / "box2/bin/tare", f"{sys.executable} {another(tmp_path)}")
    said = boxes.tare(*words, "ssh:box1,box2", code=12)
    assert "Host key verification failed" in said
    assert "ssh-keygen -R box1" in said
    assert "it has tare 0.0.1" in said
    script(tmp_path / "box2/bin/tare", "false")
    assert "ssh box2 tare --version" in boxes.tare(*words, "ssh:box2", code=12)
    assert not any(file.with_suffix("").glob("*"))


def another(folder: Path) -> Path:
    """Write a tare of another version."""
    path = folder / "another.py"
    path.write_text(
        "import tare.version\ntare.version.__version__ = '0.0.1'\n"
        "from tare.wiring import main\nmain()\n"
    )  # fmt: skip
    return path
