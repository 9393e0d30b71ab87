"""Applications: the same files on every platform, and valid only where their results are right."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import busybox_image
import cli
import layers
import msgspec
import pytest

import tare
from tare import platforms
from tare.render.words import text
from tare.results.message import Message, message

pytestmark = pytest.mark.system

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can enter every platform")
#: Those that show an application's files, but for the machine that is emulated.
PLATFORMS = (
    "bare", "cgroup", "bubblewrap", "nspawn", "runc", "crun", "gvisor", "podman",
    "docker",
)  # fmt: skip
SHOP = """
[application]
name = "shop"
question = "How long does it take to count?"
[image]
root = "root"
[prepare]
commands = [
    # A loopback, below two lines of header.
    ["sh", "-c", "test $(cat /proc/net/dev | wc -l) = 3"],
    ["sh", "-c", "cat /application/words | wc -l > /data/count"],
]
[run]
command = ["sh", "/application/words", "{times}"]
[parameters.times]
meaning = "how often"
default = 100
minimum = 1
maximum = 1000000
[metrics.counted]
meaning = "what it counted"
unit = "1"
better = "higher"
json = "counted"
[check]
command = ["test", "-e", "/tmp/counted"]
[[check.output]]
pattern = '"lines": ([0-9]+)'
equals_file = "count"
[[check.output]]
from = "stderr"
absent = "wrong"
"""
#: Those that are asked over a network.
SERVICES = ("wordpress", "wordpress-open", "cassandra", "cassandra-closed")
#: A recorded visit to the blog, with think times.
VISIT = Path(__file__).parents[2] / "examples/applications/visit.har"
#: What of it is printed where nothing else is.
COUNTED = """\
[[check.output]]
pattern = '"lines": ([0-9]+)'
equals_file = "count"
"""
WORDS = """\
n=0
while [ $n -lt $1 ]; do n=$((n + 1)); done
test "${FAULT:-}" = silent && exit 0
test "${FAULT:-}" = wrong && echo something is wrong >&2
echo $n >/tmp/counted
test "${FAULT:-}" = unchecked && rm /tmp/counted
lines=$(cat /application/words | wc -l)
sum=$(sha256sum /bin/busybox | cut -c1-8)
name=$(hostname)
echo "{\\"counted\\": $n, \\"lines\\": $lines, \\"sum\\": \\"$sum\\", \\"name\\": \\"$name\\"}"
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Return an application's folder, whose image is a directory with busybox in it."""
    folder = tmp_path / "shop"
    folder.mkdir()
    programs = ("sh", "cat", "wc", "test", "rm", "sha256sum", "cut", "hostname")
    busybox_image.make(folder / "root", *programs)
    (folder / "application.toml").write_text(SHOP)
    (folder / "root" / "application" / "words").write_text(WORDS)
    # As whoever unpacks files from elsewhere has them.
    tmp_path.chmod(0o755)
    return folder


def run(*words: str, check: int = 0) -> subprocess.CompletedProcess[str]:
    done = cli.run("run", *words, constants=cli.FAIL_ONCE)
    assert done.returncode == check, done.stdout + done.stderr
    return done


@needs_root
@pytest.mark.parametrize(
    "platform",
    [
        *layers.each(PLATFORMS),
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("vm", "vm/docker")),
    ],
)
def test_every_platform_runs_the_same_files(shop: Path, tmp_path: Path, platform: str) -> None:
    found = platforms.availability(platform)
    if not found.works:
        pytest.skip(f"{platform}: {found.why}")
    out = tmp_path / "out"
    given = ["-p", platform, "-n", "2", "--out", str(out), "--no-fingerprint"]
    given += ["--output", str(out / "output" / "{trial}.out")]
    run("--application", f"{shop}/", *given)
    samples = tare.open(out).samples()
    counted = samples[samples["metric"] == "counted"]
    assert counted["value"].tolist() == [100, 100]
    assert set(counted["source"]) == {"output"}
    printed = [json.loads(file.read_text()) for file in sorted((out / "output").glob("*.out"))]
    busybox = shop / "root" / "bin" / "busybox"
    sum_ = subprocess.run(["sha256sum", busybox], capture_output=True, text=True, check=True)
    assert {one["sum"] for one in printed} == {sum_.stdout[:8]}
    assert {one["name"] for one in printed} == {"tare"}
    lock = msgspec.json.decode((out / "shop.lock.json").read_bytes())
    assert lock["digest"]


