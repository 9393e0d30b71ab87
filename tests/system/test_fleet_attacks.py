"""Measured programs, and other users, that attack a fleet."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import cli
import msgspec
import pytest
from processes import children

from tare import open as open_results
from tare import platforms
from tare.features.fleet import certificate

pytestmark = [
    pytest.mark.system,
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root makes network namespaces"),
]
SOURCE = Path(__file__).parent / "attacks" / "reach.c"
#: Who called sudo, as far as tare knows.
CALLER = 54321
HOSTS = 2
FILE = """
[experiment]
name = "fleet"
question = "?"
trials = 2
fingerprint = false
[[workload]]
command = ["{program}"]
[factors]
platform = {platforms}
"""
#: Connects to each address without TLS, then with the certificate of another run; prints outcomes.
STRANGER = """
import json, socket, ssl, sys
from tare.features.fleet.certificate import Certificate
made, *places = sys.argv[1:]
context = Certificate(**json.loads(made)).security().get_connection_args("client")["ssl_context"]
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
def said(peer):
    # A server of Dask's speaks first.
    try:
        return "served" if peer.recv(1) else "refused"
    except OSError:
        return "refused"
for place in places:
    host, _, port = place.rpartition(":")
    with socket.create_connection((host, int(port)), 3) as plain:
        plain.settimeout(0.5)
        print(said(plain), flush=True)
    with socket.create_connection((host, int(port)), 3) as plain:
        try:
            print(said(context.wrap_socket(plain)), flush=True)
        except OSError:
            print("refused", flush=True)
"""


def listening(pid: int) -> set[tuple[str, int]]:
    """Return where a process listens."""
    own = set()
    for file in Path(f"/proc/{pid}/fd").iterdir():
        # It may be closed meanwhile.
        with contextlib.suppress(OSError):
            if found := re.fullmatch(r"socket:\[(\d+)\]", str(file.readlink())):
                own.add(found[1])
    rows = (line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:])
    return {
        (".".join(str(byte) for byte in bytes.fromhex(row[1][:8])[::-1]), int(row[1][9:], 16))
        for row in rows
        if row[3] == "0A" and row[9] in own
    }


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder that everybody may read."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as made:
        Path(made).chmod(0o755)
        yield Path(made)


def test_no_measured_program_reaches_the_fleet_and_no_stranger_is_served(folder: Path) -> None:
    program = folder / "reach"
    subprocess.run(["cc", "-static", "-O1", "-o", str(program), str(SOURCE)], check=True)
    names = ["bare", "cgroup", "unshare", "docker"]
    names = [name for name in names if platforms.availability(name).works]
    file = folder / "fleet.toml"
    file.write_text(FILE.format(program=program, platforms=json.dumps(names)))
    sudo = os.environ | {
        "SUDO_UID": str(CALLER), "SUDO_GID": str(CALLER), "SUDO_USER": "caller",
    }  # fmt: skip
    temporary = folder / "tmp"
    temporary.mkdir(mode=0o777)
    # Dask would use this folder and truncate the target of the link.
    victim = folder / "victim"
    victim.write_text("kept")
    scratch = temporary / "dask-scratch-space"
    scratch.mkdir()
    (scratch / "global.lock").symlink_to(victim)
    words = ["experiment", "run", str(file), "--fleet", f"local:{HOSTS}", "--out"]
    with subprocess.Popen(
        [*cli.TARE, *words, str(folder / "out")],
        env=sudo | {"TMPDIR": str(temporary)}, stderr=subprocess.STDOUT, stdout=subprocess.PIPE,
        text=True,
    ) as front:  # fmt: skip
        while front.poll() is None and not any(folder.glob("out/hosts/*/journal/*.ndjson")):
            time.sleep(0.05)
        nodes = {pid for pid, line in children(front.pid) if "fleet node" in line}
        ports = {(pid, where) for pid in nodes for where in listening(pid)}
        others = msgspec.json.encode(certificate.make()).decode()
        places = [f"{address}:{port}" for _, (address, port) in ports]
        enter = ["nsenter", "-t", str(min(nodes)), "-n"]
        stranger = subprocess.run(
            [*enter, sys.executable, "-c", STRANGER, others, *places],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        # They have asked living nodes.
        assert front.poll() is None
        output, _ = front.communicate()
    assert front.returncode == 0, output
    # The scheduler and each worker.
    assert len(nodes) == HOSTS + 1
    assert {pid for pid, _ in ports} == nodes
    assert stranger.stdout.split() == ["refused"] * 2 * len(ports), stranger.stderr
    for number in range(1, HOSTS + 1):
        trials = open_results(folder / "out/hosts" / f"host-{number}").trial_table
        assert set(trials["status"]) == {"ok"}
        assert len(trials) == 2 * len(names)
    assert victim.read_text() == "kept"
    assert {path.name for path in temporary.iterdir()} == {"dask-scratch-space"}
    assert [path.name for path in scratch.iterdir()] == ["global.lock"]


def test_the_memory_of_this_process_can_be_kept_from_others_of_its_user() -> None:
    script = """
import ctypes, os
from tare.host import secrecy
os.setgroups([])
os.setresgid(USER, USER, USER)
os.setresuid(USER, USER, USER)
# The kernel has done it already, for a process that changes its user.
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
def look():
    if os.fork() == 0:
        try:
            open(f"/proc/{os.getppid()}/mem", "rb").close()
        except PermissionError:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.wait()[1])
before = look()
secrecy.keep()
print(before, look())
"""
    words = [sys.executable, "-c", script.replace("USER", str(CALLER))]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["0", "1"], done.stderr
