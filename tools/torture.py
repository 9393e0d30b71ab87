#!/usr/bin/env python3
"""Kill parts of sessions at random moments, and look that nothing is lost and nothing is left.

Each run measures a small experiment and kills one process of it: the front (also while it goes on
with what it was killed in, and the cleanup after it), an agent, the observer, a container, a guest
or a load; of a fleet on this machine its scheduler, a worker, or what emulates its networks. Then
the same command is typed with --resume until it has ended well, and `tare cleanup`.
It signals nothing but processes of the sessions that it has started itself.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "unit"))

import killing

from tare import platforms

TRIALS = 3
WORKLOAD = 'command = ["sleep", "0.4"]'
#: Docker has no files of this machine, and so no commands without an image.
BUILT_IN = 'kernel = "exp_double"'
LOADED = 'load = ["none", "busy"]\n[loads.busy]\nkind = "stress-ng"\nworkers = 1\n'
#: Layers of each way to start that are cheap, and those that are containers.
CHEAP = ("unshare", "bubblewrap", "cgroup")
CONTAINERS = ("docker", "podman", "runc")
#: What is killed of a fleet, and how many hosts it has.
FLEET, HOSTS = ("scheduler", "worker", "network"), 2
#: Seconds of a session whose like has not been measured yet; with probes of the machine, and with
#: a guest, which boots emulated where there is no KVM.
SESSION_S, PROBING_S, GUEST_S, FLEET_S = 4.0, 12.0, 15.0, 12.0
#: As often may the same command be typed, and so long may each take.
MOST_RESUMES, LONGEST_S = 4, 300.0
#: Everything was measured; and the machine was found to have changed, as it may.
ENDED = (0,)
#: The kernel takes a moment to end what was killed.
SETTLE_S = 5.0

Process = tuple[int, list[str]]


def of_session(sessions: set[str], word: str) -> Callable[[int, list[str]], bool]:
    """Return what tells whether a process is of some sessions, and begins with a word."""

    def belongs(_: int, argv: list[str]) -> bool:
        named = any(name in part for part in argv for name in sessions)
        return named and any(word in part for part in argv[:2])

    return belongs


def targets(kind: str, front: int, sessions: set[str]) -> list[Process]:
    """Return the processes of a front's sessions that are of a kind."""
    if kind == "observer":
        found = [(p, a) for p, a in processes() if parent(p) == front and "observe" in a[1:2]]
    elif kind == "container":
        # Its first process, what starts and what supervises it.
        words = ("/tare/tare-agent", "nest", "conmon", "runc")
        found = [x for x in processes() if any(of_session(sessions, w)(*x) for w in words)]
    elif kind in FLEET:
        words = {"scheduler": "scheduler", "worker": "host-", "network": "emulate"}
        found = [
            (p, a)
            for p, a in processes()
            if parent(p) == front and any(words[kind] in part for part in a[1:])
        ]
    else:
        word = {"agent": "serve", "guest": "qemu-system", "load": "stress-ng"}[kind]
        found = [x for x in processes() if of_session(sessions, word)(*x)]
    return [(pid, argv) for pid, argv in found if pid != front]


def processes() -> Iterator[Process]:
    """Yield every process of this machine with its words."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                yield int(entry.name), words[:-1]


def parent(pid: int) -> int | None:
    """Return the parent of a process; None where it has ended."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def kill(target: Process) -> bool:
    """Kill a process if it is still the one that was found."""
    pid, argv = target
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
        if words[:-1] != argv:
            return False
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        select.select([descriptor], [], [], SETTLE_S)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