#: Writes 64 files, each flushed to the disk, and prints what the agent's metrics do not have.
WRITES = """\
touch /application/written 2>/dev/null && echo wrong >&2
test "$(ls -A /disk)" = "" || test -e /disk/0 || echo wrong >&2
for n in $(seq 0 63); do
  dd if=/bin/busybox of=/disk/$n bs=64k count=1 conv=fsync 2>/dev/null || echo wrong >&2
done
kind=$(stat -f -c %T /disk)
memory=$(stat -f -c %T /tmp)
echo "{\\"counted\\": 64, \\"lines\\": 1, \\"disk\\": \\"$kind\\", \\"tmp\\": \\"$memory\\"}"
"""


@needs_root
@pytest.mark.parametrize(
    "platform",
    [
        *layers.each(PLATFORMS),
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("vm", "vm/docker")),
    ],
)
def test_an_instance_has_a_folder_on_a_disk_and_it_is_removed(
    shop: Path, tmp_path: Path, platform: str
) -> None:
    found = platforms.availability(platform)
    if not found.works:
        pytest.skip(f"{platform}: {found.why}")
    for name in ("dd", "ls", "seq", "stat", "touch"):
        (shop / "root" / "bin" / name).symlink_to("busybox")
    file = shop / "application.toml"
    text_ = file.read_text().replace(COUNTED, "").replace('["test", "-e", "/tmp/counted"]',
                                                         '["test", "-e", "/disk/63"]')  # fmt: skip
    file.write_text(f"{text_}\n[needs]\ndisk = true\n")
    (shop / "root" / "application" / "words").write_text(WRITES)
    out = tmp_path / "out"
    given = ["-p", platform, "-n", "2", "--out", str(out), "--no-fingerprint"]
    given += ["--output", str(out / "output" / "{trial}.out")]
    run("--application", f"{shop}/", *given)
    names = set(tare.open(out).instances["instance"])
    assert names
    left = [path.name for folder in ("/var/tmp", "/tmp") for path in Path(folder).glob("tare-*")]
    assert not [name for name in left if any(name.startswith(f"{one}-") for one in names)]
    printed = [json.loads(file.read_text()) for file in sorted((out / "output").glob("*.out"))]
    assert {one["tmp"] for one in printed} == {"tmpfs"}
    assert not {one["disk"] for one in printed} & {"tmpfs", "ramfs"}
    (value,) = tare.open(out).facts.where(name="application_disk")["value"]
    assert value.startswith(("/var/tmp (", "/tmp ("))
    # Each flush waits for the device, except in a guest, where the host's QEMU waits.
    samples = tare.open(out).samples()
    waits = samples[samples["metric"] == "voluntary_switches"]["value"]
    assert platform.startswith(("vm", "gvisor")) or (waits >= 64).all()


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (
            "silent",
            message(
                "it printed no number of {metric} to {stream}, by {how}",
                metric="counted",
                how="counted",
                stream="stdout",
            ),
        ),
        (
            "wrong",
            message(
                "it printed to {stream} what makes a trial invalid: {found}",
                stream="stderr",
                found="wrong",
            ),
        ),
        (
            "unchecked",
            message(
                "the check {command} failed{% if why %}: {why}{% endif %}",
                command="test -e /tmp/counted",
                why="test ended with exit code 1",
            ),
        ),
    ],
)
def test_what_is_not_valid_has_failed_though_it_exits_with_0(
    shop: Path, tmp_path: Path, fault: str, why: Message
) -> None:
    # The first line that is missing would be that of the check.
    unchecked = SHOP.replace(COUNTED, "") if fault == "silent" else SHOP
    variable = f'environment = {{FAULT = "{fault}"}}\n'
    (shop / "application.toml").write_text(
        unchecked.replace("[parameters.times]", f"{variable}[parameters.times]")
    )
    out = tmp_path / "out"
    given = ["-n", "1", "--out", str(out), "--no-fingerprint"]
    run("--application", f"{shop}/", *given, check=15)
    trials = tare.open(out).trial_table
    assert set(trials["status"]) == {"failed"}
    assert set(trials["reason"]) == {text(why)}


