"""Applications that serve: driven from another host, and valid only if the load was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import busybox_image
import cli
import duckdb
import layers
import pytest

import tare
from tare import platforms

pytestmark = [
    pytest.mark.system,
    pytest.mark.machine,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a network for platforms"),
]
PLATFORMS = ("bare", "bubblewrap", "nspawn", "runc", "gvisor", "podman", "docker")
TRUTH_MS = (1, 2, 3, 4, 100)
APPLICATION = """
[application]
name = "pages"
question = "How long does a page take?"
[image]
root = "root"
[needs]
cores = 0.2
memory = "16 MiB"
[reset]
commands = [["sh", "-c", "test ! -e /tmp/served && echo '<title>page</title>' > /tmp/index.html"]]
[[services]]
name = "first"
command = ["sh", "-c", "echo it is up; exec sleep 600"]
environment = { FAULT = "{fault}" }
ready = { log = "^it is up$", within = "20 s" }
[[services]]
name = "web"
command = ["sh", "/application/web", "{host1}", "{fault}"]
ready = { http = "http://{host1}:8080/index.html", body = "<title>page", within = "5 s" }
stop = { signal = "INT", within = "2 s" }
[driver]
command = ["sh", "/application/drive", "{host1}", "{fault}", "{rate}"]
load = "open"
rate = "{rate}"
results = "/tmp/rows.csv"
count = "made ([0-9]+)"
errors = "{errors}"
within = "8 s"
[parameters.rate]
meaning = "requests a second"
default = 10
[parameters.errors]
meaning = "largest share of errors"
default = "1 %"
[parameters.fault]
meaning = "what goes wrong"
default = "none"
[[check.output]]
pattern = "made ([0-9]+)"
minimum = 1
"""
WEB = """\
case $2 in
  dies) echo "no more room"; exit 3;;
  late) (sleep 1; kill $$) & ;;
  empty) echo > /tmp/index.html;;
  silent) exec sleep 100;;
  local) exec httpd -f -p 127.0.0.1:8080 -h /tmp;;
  stays) trap "" INT;;
  stops) (sleep 1; kill -STOP $PPID) & ;;
esac
touch /tmp/left-by-web
exec httpd -f -p $1:8080 -h /tmp
"""
#: It plants times of which the mean is known, one of them from an intended start 10 ms before.
DRIVE = """\
made=0
errors=""
begin=1000000000
echo intended_ns,start_ns,duration_ns,label,error > /tmp/rows.csv
test $2 = stuck && sleep 100
test $2 = code && { echo "cannot connect" >&2; exit 4; }
test $2 = late && sleep 5
# As long as its file says.
test $2 = slow && sleep 1
test $2 = stops && sleep 2
test $2 = missing && rm /tmp/rows.csv && echo made 5 && exit 0
for ms in 1 2 3 4 100; do
  page=$(wget -q -O - http://$1:8080/index.html) || exit 5
  error=""
  case "$page" in *title*) ;; *) error="empty page";; esac
  test $2 = errors && test $ms = 4 && error=refused
  start=$((begin + made * 1000000000 / $3))
  test $2 = clocks && start=$((1800000000000000000 + made))
  test $2 = slow && start=$((begin + made * 250000000))
  echo $((begin + made * 1000000000 / $3)),$start,$((ms * 1000000)),page,$error >> /tmp/rows.csv
  made=$((made + 1))