@dataclasses.dataclass
class Run:
    """One experiment that is disturbed once.

    Attributes
    ----------
    seed : int
        Of all that is drawn: repeats the run, but for how fast the machine is.
    kind : str
        What is killed.
    """

    seed: int
    kind: str
    platforms: tuple[str, ...] = ()
    #: In which command: ``first``, ``resume``, ``cleanup``.
    during: str = "first"
    at_s: float = 0.0
    killed: str | None = None
    failures: list[str] = dataclasses.field(default_factory=list)
    #: Exit codes of the sessions, None: killed.
    codes: list[int | None] = dataclasses.field(default_factory=list)
    sessions: set[str] = dataclasses.field(default_factory=set)
    seconds: float = 0.0

    def execute(self, folder: Path, offered: set[str], seconds: dict[object, float]) -> None:
        """Disturb an experiment, bring it to its end, and note what is not as it should be."""
        began = time.monotonic()
        chance = random.Random(self.seed)
        others = {"container": CONTAINERS, "guest": ("vm",), "load": ()}.get(self.kind, CHEAP)
        pick = [name for name in others if name in offered]
        self.platforms = ("bare", *([chance.choice(pick)] if pick else []))
        probing = chance.random() < 0.25 and self.kind not in FLEET
        front = self.kind == "front"
        self.during = chance.choices(("first", "resume", "cleanup"), (6, 3, 3 * front))[0]
        hosts = HOSTS if self.kind in FLEET else 0
        known = (self.platforms, probing, hosts)
        usual = FLEET_S if hosts else PROBING_S if probing else SESSION_S
        longest = seconds.get(known) or (GUEST_S if "vm" in self.platforms else usual)
        tried = killing.Killed(
            folder, self.platforms, TRIALS, LOADED if self.kind == "load" else "",
            fingerprint=probing, workload=BUILT_IN if self.kind == "container" else WORKLOAD,
            skip_missing=False, hosts=hosts,
        )  # fmt: skip
        if self.during != "first" or front:
            self.session(tried, "front", chance.uniform(0, longest))
        if self.during == "cleanup":
            self.cleanup(chance.uniform(0, 1.5))
        elif self.during == "resume" or not front:
            self.session(tried, self.kind, chance.uniform(0, longest))
        self.finish(tried, seconds, known)
        self.seconds = time.monotonic() - began

    def session(self, tried: killing.Killed, kind: str, at_s: float) -> None:
        """Start a session, and kill something of it from a moment on; wait for its end."""
        self.at_s, self.killed, began = at_s, None, time.monotonic()
        process = tried.start()
        try:
            while process.poll() is None and time.monotonic() - began < LONGEST_S:
                self.sessions |= killing.leases_of(process.pid)
                if self.due(kind, process.pid, time.monotonic() - began):
                    break
                time.sleep(0.02)
            _, said = process.communicate(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            self.failures.append(f"a session did not end within {LONGEST_S:g} s")
            said = ""
        finally:
            self.sessions |= killing.leases_of(process.pid)
            process.kill()
            process.wait()
        self.note(process.returncode, said)

    def due(self, kind: str, front: int, elapsed_s: float) -> bool:
        """Kill what is to be killed, once it is there and its time has come."""
        if elapsed_s < self.at_s:
            return False
        if kind == "front":
            os.kill(front, signal.SIGKILL)
            self.killed = "front"
            return True
        found = targets(kind, front, self.sessions)
        if not found:
            return False
        target = random.Random(self.seed).choice(sorted(found))
        if kill(target):
            self.killed = " ".join(target[1])[:100]
            return True
        return False

    def cleanup(self, at_s: float) -> None:
        """Kill a cleanup."""
        self.at_s = at_s
        process = subprocess.Popen(
            [*killing.TARE, "cleanup"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(at_s)
        process.kill()
        process.wait()

    def note(self, code: int, said: str) -> None:
        """Note how a session ended; no kill is to bring out a fault of tare's own."""
        self.codes.append(None if code == -signal.SIGKILL else code)
        if code == 70 or "Traceback" in said:
            self.failures.append(f"a fault of tare's own: {said[-300:]}")

    def finish(self, tried: killing.Killed, seconds: dict[object, float], known: object) -> None:
        """Go on until the experiment has ended well, and look at what there is then."""
        said = ""
        for _ in range(MOST_RESUMES):
            if self.codes[-1] in ENDED:
                break
            began = time.monotonic()
            process = tried.start()
            try:
                while process.poll() is None and time.monotonic() - began < LONGEST_S:
                    self.sessions |= killing.leases_of(process.pid)
                    time.sleep(0.05)
            finally:
                process.kill()
                _, said = process.communicate()
            self.note(process.returncode, said)
            if process.returncode in ENDED:
                seconds[known] = time.monotonic() - began
        else:
            self.failures.append(f"a dead end: {said.strip()[-300:]}")
        with contextlib.suppress(OSError):
            if set(tried.good().values()) != {TRIALS}:
                self.failures.append(f"good trials by cell: {tried.good()}")
        cleaned = subprocess.run(
            [*killing.TARE, "cleanup"], capture_output=True, text=True, timeout=120, check=False
        )
        if cleaned.returncode:
            self.failures.append(f"cleanup: {cleaned.stderr.strip()[-300:]}")
        deadline = time.monotonic() + SETTLE_S
        while (left := killing.left(self.sessions, tried.mark)) and time.monotonic() < deadline:
            time.sleep(0.2)
        self.failures += [f"left: {one}" for one in left]

    def __str__(self) -> str:
        result = "ok" if not self.failures else "FAILED"
        codes = " ".join("killed" if code is None else str(code) for code in self.codes)
        return (
            f"{self.seed:>6}  {self.kind:<10}{self.during:<8}{self.at_s:>6.2f} s  {result:<7}"
            f"{self.seconds:>4.0f} s  "
            f"{'+'.join(self.platforms):<16} exit {codes}  ({self.killed or 'ended before'})"
        )


def offered(asked: list[str]) -> set[str]:
    """Return the platforms that work, or are emulated, of those that runs of some kinds need."""
    names = CHEAP
    if not asked or "container" in asked:
        names += CONTAINERS
    if not asked or "guest" in asked:
        names += ("vm",)
    found = map(platforms.availability, names)
    return {one.name for one in found if one.works or one.emulated}


def kinds_of(there: set[str], asked: list[str]) -> tuple[list[str], list[str]]:
    """Return the kinds that this machine has, and why it lacks the others."""
    lacking = {}
    if not there & set(CONTAINERS):
        lacking["container"] = "docker, podman and runc do not work"
    if "vm" not in there:
        lacking["guest"] = "vm does not work"
    if not shutil.which("stress-ng"):
        lacking["load"] = "stress-ng is missing"
    known = ["front", "agent", "observer", "container", "guest", "load", *FLEET]
    if unknown := set(asked) - set(known):
        sys.exit(f"--kinds: {', '.join(sorted(unknown))} is none of {','.join(known)}")
    every = asked or known
    return (
        [kind for kind in every if kind not in lacking],
        [f"{kind}: {lacking[kind]}" for kind in every if kind in lacking],
    )


def table(runs: list[Run], kinds: list[str]) -> str:
    """Count by kind, and say how to repeat what failed."""
    lines = [f"{'kind':<10}{'runs':>6}{'killed':>8}{'ended before':>14}{'failed':>8}"]
    for kind in kinds:
        some = [run for run in runs if run.kind == kind]
        hit = sum(run.killed is not None for run in some)
        failed = sum(bool(run.failures) for run in some)
        lines.append(f"{kind:<10}{len(some):>6}{hit:>8}{len(some) - hit:>14}{failed:>8}")
    during = Counter(run.during for run in runs)
    lines.append(", ".join(f"{count} during {name}" for name, count in during.items()))
    for run in runs:
        lines += [f"seed {run.seed}: {failure}" for failure in run.failures]
        if run.failures:
            lines.append(f"  repeat: make torture SEED={run.seed} N=1 KINDS={run.kind}")
    return "\n".join(lines)


def main() -> int:
    """Run as many as were asked for; 1: something was not as it should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--seed", type=int, default=1, help="of the first run; the next has one more"
    )
    parser.add_argument("--count", type=int, default=6, help="runs")
    parser.add_argument("--kinds", default="", help="what is killed, with commas between")
    asked = parser.parse_args()
    if os.geteuid() != 0:
        print("torture: looks for what root's sessions leave, so it needs root", file=sys.stderr)
        return 2
    wanted = [kind for kind in asked.kinds.split(",") if kind]
    there = offered(wanted)
    kinds, lacking = kinds_of(there, wanted)
    for why in lacking:
        print(f"not killed here: {why}")
    runs, seconds = [], dict[object, float]()
    for seed in range(asked.seed, asked.seed + asked.count):
        run = Run(seed, kinds[seed % len(kinds)])
        with tempfile.TemporaryDirectory(prefix="torture-") as folder:
            run.execute(Path(folder), there, seconds)
        runs.append(run)
        print(run, flush=True)
    print(table(runs, kinds))
    return int(any(run.failures for run in runs))


if __name__ == "__main__":
    sys.exit(main())