def test_parameters_are_factors_and_typed(shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        '[experiment]\nname = "a"\nquestion = "b?"\ntrials = 2\nfingerprint = false\n'
        f'[[workload]]\napplication = "{shop}"\n[factors]\ntimes = [5, 50]\n'
    )
    out = tmp_path / "out"
    done = cli.run("experiment", "run", str(file), "--out", str(out))
    assert done.returncode == 0, done.stderr
    results = tare.open(out)
    found = results.samples()
    counted = found[found["metric"] == "counted"]
    assert {(t, v) for t, v in zip(counted["times"], counted["value"], strict=True)} == {
        ("5", 5), ("50", 50),
    }  # fmt: skip
    (out2 := tmp_path / "two").mkdir()
    given = ["-n", "1", "--out", str(out2), "--no-fingerprint"]
    run("--application", f"{shop}/", "--set", "times=7", *given)
    assert 7 in tare.open(out2).samples()["value"].tolist()
    assert run("--application", f"{shop}/", "--set", "times=x", check=10).stdout == ""


def test_several_workers_are_each_judged_by_what_they_have_finished(
    shop: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    words = ["--workers", "2", "-n", "3", "--set", "times=20000", "--out", str(out)]
    run("--application", f"{shop}/", *words, "--no-fingerprint")
    samples = tare.open(out).samples()
    assert len(samples[samples["metric"] == "counted"]) == 6


def test_an_application_that_changed_is_not_gone_on_with(shop: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    given = ["--application", f"{shop}/", "-n", "1", "--out", str(out), "--no-fingerprint"]
    run(*given)
    (shop / "application.toml").write_text(SHOP + "# changed\n")
    done = cli.run("run", *given, "--resume")
    assert done.returncode != 0
    assert "application" in done.stderr


def test_platforms_that_show_no_other_files_refuse(shop: Path) -> None:
    for platform in ("ssh:nowhere", "docker/bubblewrap"):
        done = cli.run("run", "--application", f"{shop}/", "-p", platform, "-n", "1")
        assert done.returncode != 0
        assert "application" in done.stderr, done.stderr


def smoke(out: Path, *words: str) -> Any:
    run(*words, "--out", str(out), "--no-fingerprint")
    results = tare.open(out)
    assert set(results.trial_table["status"]) == {"ok"}
    return results


@pytest.mark.applications
@pytest.mark.timeout(600)
def test_ffmpeg_encodes_on_bare(tmp_path: Path) -> None:
    if shutil.which("mmdebstrap", path=f"{os.environ['PATH']}:/usr/sbin:/usr/bin") is None:
        pytest.skip("mmdebstrap is not installed")
    given = ["--set", "video=320x180", "--set", "seconds=1", "--set", "preset=ultrafast"]
    results = smoke(tmp_path / "out", "--application", "ffmpeg", "-n", "2", *given)
    assert (results.samples()["metric"] == "wall_ns").any()


@pytest.mark.applications
@needs_root
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("size", ["1c", "2c"])
@pytest.mark.parametrize(
    "application",
    ["ffmpeg", "mpi-prime", "mpi-search", *SERVICES],
)
@pytest.mark.parametrize(
    "platform",
    ["bare", "docker", "podman", "runc", "nspawn", "bubblewrap", "gvisor", "vm", "vm/docker"],
)
def test_every_application_is_right_everywhere(
    tmp_path: Path, platform: str, application: str, size: str
) -> None:
    less = {
        "ffmpeg": ("video=320x180", "seconds=1", "preset=ultrafast"),
        "mpi-prime": ("end=100000",),
        "mpi-search": ("count=1000000",),
        "wordpress": ("users=5", "ramp=1", f"visit={VISIT}"),
        "wordpress-open": ("rate=1", "seconds=5"),
        "cassandra": ("rate=20", "seconds=3", "warm_up=2"),
        "cassandra-closed": ("users=2", "seconds=3", "warm_up=2"),
    }
    given = [word for one in less[application] for word in ("--set", one)]
    if platform == "vm" and application.startswith("cassandra"):
        # More than a guest has by default: Cassandra maps 683 MiB at once.
        size += "4g"
    where = ["-p", platform, "--size", size, "-n", "2"]
    if platform == "gvisor" and application.startswith("mpi"):
        done = cli.run("run", "--application", application, *given, *where)
        if "PMIx server's listener thread failed" in done.stderr:
            pytest.skip("this runsc answers SIOCGIFADDR without a family: Open MPI does not start")
    smoke(tmp_path / "out", "--application", application, *given, *where)
