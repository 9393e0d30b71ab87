"""Spark on the hosts of a network: its jobs come to what other programs computed before."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import cli
import pytest

import tare
from tare import platforms

pytestmark = [
    pytest.mark.system,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a network for platforms"),
    pytest.mark.skipif(shutil.which("mmdebstrap") is None, reason="mmdebstrap makes the image"),
]


def run(out: Path, *words: str, hosts: int = 2, size: str = "1c512m", trials: int = 1) -> None:
    """Run a job; a result that is not right fails its trial."""
    given = [word for one in words for word in ("--set", one)]
    where = ["--hosts", str(hosts), "--size", size, "-n", str(trials), "--out", str(out)]
    where += ["--output", str(out / "output" / "{trial}.out"), "--no-fingerprint"]
    done = cli.run("run", "--application", "spark", *given, *where)
    assert done.returncode == 0, done.stdout + done.stderr


def printed(out: Path) -> dict[str, object]:
    """Return what the first trial's job printed."""
    lines = (out / "output" / "1.out").read_text().splitlines()
    found = json.loads(next(line for line in lines if line.startswith("{")))
    assert isinstance(found, dict)
    return found


@pytest.mark.applications
def test_two_hosts_do_a_job_and_a_query(tmp_path: Path) -> None:
    run(tmp_path / "job", "job=wordcount", "input=4")
    assert printed(tmp_path / "job")["job"] == "wordcount"
    results = tare.open(tmp_path / "job")
    assert (results.values("hosts_cpu_ns")["value"] > 1e9).all()
    # Both hosts took part: words went from each to the other.
    assert (results.network_use["sent_bytes"] > 50_000).all()
    run(tmp_path / "query", "job=tpcds", "query=3", "scale=0.01")
    assert printed(tmp_path / "query")["query"] == 3


@pytest.mark.applications
@pytest.mark.parametrize("platform", ["bare", "docker", "runc"])
@pytest.mark.parametrize("job", ["wordcount", "sort", "terasort", "kmeans", "bayes", "pagerank"])
def test_every_job_is_right_everywhere(tmp_path: Path, job: str, platform: str) -> None:
    found = platforms.availability(platform)
    if not found.works:
        pytest.skip(f"{platform}: {found.why}")
    out = tmp_path / "out"
    given = ["--set", f"job={job}", "--set", "input=16", "--hosts", "3", "--size", "1c512m"]
    done = cli.run(
        "run",
        "--application",
        "spark",
        *given,
        "-p",
        platform,
        "-n",
        "2",
        "--out",
        str(out),
        "--no-fingerprint",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(tare.open(out).network_use) == 2 * 3


@pytest.mark.applications
def test_twelve_hosts_of_512_mib_do_a_job(tmp_path: Path) -> None:
    run(tmp_path / "out", "job=wordcount", "input=16", "partitions=12", hosts=12)
    hosts = tare.open(tmp_path / "out").network_use
    assert len(hosts) == 12
    assert (hosts["sent_bytes"] > 0).all()


@pytest.mark.applications
def test_a_result_that_is_not_right_fails_the_trial(tmp_path: Path) -> None:
    """The answer that is expected is planted wrong, in a copy of the application."""
    source = Path(tare.__file__).parent / "applications" / "library" / "spark"
    folder = tmp_path / "spark"
    shutil.copytree(source, folder)
    text = (folder / "prepare.py").read_text()
    (folder / "prepare.py").write_text(re.sub(r'"words": len\(counts\)', '"words": 1', text))
    tmp_path.chmod(0o755)
    done = cli.run(
        "run", "--application", str(folder), "--set", "input=4", "--hosts", "2", "-n", "1",
        "--out", str(tmp_path / "out"), "--no-fingerprint",
    )  # fmt: skip
    assert done.returncode != 0
    assert "check" in done.stdout + done.stderr
