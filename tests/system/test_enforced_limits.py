"""What exceeds an enforced limit is killed and named on every platform; the next trial is sound."""

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
import layers
import pytest

import tare
from tare import platforms
from tare.experiment import remnants
from tare.host import lease
from tare.platforms import processes

pytestmark = [
    pytest.mark.system,
    pytest.mark.machine,
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can make images for platforms"),
]
SOURCE = Path(__file__).parents[1] / "data/exceed.c"
#: A limit of each, what exceeds it, and how the fault is called.
LIMITS = {"cpu": 200, "memory": 64 * 1024, "output": 1_000_000, "processes": 16}
PROGRAMS = {
    "cpu": ("cpu", "cpu-threads", "cpu-children"),
    "memory": ("memory", "memory-children"),
    "output": ("output", "errors", "file"),
    "processes": ("processes", "threads"),
}
KINDS = {"cpu": "cpu_time", "memory": "out_of_memory", "output": "output", "processes": "processes"}
EXCESSES = (1.05, 1.2, 2.0)
#: Starting processes takes CPU time itself where another kernel does it.
SCALES = {"gvisor": 5}
APPLICATION = """
[application]
name = "exceed"
question = "Is it stopped?"
[image]
root = "root"
[run]
command = ["/exceed", "{what}", "{amount}"]
[parameters.what]
meaning = "of what it takes too much"
default = "cpu"
[parameters.amount]
meaning = "how much"
default = 1
"""
EXPERIMENT = """
[experiment]
name = "exceed"
question = "Is it stopped?"
trials = 1
fingerprint = false
linger = "0 s"
{workloads}
[factors]
platform = ["{platform}"]
"""
APPLIED = """application = "{folder}"
what = "{what}"
amount = {amount}"""
#: Where there are no images.
COMMANDED = 'command = ["{folder}/root/exceed", "{what}", "{amount}"]'
WORKLOAD = """
[[workload]]
name = "{name}"
{program}
timeout = "20 s"
enforce = {{ cpu = "{cpu} ms", memory = "64 MiB", output = "1 MB", processes = 16 }}
"""


def amounts(platform: str) -> dict[str, tuple[str, int, str | None]]:
    """Return each program's name, with what and how much it takes, and which fault is due."""
    found: dict[str, tuple[str, int, str | None]] = {}
    for limit, usual in LIMITS.items():
        most = usual * (SCALES.get(platform, 1) if limit == "cpu" else 1)
        for what in PROGRAMS[limit]:
            for excess in EXCESSES:
                amount = int(most * excess) + (limit == "processes" and excess < 1.1)
                found[f"{what} {excess:g}"] = (what, amount, KINDS[limit])
            found[f"{what} within"] = (what, int(most * 0.8), None)
    return found


@pytest.fixture(scope="module")
def exceed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exceed") / "exceed"
    for name in ("etc", "usr", "application", "data", "tmp"):
        (folder / "root" / name).mkdir(parents=True)
    (folder / "root/etc/hosts").write_text("127.0.0.1 localhost tare\n")
    folder.parent.chmod(0o755)
    words = ["cc", "-O2", "-static", "-pthread", "-o", folder / "root/exceed", SOURCE]
    subprocess.run(words, check=True)
    (folder / "application.toml").write_text(APPLICATION)
    return folder


@pytest.mark.parametrize(
    "platform",
    layers.each(
        ["bare", "bubblewrap", "nspawn", "runc", "crun", "podman", "docker", "gvisor", "isolate"],
        always=("bare", "docker", "isolate"),
    ),
)
def test_excesses_are_killed_and_named(exceed: Path, tmp_path: Path, platform: str) -> None:
    available = platforms.availability(platform)
    if not available.works:
        pytest.skip(f"{platform}: {available.why}")
    programs = amounts(platform)
    cpu = LIMITS["cpu"] * SCALES.get(platform, 1)
    program = COMMANDED if platform == "isolate" else APPLIED
    workloads = "".join(
        WORKLOAD.format(
            name=name, cpu=cpu, program=program.format(folder=exceed, what=what, amount=amount)
        )
        for name, (what, amount, _) in programs.items()
    )
    file = tmp_path / "exceed.toml"
    file.write_text(EXPERIMENT.format(workloads=workloads, platform=platform))
    cli.run("experiment", "run", str(file), "--out", str(tmp_path / "out"))
    results = tare.open(tmp_path / "out")
    faults = results.faults[results.faults["kind"] != "warning"]
    by_trial = results.trial_table.set_index("trial")["workload"]
    found: dict[str, set[str]] = {name: set() for name in programs}
    for trial, kind in zip(faults["trial"], faults["kind"], strict=True):
        found[by_trial[trial]].add(kind)
    assert found == {name: {kind} if kind else set() for name, (_, _, kind) in programs.items()}


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
    exceed: Path, tmp_path: Path, platform: str, victim: str
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
    assert tare.open(tmp_path / "next").faults.empty
