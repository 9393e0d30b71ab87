"""Kill a session of tare at any moment, and look what is left of it, without asking tare."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cli import TARE

#: Stands in the environment of the front, and so of every process that it starts on this machine.
MARK = "TARE_KILLED_BY_A_TEST"
_FOLDERS = ("/dev/shm", "/tmp", "/var/tmp", "/run", "/var/lib/tare", str(Path.home()))
EXPERIMENT = """
[experiment]
name = "killed"
question = "What is left of a session that was killed?"
trials = {trials}
fingerprint = {fingerprint}
[[workload]]
{workload}
[factors]
platform = {platforms}
"""


class Killed:
    """An experiment whose front is killed again and again."""

    #: Names of a fleet's hosts, before their number.
    host = "host-"
    #: Its file, which lists the cells.
    plan = "plan.json"

    def __init__(
        self,
        folder: Path,
        platforms: Iterable[str],
        trials: int,
        options: str = "",
        *,
        fingerprint: bool = False,
        workload: str = 'kernel = "exp_double"',
        skip_missing: bool = True,
        hosts: int = 0,
    ) -> None:
        folder.mkdir(exist_ok=True)
        #: Of a fleet on this machine; 0: no fleet.
        self.hosts = hosts
        self.folder = folder / "results"
        self.file = folder / "killed.toml"
        text = EXPERIMENT.format(
            trials=trials,
            platforms=json.dumps(list(platforms)),
            fingerprint=json.dumps(fingerprint),
            workload=workload,
        )
        self.file.write_text(text + options)
        self.mark = f"{os.getpid()}-{time.monotonic_ns()}"
        self.skip_missing = skip_missing
        self.environment = dict(os.environ)
        #: What each part of the results must hold.
        self.wanted = trials
        #: Whether a session was started before, however little it came to.
        self.begun = False
        #: What the last whole session took.
        self.seconds = 0.0

    def words(self) -> list[str]:
        """Return the command that measures, without ``--resume``."""
        words = [*TARE, "experiment", "run", str(self.file), "--out", str(self.folder)]
        if self.skip_missing:
            words.append("--skip-missing")
        return [*words, "--fleet", f"local:{self.hosts}"] if self.hosts else words

    def start(self) -> subprocess.Popen[str]:
        """Start a session, or the next one."""
        argv = [*self.words(), "--resume"] if self.begun else self.words()
        self.begun = True
        return subprocess.Popen(
            argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env=self.environment | {MARK: self.mark},
        )  # fmt: skip

    def journals(self) -> set[Path]:
        """Return the journal of each session, on all hosts."""
        return {path for part in self.parts() for path in part.glob("journal/*.ndjson")}

    def kill_after(self, seconds: float) -> list[str]:
        """Kill a session after some time, clean up, and return what is left nevertheless."""
        front = self.start()
        with contextlib.suppress(subprocess.TimeoutExpired):
            front.wait(seconds)
        sessions = leases_of(front.pid)
        front.kill()
        front.communicate()
        sessions |= leases_of(front.pid)
        cleaned = subprocess.run(
            [*TARE, "cleanup"], capture_output=True, text=True, timeout=120, check=False
        )
        said = [] if cleaned.returncode == 0 else [f"cleanup: {cleaned.stderr}"]
        return said + left(sessions, self.mark)

    def finish(self) -> None:
        """Go on to the end."""
        began = time.monotonic()
        front = self.start()
        _, said = front.communicate(timeout=600)
        assert front.returncode == 0, said
        self.seconds = time.monotonic() - began

    def parts(self) -> list[Path]:
        """Return the folders with a plan and a journal: one, or one per host of a fleet."""
        hosts = range(1, self.hosts + 1)
        named = [self.folder / "hosts" / f"{self.host}{n}" for n in hosts]
        return named or [self.folder]

    def planned(self) -> list[dict[str, Any]]:
        """Return the cells of the plan, the same on all hosts."""
        plan = (self.parts()[0] / self.plan).read_text()
        cells: list[dict[str, Any]] = json.loads(plan)["cells"]
        return cells

    def holds(self) -> Counter[str]:
        """Return the good trials on each platform."""
        names = {cell["cell"]: cell["platform"] for cell in self.planned()}
        found: Counter[str] = Counter()
        for (_, cell), count in self.good().items():
            found[names[cell]] += count
        return found

    def good(self) -> dict[tuple[str, int], int]:
        """Return the good trials of each cell, by folder."""
        planned = self.planned()
        return {
            (part.name, cell): count
            for part in self.parts()
            for cell, count in self._good(part, [one["cell"] for one in planned]).items()
        }

    @staticmethod
    def _good(part: Path, planned: list[int]) -> dict[int, int]:
        good = dict.fromkeys(planned, 0)
        for path in (part / "journal").glob("*.ndjson"):
            cells: dict[int, int] = {}
            for line in path.read_bytes().splitlines(keepends=True):
                if not line.endswith(b"\n"):
                    continue
                told = json.loads(line)
                if told["record"] == "trial" and not told.get("calibration"):
                    cells[told["trial"]] = told["cell"]
                if told["record"] == "ended" and told["status"] == "ok" and told["trial"] in cells:
                    good[cells[told["trial"]]] += 1
        return good


def moments(seed: int, count: int, longest_s: float) -> list[float]:
    """Return when to kill."""
    chance = random.Random(seed)
    return [chance.uniform(0.2, longest_s) for _ in range(count)]


def leases_of(*pids: int) -> set[str]:
    """Return the sessions of processes and of their children, by what their leases say."""
    found, all_pids = set(), set(pids)
    for pid in pids:
        with contextlib.suppress(OSError):
            all_pids |= set(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
    for path in Path("/run/tare").glob("tare-*.lease"):
        with contextlib.suppress(OSError, ValueError):
            if json.loads(path.read_text())["pid"] in all_pids:
                found.add(path.stem)
    return found


def left(sessions: set[str], mark: str) -> list[str]:
    """Return what is on the machine of some sessions, kind by kind."""
    found = _processes(sessions, mark)
    if not sessions:
        return found
    named = re.compile("|".join(map(re.escape, sessions)))
    found += [
        f"mount: {m}" for m in Path("/proc/mounts").read_text().splitlines() if named.search(m)
    ]
    for folder in (*_FOLDERS, "/sys/fs/cgroup"):
        depth = [] if "cgroup" in folder else ["-maxdepth", "3"]
        listed = _said(
            "find", folder, "-xdev" if not depth else "-mount", *depth, "-name", "*tare-*"
        )
        found += [f"path: {path}" for path in listed if named.search(path)]
    for engine in ("docker", "podman"):
        if shutil.which(engine):
            listed = _said(engine, "ps", "--all", "--format", "{{.Names}}")
            found += [f"{engine}: {name}" for name in listed if named.search(name)]
    found += [f"namespace: {n}" for n in _said("ip", "netns", "list") if named.search(n)]
    # Rules of a network are of a link, which is named after its session.
    hexadecimal = re.compile("|".join(name.removeprefix("tare-") for name in sessions))
    return found + [f"link: {n}" for n in _said("ip", "-o", "link") if hexadecimal.search(n)]


def _processes(sessions: set[str], mark: str) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            argv = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            marked = f"{MARK}={mark}".encode() in (entry / "environ").read_bytes()
            if argv and (marked or any(name in argv for name in sessions)):
                found.append(f"process {entry.name}: {argv[:200]}")
    return found


def _said(*argv: str) -> list[str]:
    with contextlib.suppress(OSError):
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
        return done.stdout.splitlines()
    return []
