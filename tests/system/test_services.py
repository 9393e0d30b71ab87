"""Applications that serve: driven from another host, and valid only if the load was."""

from __future__ import annotations

import functools
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import busybox_image
import cli
import layers
import numpy as np
import pytest

import tare
from tare import platforms

pytestmark = [
    pytest.mark.system,
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
disk = true
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
stop = { signal = "INT", within = "1 s" }
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
  busy) (while :; do :; done) & ;;
  flushes)
    (while :; do dd if=/bin/busybox of=/disk/file bs=64k conv=fsync; done) 2> /dev/null & ;;
  disk) (while :; do dd if=/bin/busybox of=/dev/null iflag=direct bs=4k; done) 2> /dev/null & ;;
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
test $2 = busy && sleep 1
test $2 = disk && sleep 1
test $2 = flushes && sleep 1
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


def make(folder: Path) -> Path:
    """Make the folder of an application that serves pages, with busybox as its image."""
    busybox_image.make(
        folder / "root",
        "sh",
        "cat",
        "rm",
        "sleep",
        "touch",
        "wget",
        "httpd",
        "kill",
        "head",
        "tr",
        "dd",
    )
    (folder / "root" / "application" / "web").write_text(WEB)
    (folder / "root" / "application" / "drive").write_text(DRIVE)
    (folder / "application.toml").write_text(APPLICATION)
    folder.parent.chmod(0o755)
    return folder


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    return make(tmp_path / "pages")


def run(pages: Path, out: Path, *words: str) -> tuple[subprocess.CompletedProcess[str], Any]:
    given = ["--application", str(pages), "--out", str(out), "--no-fingerprint", *words]
    done = cli.run("run", *given, constants=cli.FAIL_ONCE)
    return done, tare.open(out) if out.exists() else None


@pytest.mark.parametrize(
    "platform",
    [
        *layers.each(PLATFORMS),
        # Emulated, an engine takes minutes to start.
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("vm", "vm/docker")),
    ],
)
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
    times = results.requests().groupby("trial")["duration_ns"].agg(["size", "sum"])
    rows = [(trial, *found) for trial, *found in times.itertuples()]
    assert rows == [(trial, 5, sum(TRUTH_MS) * 10**6) for trial in (1, 2)]


def test_a_service_at_its_quota_is_throttled_while_it_is_under_load(
    pages: Path, tmp_path: Path
) -> None:
    """It computes without end on a quarter of a CPU, and is held back three times as long."""
    given = ("-p", "bare", "-p", "runc", "-n", "1", "--size", "0.25c", "--set", "fault=busy")
    done, results = run(pages, tmp_path / "out", *given)
    assert done.returncode == 0, done.stdout + done.stderr
    sources = {"cpu": "perf_cpu", "preempted": "perf_cpu", "throttled": "host_cgroup"}
    found = {
        what: results.values(f"service_{what}_ns", source)["value"]
        for what, source in sources.items()
    }
    assert [len(values) for values in found.values()] == [2, 2, 2]
    # Neither its start nor its end is in it, so that it is no more than of the whole trial.
    whole = results.values("throttled_ns", "host_cgroup")["value"]
    assert (found["throttled"] <= whole).all()
    # Whoever is throttled could have run; neighbours that leave it less only add to that.
    assert (found["preempted"] > 2 * found["cpu"]).all()
    starved = found["cpu"] < 0.2 * (found["cpu"] + found["preempted"])
    assert ((found["throttled"] > 0) | starved).all()


#: What a service waits for, and all of it.
WAITS = ("disk", "network", "blocked")


def test_a_service_that_reads_or_writes_a_disk_waits_for_it_while_it_is_under_load(
    pages: Path, tmp_path: Path
) -> None:
    # On a busy machine, records of a trial may be lost; it has no such times then.
    given = ("-p", "bare", "-n", "3", "--set", "rate=100")
    waits = {}
    for fault in ("none", "disk", "flushes"):
        done, results = run(pages, tmp_path / fault, *given, "--set", f"fault={fault}")
        assert done.returncode == 0, done.stdout + done.stderr
        of = {what: results.values(f"service_{what}_ns", "perf_cpu") for what in WAITS}
        complete = set.intersection(*(set(one["trial"].tolist()) for one in of.values()))
        waits[fault] = {
            what: one["value"][np.isin(one["trial"], [*complete])] for what, one in of.items()
        }
    if not any(len(found["disk"]) for found in waits.values()):
        pytest.skip("the kernel hides where its functions are")
    for found in waits.values():
        assert len(found["disk"])
        assert (found["disk"] + found["network"] <= found["blocked"]).all()
        # Its server waits for requests, whatever else it does.
        assert (found["network"] > 0).all()
    assert waits["disk"]["disk"].min() > waits["none"]["disk"].max()
    assert waits["flushes"]["disk"].min() > waits["none"]["disk"].max()


