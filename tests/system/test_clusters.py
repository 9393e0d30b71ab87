"""Applications with services on each host of a network, which a command asks."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

import busybox_image
import cli
import layers
import pytest

import tare
from tare import platforms
from tare.workloads.placeholders import literal

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a network for platforms"),
]
PLATFORMS = ("bare", "bubblewrap", "nspawn", "runc", "podman", "docker")
APPLICATION = """
[application]
name = "parts"
question = "How long does it take to ask each host for its part?"
[image]
root = "root"
[[services]]
name = "index"
command = ["sh", "/application/serve", "{host}", "8081", "none", "1"]
ready = { http = "http://{host1}:8081/index.html", within = "20 s" }
[[services]]
name = "part"
hosts = "each"
command = ["sh", "/application/serve", "{host}", "8080", "{fault}", "{host1}"]
ready = { http = "http://{host}:8080/index.html", body = "I am", within = "5 s" }
[run]
command = ["sh", "/application/ask", "{host}", "{hosts}", "{fault}"]
[parameters.fault]
meaning = "what goes wrong"
default = "none"
"""
SERVE = """\
# The index is there before any part is started.
test $2 = 8080 && { wget -q -O /dev/null http://$4:8081/index.html || exit 9; }
test $3 = dies && test $1 != $4 && { echo "no room on $1"; exit 3; }
test $3 = later && test $1 != $4 && (sleep 1; kill $$) &
mkdir /tmp/$2
echo "I am $1, started as $(cat /proc/sys/kernel/random/uuid)" > /tmp/$2/index.html
test $3 = orphaned && test $1 != $4 && (sleep 1; kill -9 $PPID) &
test $3 = stays && test $2 = 8080 || exec httpd -f -p $1:$2 -h /tmp/$2
trap 'read now rest < /proc/uptime; echo "asked at $now"; test $1 = $4 && exit 0' TERM
httpd -f -p $1:$2 -h /tmp/$2 &
while true; do sleep 0.1; done
"""
#: Where output is kept, in the folder of results.
KEPT = "output/{trial}.{worker}.{iteration}.out"
ASKED = re.compile("asked at ([0-9.]+)")
ASK = """\
echo "I am $1"
for host in $(echo $2 | tr , ' '); do wget -q -O - http://$host:8080/index.html || exit 5; done
test $3 = later && sleep 10
test $3 = orphaned && sleep 10
test $3 = fails && exit 6
exit 0
"""


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """Return the folder of an application with a service on each host."""
    folder = tmp_path / "parts"
    busybox_image.make(
        folder / "root", "sh", "cat", "sleep", "mkdir", "wget", "httpd", "kill", "tr", "true"
    )
    (folder / "root" / "application" / "serve").write_text(SERVE)
    (folder / "root" / "application" / "ask").write_text(ASK)
    (folder / "application.toml").write_text(APPLICATION)
    tmp_path.chmod(0o755)
    return folder


def run(parts: Path, out: Path, *words: str) -> subprocess.CompletedProcess[str]:
    given = ["--application", str(parts), "--out", str(out), "--no-fingerprint"]
    given += ["--output", str(out / KEPT)]
    return cli.run("run", *given, "--hosts", "3", *words)


def said(out: Path) -> list[list[str]]:
    """Return the lines that each trial's command wrote."""
    return [path.read_text().splitlines() for path in sorted((out / "output").glob("*.0.0.out"))]


@pytest.mark.parametrize("platform", layers.each(PLATFORMS))
def test_each_host_has_its_service_which_stays_from_trial_to_trial(
    parts: Path, tmp_path: Path, platform: str
) -> None:
    found = platforms.availability(platform)
    if not found.works:
        pytest.skip(f"{platform}: {found.why}")
    out = tmp_path / "out"
    done = run(parts, out, "-p", platform, "-n", "2", "--size", "1c64m")
    assert done.returncode == 0, done.stdout + done.stderr
    if platform == "bare":
        # Of the command, and of its services.
        assert re.search(r"CPU [0-9.]+ \S+ \+ [0-9.]+ \S+ on the hosts", done.stdout), done.stdout
    first, second = said(out)
    # The command has an instance of its own, on host 1.
    assert first == second
    answers = [re.fullmatch(r"I am ([0-9.]+), started as \S+", line) for line in first[1:]]
    assert len({answer[1] for answer in answers if answer}) == 3
    assert first[0].startswith("I am 10.77.0.")


def test_services_start_anew_for_each_trial_where_instances_do(parts: Path, tmp_path: Path) -> None:
    experiment = tmp_path / "fresh.toml"
    experiment.write_text(
        '[experiment]\nname = "fresh"\nquestion = "?"\ntrials = 2\nfresh = "trial"\n'
        "fingerprint = false\n"
        f'[[workload]]\napplication = "{parts}"\noutput = "{KEPT}"\n'
        '[factors]\nnetwork = ["none"]\n[network]\nhosts = 2\n'
    )
    out = tmp_path / "out"
    done = cli.run("experiment", "run", str(experiment), "--out", str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    first, second = said(out)
    assert first[0] == second[0]
    assert not set(first[1:]) & set(second[1:])


@pytest.mark.parametrize("platform", layers.each(PLATFORMS, ("bare",)))
def test_services_of_two_cells_are_there_side_by_side(
    parts: Path, tmp_path: Path, platform: str
) -> None:
    """Both listen on the same ports of the same hosts; their size says that both have room."""
    found = platforms.availability(platform)
    if not found.works:
        pytest.skip(f"{platform}: {found.why}")
    one = (
        f'[[workload]]\nname = "{{0}}"\napplication = "{parts}"\nfault = "{{0}}"\n'
        f'output = "{literal(KEPT)}"\n'
    )
    experiment = tmp_path / "two.toml"
    experiment.write_text(
        '[experiment]\nname = "two"\nquestion = "?"\ntrials = 2\nfingerprint = false\n'
        + one.format("none")
        + one.format("calm")
        + f'[factors]\nplatform = ["{platform}"]\nsize = ["1c64m"]\nnetwork = ["none"]\n'
        + "[network]\nhosts = 2\n"
    )
    out = tmp_path / "out"
    done = cli.run("experiment", "run", str(experiment), "--out", str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    answers = [tuple(lines[1:]) for lines in said(out)]
    # Each cell's trials asked its own two services, which stayed.
    assert sorted(answers.count(one) for one in set(answers)) == [2, 2]
    assert len({line for lines in answers for line in lines}) == 4


#: What goes wrong, and the reason of its trial.
FAULTS = {
    "dies": r"on host [23]: service part ended with exit code 3; .*no room on 10\.77\.0\.\d+",
    "later": r"on host [23]: service part was ended by SIGTERM",
    "orphaned": r"on host [23]: what starts the services has ended",
    "fails": r"sh ended with exit code 6",
}


def test_a_service_that_ends_fails_the_trial_with_its_host_and_log(
    parts: Path, tmp_path: Path
) -> None:
    workload = '[[workload]]\nname = "{0}"\napplication = "{1}"\nfault = "{0}"\n'
    experiment, out = tmp_path / "faults.toml", tmp_path / "out"
    experiment.write_text(
        '[experiment]\nname = "faults"\nquestion = "?"\ntrials = 1\nfingerprint = false\n'
        + "".join(workload.format(fault, parts) for fault in FAULTS)
        + '[factors]\nnetwork = ["none"]\n[network]\nhosts = 3\n'
    )
    words = ["experiment", "run", str(experiment), "--out", str(out)]
    assert cli.run(*words, constants=cli.FAIL_ONCE).returncode != 0
    trials = tare.open(out).trial_table
    reasons = dict(zip(trials["workload"], trials["reason"], strict=True))
    assert set(reasons) == set(FAULTS)
    for fault, why in FAULTS.items():
        assert re.search(why, reasons[fault]), reasons[fault]


def test_hosts_that_do_not_fit_are_left_out_with_what_they_need(
    parts: Path, tmp_path: Path
) -> None:
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    size = f"1c{memory // 3 // 2**20}m"
    done = run(parts, tmp_path / "out", "-n", "1", "--size", size)
    assert done.returncode != 0
    assert "4 instances of" in done.stderr
    assert "this machine has" in done.stderr


def test_hosts_that_were_not_started_do_not_hold_up_the_end(parts: Path, tmp_path: Path) -> None:
    text = (parts / "application.toml").read_text()
    (parts / "application.toml").write_text(text.replace('body = "I am"', 'body = "{host}"'))
    began = time.monotonic()
    done = run(parts, tmp_path / "out", "-n", "1")
    assert done.returncode != 0
    assert "on host 1: service part" in done.stderr
    assert time.monotonic() - began < 15


def test_services_that_do_not_end_are_killed_side_by_side_and_named(
    parts: Path, tmp_path: Path
) -> None:
    text = (parts / "application.toml").read_text()
    within = 'body = "I am", within = "5 s" }\n'
    (parts / "application.toml").write_text(
        text.replace(within, within + 'stop = { within = "3 s" }\n')
    )
    out = tmp_path / "out"
    done = run(parts, out, "-n", "1", "--set", "fault=stays")
    assert done.returncode == 0, done.stdout + done.stderr
    note = "Service part on 2 hosts did not end within 3 s of its stop signal and was killed"
    assert " ".join(done.stderr.split()).count(f"Note: {note}") == 1
    written = [(out / "output" / f"1.0.0.out.host{host}").read_text() for host in (1, 2, 3)]
    asked = [float(found[1]) for found in map(ASKED.search, written) if found]
    first, second, third = asked
    assert abs(third - second) < 3
    # Those of host 1 are asked once all others have ended.
    assert first - max(second, third) > 2


def test_hosts_of_no_network_are_refused(tmp_path: Path) -> None:
    for what in (["true"], ["--application", "ffmpeg"]):
        done = cli.run("run", "--hosts", "3", *what, cwd=tmp_path)
        assert done.returncode != 0
        assert "--hosts says how many a network has" in done.stderr
