"""A session that is killed while its program is limited leaves nothing, and no limit."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import cli
import pytest
from test_enforced_limits import APPLIED, EXPERIMENT, LIMITS, WORKLOAD, exceed  # noqa: F401

import tare
from tare import platforms
from tare.experiment import remnants
from tare.host import lease, processes

pytestmark = [
    pytest.mark.system,
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can make images for platforms"),
]


def staying(session: str) -> list[str]:
    """Return what is left of a session: processes that stay, groups, containers, files."""
    stay = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if path.read_bytes().endswith(b"stay\0003\0"):
                stay.append(str(path))
    return [
        *stay,
        *(str(one.what) for one in remnants.found() if lease.session_of(one.name) == session),
    ]


def wait_until(done: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("platform", "victim"),
    [
        ("bare", "agent"),
        ("bare", "front"),
        ("docker", "both"),
        *(
            pytest.param(*one, marks=pytest.mark.layers)
            for one in (
                ("bare", "both"),
                ("docker", "front"),
                ("bubblewrap", "front"),
                ("bubblewrap", "both"),
            )
        ),
    ],
)
def test_nothing_is_left_of_what_was_killed_while_it_was_limited(
    exceed: Path,  # noqa: F811
    tmp_path: Path,
    platform: str,
    victim: str,
) -> None:
    available = platforms.availability(platform)
    if not available.works:
        pytest.skip(f"{platform}: {available.why}")
    words = APPLIED.format(folder=exceed, what="stay", amount=3)
    workload = WORKLOAD.format(name="stay", program=words, cpu=200).replace("20 s", "5 s")
    file, out = tmp_path / "stay.toml", tmp_path / "out"
    file.write_text(EXPERIMENT.format(workloads=workload, platform=platform))
    argv = [*cli.TARE, "experiment", "run", str(file), "--out", str(out)]
    front = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: len(staying("")) >= 3)
        session = json.loads((out / "journal/1.ndjson").read_text().splitlines()[0])["name"]
        if victim != "front":
            old = staying("")
            serving = [one for one in processes.named() if one.argv[1] in ("serve", "worker")]
            agents = [one.pid for one in serving if lease.session_of(one.name) == session]
            # At once: none of them can clear away what another leaves.
            for number, pid in itertools.product((signal.SIGSTOP, signal.SIGKILL), agents):
                # In a namespace they go with its first process.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        if victim == "agent":
            journal = out / "journal/1.ndjson"
            wait_until(lambda: b'"record":"trial","trial":2' in journal.read_bytes())
            assert not set(old) & set(staying(""))
        front.kill()
    finally:
        front.kill()
        front.wait()
        cli.run("cleanup")
    wait_until(lambda: not staying(session))
    # What exceeds those limits, without any.
    words = APPLIED.format(folder=exceed, what="memory", amount=2 * LIMITS["memory"])
    workload = WORKLOAD.format(name="next", program=words, cpu=200).partition("enforce")[0]
    file.write_text(EXPERIMENT.format(workloads=workload, platform=platform))
    cli.run("experiment", "run", str(file), "--out", str(tmp_path / "next"))
    assert not tare.open(tmp_path / "next").faults