REASONS = {
    "clocks": "the load generator's file spans 1,800,000,000 s",
    "endless": "the load generator printed no number of requests",
    "dies": "service web ended with exit code 3; its last lines: no more room",
    "late": "service web was ended by SIGTERM",
    "empty": "service web is not ready after 1 s: its page of 0 bytes has no match",
    "code": "the load generator failed: sh ended with exit code 4; cannot connect",
    "stuck": "the load generator failed: sh exceeded its 500 ms",
    "missing": "the load generator left no plain file /tmp/rows.csv",
    "lost": "the load generator counts 6 requests, but its file has 5",
    "errors": "1 of 5 requests failed (20 %); the first: refused",
    "slow": "the load was not reached: 4.00 of 10.0 requests a second",
    "hostile": "the load generator's file is no CSV of requests",
    "local": "service web is not ready after 1 s: ",
    "silent": "service web is not ready after 1 s: ",
}
#: Where nothing comes in time, whatever the limit.
HURRIED = ("empty", "stuck", "local", "silent")


@dataclass(frozen=True)
class Faulty:
    """One session with a workload for each fault, which is tried once."""

    out: Path

    @functools.cached_property
    def trials(self) -> Any:
        return tare.open(self.out).trials().set_index("workload")


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Faulty:
    tmp_path = tmp_path_factory.mktemp("faulty")
    made = [make(tmp_path / name) for name in ("pages", "hurried")]
    file = made[1] / "application.toml"
    hurried = {'"5 s"': '"1 s"', '"8 s"': '"500 ms"', '"pages"': '"hurried"'}
    text = file.read_text()
    for usual, given in hurried.items():
        text = text.replace(usual, given)
    file.write_text(text)
    workload = '[[workload]]\nname = "{}"\napplication = "{}"\nfault = "{}"\n'
    workload += 'output = "output/{{trial}}.out"\n'
    text = '[experiment]\nname = "a"\nquestion = "b?"\ntrials = 1\nfingerprint = false\n'
    for fault in (*REASONS, "none"):
        text += workload.format(fault, made[fault in HURRIED], fault)
    text += workload.format("allowed", made[0], "errors") + 'errors = "25 %"\n'
    experiment, out = tmp_path / "faulty.toml", tmp_path / "out"
    experiment.write_text(text)
    done = cli.run("experiment", "run", str(experiment), "--out", str(out), constants=cli.FAIL_ONCE)
    assert out.exists(), done.stderr
    return Faulty(out)


@pytest.mark.parametrize("fault", REASONS)
def test_what_was_not_served_is_no_valid_trial(faulty: Faulty, fault: str) -> None:
    trial = faulty.trials.loc[fault]
    assert trial["status"] == "failed"
    assert trial["reason"].startswith(REASONS[fault]), trial["reason"]


@pytest.mark.parametrize(
    ("fault", "instead"),
    [("local", "listening here: 127.0.0.1:8080"), ("silent", "nothing listens on any port")],
)
def test_where_a_service_listens_instead_is_named(faulty: Faulty, fault: str, instead: str) -> None:
    assert f"; {instead}" in faulty.trials.loc[fault, "reason"]


def test_errors_that_are_allowed_are_counted(faulty: Faulty) -> None:
    shares = tare.open(faulty.out).values("request_error_share")
    assert shares.where(workload="allowed")["value"].tolist() == [0.2]


def test_a_service_that_is_killed_at_its_end_is_noted(pages: Path, tmp_path: Path) -> None:
    done, results = run(pages, tmp_path / "out", "-n", "1", "--set", "fault=stays")
    assert done.returncode == 0, done.stderr
    (fault,) = results.faults.records()
    said = "service web did not end within 1 s of its stop signal and was killed"
    assert (fault["trial"], fault["kind"], fault["message"]) == (1, "warning", said)
    assert said in done.stdout


def test_what_services_and_their_driver_print_is_kept(faulty: Faulty) -> None:
    trial = faulty.trials.loc["none", "trial"]
    kept = {path.name: path.read_text() for path in (faulty.out / "output").glob(f"{trial}.*")}
    assert kept == {
        f"{trial}.out": "first| it is up\n", f"{trial}.out.driver": "made 5\n",
    }  # fmt: skip


def test_a_taken_port_is_seen_before_the_service_starts(pages: Path, tmp_path: Path) -> None:
    file = pages / "application.toml"
    other = 'command = ["sh", "-c", "httpd -p {host1}:8080 -h /tmp; echo it is up; exec sleep 600"]'
    usual = 'command = ["sh", "-c", "echo it is up; exec sleep 600"]'
    file.write_text(file.read_text().replace(usual, other))
    done, results = run(pages, tmp_path / "out", "-n", "1")
    assert done.returncode == 15
    assert "10.77.0.1:8080 is taken" in results.trial_table["reason"][0]


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