done
test $2 = hostile && echo "1,2,3" >> /tmp/rows.csv
test $2 = lost && made=6
test $2 = endless && made=$(head -c 400 /dev/zero | tr '\\0' 9)
echo made $made
"""


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """Return the folder of an application that serves pages, with busybox as its image."""
    folder = tmp_path / "pages"
    busybox_image.make(
        folder / "root", "sh", "cat", "rm", "sleep", "touch", "wget", "httpd", "kill", "head", "tr"
    )
    (folder / "root" / "application" / "web").write_text(WEB)
    (folder / "root" / "application" / "drive").write_text(DRIVE)
    (folder / "application.toml").write_text(APPLICATION)
    tmp_path.chmod(0o755)
    return folder


def hurry(pages: Path) -> None:
    """Give what will never come in time as little time as anything that does is sure to take."""
    file = pages / "application.toml"
    file.write_text(file.read_text().replace('"5 s"', '"1 s"').replace('"8 s"', '"2 s"'))


def run(pages: Path, out: Path, *words: str) -> tuple[subprocess.CompletedProcess[str], Any]:
    given = ["--application", str(pages), "--out", str(out), "--no-fingerprint", *words]
    return cli.run("run", *given), tare.open(out) if out.exists() else None


@pytest.mark.parametrize("platform", layers.each(PLATFORMS))
def test_every_platform_serves_and_what_its_driver_saw_is_kept(
    pages: Path, tmp_path: Path, platform: str
) -> None:
    found = platforms.availability(platform)
    if not found.works:
        pytest.skip(f"{platform}: {found.why}")
    out = tmp_path / "out"
    done, _ = run(pages, out, "-p", platform, "-n", "2", "--size", "1c")
    assert done.returncode == 0, done.stdout + done.stderr
    results = tare.open(out)
    for metric, truth in (
        ("response_mean_ns", 22e6), ("response_p50_ns", 3e6), ("response_max_ns", 100e6),
        ("request_rate", 10.0), ("request_error_share", 0.0), ("requests", 5.0),
    ):  # fmt: skip
        values = results.values(metric, "driver")["value"].tolist()
        assert values == pytest.approx([truth] * 2), metric
    assert (results.values("services_ready_ns")["value"] > 0).all()
    assert (results.values("driver_cpus")["value"] > 0).all()
    rows = duckdb.sql(
        f"select trial, count(*), sum(duration_ns) from '{out}/requests/*.parquet' "
        "group by trial order by trial"
    ).fetchall()
    assert rows == [(trial, 5, sum(TRUTH_MS) * 10**6) for trial in (1, 2)]


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("clocks", "the load generator's file spans 1,800,000,000 s"),
        ("endless", "the load generator printed no number of requests"),
        ("dies", "service web ended with exit code 3; its last lines: no more room"),
        ("late", "service web was ended by SIGTERM"),
        ("empty", "service web is not ready after 1 s: its page of 0 bytes has no match"),
        ("code", "the load generator failed: sh ended with exit code 4; cannot connect"),
        ("stuck", "the load generator failed: sh exceeded its 2 s"),
        ("missing", "the load generator left no plain file /tmp/rows.csv"),
        ("lost", "the load generator counts 6 requests, but its file has 5"),
        ("errors", "1 of 5 requests failed (20 %); the first: refused"),
        ("slow", "the load was not reached: 4.00 of 10.0 requests a second"),
        ("hostile", "the load generator's file is no CSV of requests"),
    ],
)
def test_what_was_not_served_is_no_valid_trial(
    pages: Path, tmp_path: Path, fault: str, why: str
) -> None:
    if fault in ("empty", "stuck"):
        hurry(pages)
    done, results = run(pages, tmp_path / "out", "-n", "1", "--set", f"fault={fault}")
    assert done.returncode == 15, done.stdout + done.stderr
    trials = results.trial_table
    assert set(trials["status"]) == {"failed"}
    assert all(reason.startswith(why) for reason in trials["reason"]), set(trials["reason"])


@pytest.mark.parametrize(
    ("fault", "instead"),
    [("local", "listening here: 127.0.0.1:8080"), ("silent", "nothing listens on any port")],
)
def test_where_a_service_listens_instead_is_named(
    pages: Path, tmp_path: Path, fault: str, instead: str
) -> None:
    hurry(pages)
    done, results = run(pages, tmp_path / "out", "-n", "1", "--set", f"fault={fault}")
    assert done.returncode == 15, done.stdout + done.stderr
    for reason in results.trial_table["reason"]:
        assert reason.startswith("service web is not ready after 1 s: ")
        assert f"; {instead}" in reason


def test_errors_that_are_allowed_are_counted(pages: Path, tmp_path: Path) -> None:
    given = ["-n", "1", "--set", "fault=errors", "--set", "errors=25 %"]
    done, results = run(pages, tmp_path / "out", *given)
    assert done.returncode == 0, done.stderr
    assert results.values("request_error_share")["value"].tolist() == [0.2]


def test_a_service_that_is_killed_at_its_end_is_noted(pages: Path, tmp_path: Path) -> None:
    done, results = run(pages, tmp_path / "out", "-n", "1", "--set", "fault=stays")
    assert done.returncode == 0, done.stderr
    (fault,) = results.faults.to_dict("records")
    said = "service web did not end within 2 s of its stop signal and was killed"
    assert (fault["trial"], fault["kind"], fault["message"]) == (1, "warning", said)
    assert said in done.stdout


def test_what_services_and_their_driver_print_is_kept(pages: Path, tmp_path: Path) -> None:
    done, _ = run(pages, tmp_path / "out", "-n", "1", "--capture")
    assert done.returncode == 0, done.stderr
    kept = {path.name: path.read_text() for path in (tmp_path / "out" / "output").iterdir()}
    assert kept == {
        "1.0.0.out": "first| it is up\n", "1.0.0.err": "",
        "1.driver.out": "made 5\n", "1.driver.err": "",
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_stopped_supervise_costs_a_trial_the_times_of_its_services_alone(
    pages: Path, tmp_path: Path
) -> None:
    file, out = pages / "application.toml", tmp_path / "out"
    # What is waited for is what all services may take, and 20 s.
    up = 'ready = { log = "^it is up$", within = "20 s" }'
    file.write_text(file.read_text().replace(up, f'{up}\nstop = {{ within = "1 s" }}'))
    words = ["run", "--application", str(pages), "--out", str(out), "--no-fingerprint", "-n", "1",
             "--set", "fault=stops"]  # fmt: skip
    with subprocess.Popen(
        [*cli.TARE, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as running:
        while not ended(out) and running.poll() is None:
            time.sleep(0.1)
        # Another trial would be stopped as the first one.
        running.terminate()
    assert running.returncode == 143
    (trial,) = tare.open(out).trial_table.query("status == 'failed'").to_dict("records")
    assert trial["reason"] == "what starts the services did not answer within 23 s"
    assert trial["duration_ns"] < 60e9
    assert not left_behind()


def left_behind() -> list[str]:
    """Clean up, and return what was there, but for images: those stay while any session runs."""
    lines = cli.run("cleanup").stdout.splitlines()
    usual = ("Removed image ", "Nothing was left behind.")
    return [line for line in lines if not line.startswith(usual)]


def ended(out: Path) -> int:
    """Count the trials that have ended."""
    texts = (path.read_text() for path in out.glob("journal/*.ndjson"))
    return sum(text.count('"record":"ended"') for text in texts)


def test_a_taken_port_is_seen_before_the_service_starts(pages: Path, tmp_path: Path) -> None:
    file = pages / "application.toml"
    other = 'command = ["sh", "-c", "httpd -p {host1}:8080 -h /tmp; echo it is up; exec sleep 600"]'
    usual = 'command = ["sh", "-c", "echo it is up; exec sleep 600"]'
    file.write_text(file.read_text().replace(usual, other))
    done, results = run(pages, tmp_path / "out", "-n", "1")
    assert done.returncode == 15
    assert "10.77.0.1:8080 is taken" in results.trial_table["reason"].iloc[0]


def test_sizes_that_are_too_small_are_left_out_with_the_reason(pages: Path, tmp_path: Path) -> None:
    done = cli.run("run", "--application", str(pages), "--size", "0.1c", "-n", "1")
    assert done.returncode == 11
    assert "pages needs at least 0.2" in done.stderr
    file = tmp_path / "mine.toml"
    file.write_text(
        '[experiment]\nname = "a"\nquestion = "b?"\ntrials = 1\nfingerprint = false\n'
        f'[[workload]]\napplication = "{pages}"\n[factors]\nsize = ["0.1c", "1c"]\n'
    )
    out = tmp_path / "out"
    done = cli.run("experiment", "run", str(file), "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert set(tare.open(out).trial_table["size"]) == {"1c"}
    assert "pages needs at least 0.2" in done.stdout + done.stderr


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "after_s", [2.0, *(pytest.param(one, marks=pytest.mark.slow) for one in (0.5, 3.5))]
)
def test_a_kill_leaves_nothing_and_the_rest_is_measured_afterwards(
    pages: Path, tmp_path: Path, after_s: float
) -> None:
    out = tmp_path / "out"
    words = [sys.executable, "-m", "tare.wiring", "run", "--application", str(pages), "-n", "4",
             "--size", "1c", "-p", "docker", "--out", str(out), "--no-fingerprint"]  # fmt: skip
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as killed:
        while not list((out / "journal").glob("*.ndjson")) and killed.poll() is None:
            time.sleep(0.05)
        time.sleep(after_s)
        killed.send_signal(signal.SIGKILL)
    assert cli.run("cleanup").returncode == 0
    assert not left_behind()
    done = cli.run(*words[3:], "--resume")
    assert done.returncode == 0, done.stderr
    trials = tare.open(out).trial_table
    assert (trials["status"] == "ok").sum() >= 4
