"""``tare net emulate`` on the real kernel: buckets empty, commands run, nothing is left."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli import TARE

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces with names"),
]

EMULATE = [*TARE, "net", "emulate"]
NETWORKS, FILES = Path("/run/netns"), Path("/tmp")
MBIT = 10**6
#: Takes what comes, and tells at the end of a connection how much that was.
TAKES = """
import socket
with socket.create_server(("", 7000)) as server:
    while True:
        with server.accept()[0] as other:
            while other.recv(1 << 20): pass
"""
#: Sends to the address of its first argument so many bytes, and waits until they are taken; tells
#: a file of its session, whose name is thus known.
SENDS = """
import contextlib, socket, sys, time
print(sys.argv[3])
other = None
while other is None:  # both commands begin at once
    with contextlib.suppress(ConnectionRefusedError):
        other = socket.create_connection((sys.argv[1], 7000))
    time.sleep(0.01)
with other:
    other.sendall(bytes(int(sys.argv[2])))
    other.shutdown(socket.SHUT_WR)
    other.recv(1)
"""


def _emulate(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*EMULATE, *words], capture_output=True, text=True, check=False, timeout=60, **more
    )


def _left(session: str) -> list[str]:
    """Return what a session has made; those of tests in other processes may run meanwhile."""
    assert re.fullmatch(r"tare-[0-9a-f]{6}", session)
    folders = (NETWORKS, FILES) if NETWORKS.exists() else (FILES,)
    return [str(path) for folder in folders for path in folder.glob(f"{session}-*")]


def test_a_bucket_empties_and_everything_is_taken_down(tmp_path: Path) -> None:
    found, log = tmp_path / "found.json", tmp_path / "log"
    done = _emulate(
        *["bucket", "high=400Mbit", "low=50Mbit", "budget=80Mbit", "queue=1MB"],
        "--serve", f"{sys.executable} -c '{TAKES}'", "--json", str(found), "--log", str(log),
        "--", sys.executable, "-c", SENDS, "{host2}", "15000000", "{enter}",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not _left(Path(done.stdout).parent.name.removesuffix("-net"))
    answer = json.loads(found.read_text())
    assert {(check["host"], check["what"]) for check in answer["checks"]} == {
        (1, "high"), (1, "low"), (1, "budget"),
    }  # fmt: skip
    one, two = answer["hosts"]
    assert (one["capacity_bits"], one["tokens_start_bits"]) == (80 * MBIT, 80 * MBIT)
    # 120 Mbit of payload and their headers; 80 Mbit of them, and what came back, were fast.
    assert 120 * MBIT < 8 * one["sent_bytes"] < 140 * MBIT
    assert one["times_dry"] >= 1
    assert one["first_dry_s"] < answer["seconds"]
    assert one["tokens_end_bits"] < 40 * MBIT
    assert two["times_dry"] == 0
    tokens = [json.loads(line) for line in log.read_text().splitlines()]
    assert min(moment["tokens_bits"][0] for moment in tokens) < 10 * MBIT


def test_the_command_is_told_of_hosts_and_its_code_is_handed_on(tmp_path: Path) -> None:
    script = "echo $TARE_HOSTS $(cat {host_file}); {enter} 2 cat /proc/net/fib_trie; exit 7"
    done = _emulate("none", "--hosts", "3", "--json", str(tmp_path / "a"), "--", "sh", "-c", script)
    assert done.returncode == 7, done.stderr
    first, _, trie = done.stdout.partition("\n")
    assert first.split() == ["10.77.0.1,10.77.0.2,10.77.0.3", "10.77.0.1", "10.77.0.2", "10.77.0.3"]
    assert "10.77.0.2" in trie
    answer = json.loads((tmp_path / "a").read_text())
    assert [host["exit_code"] for host in answer["hosts"]] == [7, None, None]
    assert answer["unverified"] == "nothing is shaped"


def test_under_sudo_the_command_is_of_who_called_it() -> None:
    sudo = {**os.environ, "SUDO_UID": "65534", "SUDO_GID": "65534"}
    words = ["none", "--on", "all", "--", "id", "-u"]
    assert _emulate(*words, env=sudo).stdout.split() == ["65534", "65534"]
    assert _emulate("--as-root", *words, env=sudo).stdout.split() == ["0", "0"]


def test_an_interface_that_is_there_is_shaped_and_given_back() -> None:
    inside = (
        "ip link add t0 type veth peer t1 && ip link set t0 up && ip link set t1 up && {tare} "
        "rate 30Mbit --interface t0 -- tc qdisc show dev t0; tc qdisc show dev t0; "
        "{tare} rate 30Mbit --interface t9 -- true"
    )
    script = inside.format(
        tare=f"{sys.executable} -c 'from tare.wiring import main; main()' net emulate"
    )
    done = subprocess.run(
        ["unshare", "-n", "sh", "-c", script],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    during, after = done.stdout.splitlines()[0], done.stdout.splitlines()[-1]
    assert "htb" in during, done.stderr
    assert "htb" not in after
    assert done.returncode == 12
    assert "t9" in done.stderr
