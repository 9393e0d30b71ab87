"""What exceeds an enforced limit is killed and named on every platform; the next trial is sound."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import cli
import layers
import pytest

import tare
from tare import platforms

pytestmark = [
    pytest.mark.system,
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
    words = ["experiment", "run", str(file), "--out", str(tmp_path / "out")]
    done = cli.run(*words, constants=cli.FAIL_ONCE)
    assert (tmp_path / "out").is_dir(), done.stderr
    results = tare.open(tmp_path / "out")
    faults = results.faults.rows(results.faults["kind"] != "warning")
    trials = results.trial_table
    by_trial = dict(zip(trials["trial"], trials["workload"], strict=True))
    found: dict[str, set[str]] = {name: set() for name in programs}
    for trial, kind in zip(faults["trial"], faults["kind"], strict=True):
        found[by_trial[trial]].add(kind)
    assert found == {name: {kind} if kind else set() for name, (_, _, kind) in programs.items()}
