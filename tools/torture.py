#!/usr/bin/env python3
"""Kill parts of sessions at random moments, and look that nothing is lost and nothing is left.

Each run measures a small experiment and kills one process of it: the front (also while it goes on
with what it was killed in, and the cleanup after it), an agent, the observer, a container, a guest
or a load; of a fleet on this machine its scheduler, a worker, or what emulates its networks; of one
by ssh a node; of an application a service, the driver or the build of its image; of a task set the
front or an agent. Then the same command is typed with --resume until it has ended well, and
`tare cleanup`. Kills between the first and the last trial of a session are counted apart from those
during its start and its report.
It signals nothing but processes of the sessions that it has started itself.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
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
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "unit"))
sys.path.insert(1, str(Path(__file__).parents[1] / "tests" / "system"))

import killing
import test_services
import test_ssh_fleet

from tare import platforms
from tare.experiment import plan_file

TRIALS = 6
WORKLOAD = 'command = ["sleep", "0.4"]'
LOADED = 'load = ["none", "busy"]\n[loads.busy]\nkind = "stress-ng"\nworkers = 1\n'
#: Layers of each way to start that are cheap, and those that are containers.
CHEAP = ("unshare", "bubblewrap", "cgroup")
CONTAINERS = ("docker", "podman", "runc")
#: What is killed of a fleet, and how many hosts it has.
FLEET, HOSTS = ("scheduler", "worker", "network"), 2
#: What is killed of an application that serves, and the layers on which it runs.
SERVED, SERVING = ("service", "driver"), ("bubblewrap", "runc", "docker")
#: An image that takes some ten seconds to build.
APPLICATION = """
[application]
name = "built"
question = "What is left of a build that was killed?"
[image]
packages = ["busybox"]
[run]
command = ["busybox", "sleep", "0.4"]
[check]
command = ["busybox", "true"]
"""
TASKS = """
[tasks]
files = "{folder}/*.in"
expected = "*.out"
timeout = "60 s"
[factors]
platform = {platforms}
[[workload]]
name = "copy"
command = ["sh", "-c", "sleep 0.4; cat"]
"""
#: Share of kills whose moment counts from the end of a session's first trial.
AMONG_TRIALS = 0.75
#: Seconds of a session whose like has not been measured yet; with probes of the machine, and with
#: a guest, which boots emulated where there is no KVM.
SESSION_S, PROBING_S, FLEET_S = 8.0, 16.0, 20.0
LONGEST_OF = {"guest": 25.0, "build": 15.0}
#: What is killed while the machine is probed as well.
PROBED = ("front", "agent", "observer", "container", "guest", "load")
#: As often may the same command be typed, and so long may each take.
MOST_RESUMES, LONGEST_S = 4, 300.0
#: Everything was measured; and the machine was found to have changed, as it may.
ENDED = (0,)
#: The kernel takes a moment to end what was killed.
SETTLE_S = 5.0

Process = tuple[int, list[str]]


class Served(killing.Killed):
    """An application with a service, and a driver whose load takes half a second."""

    def __init__(self, folder: Path, platforms: Iterable[str]) -> None:
        pages = test_services.make(folder / "pages")
        drive = pages / "root/application/drive"
        drive.write_text(f"sleep 0.5\n{drive.read_text()}")
        super().__init__(
            folder, platforms, TRIALS, workload=f'application = "{pages}"', skip_missing=False
        )


class Built(killing.Killed):
    """An application whose image is not in the cache."""

    def __init__(self, folder: Path) -> None:
        (folder / "built").mkdir()
        (folder / "built/application.toml").write_text(APPLICATION)
        super().__init__(
            folder, ("bare",), 1, workload=f'application = "{folder / "built"}"', skip_missing=False
        )
        self.cache = folder / "cache"
        self.environment["XDG_CACHE_HOME"] = str(self.cache)

    def left(self) -> list[str]:
        """Return what builds have left."""
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
        found = [f"mount: {line}" for line in mounts if str(self.cache) in line]
        return found + [f"path: {path}" for path in self.cache.rglob("*.new")]


class BySsh(killing.Killed):
    """An experiment on two hosts that ssh reaches."""

    host = "box"

    def __init__(self, folder: Path, boxes: test_ssh_fleet.Boxes) -> None:
        super().__init__(
            folder, ("bare",), TRIALS, workload=WORKLOAD, skip_missing=False, hosts=HOSTS
        )
        self.boxes, self.environment = boxes, boxes.environment

    def words(self) -> list[str]:
        """Return the command that measures, as the first host types it."""
        own = super().words()
        return [*self.boxes.network.enter(1), *own[:-1], "ssh:box1,box2"]

    def nodes(self) -> list[Process]:
        """Return the processes on both hosts."""
        pids = {pid for box in (1, 2) for pid in self.boxes.running_on(box)}
        return [(pid, argv) for pid, argv in processes() if pid in pids]


class TaskSet(killing.Killed):
    """A task set, with as many tasks as experiments have trials."""

    plan = plan_file.TASKS

    def __init__(self, folder: Path, platforms: Iterable[str]) -> None:
        super().__init__(folder, platforms, 1, skip_missing=False)
        (folder / "tasks").mkdir()
        for number in range(TRIALS):
            for ending in ("in", "out"):
                (folder / f"tasks/{number}.{ending}").write_text(f"{number}\n")
        self.file.write_text(
            TASKS.format(folder=folder / "tasks", platforms=json.dumps(list(platforms)))
        )
        self.wanted = TRIALS

    def words(self) -> list[str]:
        """Return the command that runs all tasks."""
        return [*killing.TARE, "tasks", "run", str(self.file), "--out", str(self.folder)]

    @staticmethod
    def _good(part: Path, planned: list[int]) -> dict[int, int]:
        good = dict.fromkeys(planned, 0)
        for path in (part / "journal").glob("*.ndjson"):
            for line in path.read_bytes().splitlines(keepends=True):
                told = json.loads(line) if line.endswith(b"\n") else {}
                if told.get("record") == "run" and told["result"] == "correct":
                    good[told["cell"]] += 1
        return good


def of_session(sessions: set[str], word: str) -> Callable[[int, list[str]], bool]:
    """Return what tells whether a process is of some sessions, and begins with a word."""

    def belongs(_: int, argv: list[str]) -> bool:
        named = any(name in part for part in argv for name in sessions)
        return named and any(word in part for part in argv[:2])

    return belongs


def targets(kind: str, front: int, tried: killing.Killed, sessions: set[str]) -> list[Process]:
    """Return the processes of a front's sessions that are of a kind."""
    if isinstance(tried, BySsh):
        found = [(p, a) for p, a in tried.nodes() if "node" in a]
    elif isinstance(tried, Built):
        found = [(p, a) for p, a in processes() if given(p, str(tried.cache))]
    elif kind in SERVED:
        # The script of the service becomes its server.
        word = {"service": "httpd", "driver": "/application/drive"}[kind]
        found = [(p, a) for p, a in processes() if word in a and descends(p, sessions)]
    elif kind == "observer":
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


def given(pid: int, text: str) -> bool:
    """Tell whether a text is in the environment of a process."""
    try:
        return text.encode() in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def descends(pid: int | None, sessions: set[str]) -> bool:
    """Tell whether a process is of some sessions, or one that it descends from."""
    while pid:
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
            if any(name in words for name in sessions):
                return True
        pid = parent(pid)
    return False


def ended_trials(journals: Iterable[Path]) -> bool:
    """Tell whether a trial, or the run of a task, has ended by what is in journals."""
    with contextlib.suppress(OSError):
        texts = (path.read_bytes() for path in journals)
        return any(b'"record":"ended"' in text or b'"record":"run"' in text for text in texts)
    return False


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
    #: Whether ``at_s`` counts from the end of the session's first trial.
    from_trial: bool = False
    killed: str | None = None
    #: Whether all trials had ended when it was killed.
    completed: bool = False
    #: Whether some trials of the session had ended then, and others were to come.
    among_trials: bool = False
    failures: list[str] = dataclasses.field(default_factory=list)
    #: Exit codes of the sessions, None: killed.
    codes: list[int | None] = dataclasses.field(default_factory=list)
    sessions: set[str] = dataclasses.field(default_factory=set)
    seconds: float = 0.0

    def execute(self, folder: Path, offered: set[str], seconds: dict[object, float]) -> None:
        """Disturb an experiment, bring it to its end, and note what is not as it should be."""
        began = time.monotonic()
        with contextlib.ExitStack() as stack:
            self.disturb(folder, stack, offered, seconds)
        self.seconds = time.monotonic() - began

    def disturb(
        self,
        folder: Path,
        stack: contextlib.ExitStack,
        offered: set[str],
        seconds: dict[object, float],
    ) -> None:
        """Make the experiment, disturb it, and bring it to its end."""
        chance = random.Random(self.seed)
        others = {"container": CONTAINERS, "guest": ("vm",), "load": ()}.get(self.kind, CHEAP)
        if self.kind in SERVED:
            others = SERVING
        pick = [name for name in others if name in offered]
        self.platforms = ("bare", *([chance.choice(pick)] if pick else []))
        probing = chance.random() < 0.25 and self.kind in PROBED
        front = self.kind == "front"
        self.during = chance.choices(("first", "resume", "cleanup"), (6, 3, 3 * front))[0]
        self.from_trial = chance.random() < AMONG_TRIALS and self.kind != "build"
        hosts = HOSTS if self.kind in (*FLEET, "node") else 0
        known = (self.kind, self.platforms, probing)
        usual = FLEET_S if hosts else PROBING_S if probing else SESSION_S
        longest = seconds.get(known) or LONGEST_OF.get(self.kind, usual)
        tried: killing.Killed
        if self.kind in SERVED:
            tried = Served(folder, self.platforms)
        elif self.kind == "build":
            tried = Built(folder)
        elif self.kind == "node":
            tried = BySsh(folder, stack.enter_context(test_ssh_fleet.two_boxes(folder / "boxes")))
        elif self.kind == "tasks":
            tried = TaskSet(folder, self.platforms)
        else:
            tried = killing.Killed(
                folder, self.platforms, TRIALS, LOADED if self.kind == "load" else "",
                fingerprint=probing, workload=WORKLOAD, skip_missing=False, hosts=hosts,
            )  # fmt: skip
        if self.during != "first" or front:
            self.session(tried, "front", chance.uniform(0, longest))
        if self.during == "cleanup":
            self.cleanup(chance.uniform(0, 1.5))
        elif self.during == "resume" or not front:
            self.session(tried, self.kind, chance.uniform(0, longest))
        self.finish(tried, seconds, known)

    def session(self, tried: killing.Killed, kind: str, at_s: float) -> None:
        """Start a session, and kill something of it from a moment on; wait for its end."""
        if kind == "tasks":
            kind = random.Random(self.seed).choice(["front", "agent"])
        # Trials take about half of a session.
        self.at_s, self.killed = at_s / 2 if self.from_trial else at_s, None
        earlier, process = tried.journals(), tried.start()
        began = time.monotonic()
        first: float | None = None
        try:
            while process.poll() is None and time.monotonic() - began < LONGEST_S:
                self.watch(tried, process.pid)
                now = time.monotonic()
                if first is None and ended_trials(tried.journals() - earlier):
                    first = now
                since = first if self.from_trial else began
                if (
                    since is not None
                    and now - since >= self.at_s
                    and self.hit(kind, tried, process)
                ):
                    self.among_trials = first is not None and not self.completed
                    break
                time.sleep(0.02)
            _, said = process.communicate(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            self.failures.append(f"a session did not end within {LONGEST_S:g} s")
            said = ""
        finally:
            self.watch(tried, process.pid)
            process.kill()
            process.wait()
        self.note(process.returncode, said)

    def watch(self, tried: killing.Killed, front: int) -> None:
        """Note the sessions of a front and of what it has started elsewhere."""
        nodes = [pid for pid, _ in tried.nodes()] if isinstance(tried, BySsh) else []
        self.sessions |= killing.leases_of(front, *nodes)

    def hit(self, kind: str, tried: killing.Killed, front: subprocess.Popen[str]) -> bool:
        """Kill what is to be killed, once it is there."""
        with contextlib.suppress(OSError):
            self.completed = set(tried.good().values()) == {tried.wanted}
        if kind == "front":
            front.kill()
            self.killed = "front"
        else:
            found = targets(kind, front.pid, tried, self.sessions)
            if not found or not kill(target := random.Random(self.seed).choice(sorted(found))):
                return False
            self.killed = " ".join(target[1])[:100]
        return True

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
                    self.watch(tried, process.pid)
                    time.sleep(0.05)
            finally:
                process.kill()
                _, said = process.communicate()
            self.note(process.returncode, said)
            if process.returncode in ENDED:
                seconds[known] = time.monotonic() - began
        else:
            self.failures.append(f"a dead end: {said.strip()[-300:]}")
        try:
            if set(tried.good().values()) != {tried.wanted}:
                self.failures.append(f"good trials by cell: {tried.good()}")
        except OSError as error:
            self.failures.append(f"no results: {error}")
        cleaned = subprocess.run(
            [*killing.TARE, "cleanup"], capture_output=True, text=True, timeout=120, check=False,
            env=tried.environment,
        )  # fmt: skip
        if cleaned.returncode:
            self.failures.append(f"cleanup: {cleaned.stderr.strip()[-300:]}")
        deadline = time.monotonic() + SETTLE_S
        while (left := killing.left(self.sessions, tried.mark)) and time.monotonic() < deadline:
            time.sleep(0.2)
        self.failures += [f"left: {one}" for one in left]
        if isinstance(tried, Built):
            self.failures += tried.left()

    @property
    def outcome(self) -> str:
        """Return what of a session was killed: its trials, something around them, or nothing."""
        if self.killed is None:
            return "ended before"
        return "trials" if self.among_trials else "around"

    def __str__(self) -> str:
        result = "ok" if not self.failures else "FAILED"
        codes = " ".join("killed" if code is None else str(code) for code in self.codes)
        return (
            f"{self.seed:>6}  {self.kind:<10}{self.during:<8}{self.at_s:>6.2f} s  "
            f"{self.outcome:<13}{result:<7}{self.seconds:>4.0f} s  "
            f"{'+'.join(self.platforms):<16} exit {codes}  ({self.killed or 'ended before'})"
        )


def offered(asked: list[str]) -> set[str]:
    """Return the platforms that work, or are emulated, of those that runs of some kinds need."""
    names = CHEAP
    if not asked or {"container", *SERVED} & set(asked):
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
    if shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin") is None:
        lacking["node"] = "sshd is missing"
    if not shutil.which("stress-ng"):
        lacking["load"] = "stress-ng is missing"
    known = [
        "front",
        "agent",
        "observer",
        "container",
        "guest",
        "load",
        *FLEET,
        "node",
        *SERVED,
        "tasks",
        "build",
    ]
    if unknown := set(asked) - set(known):
        sys.exit(f"--kinds: {', '.join(sorted(unknown))} is none of {','.join(known)}")
    every = asked or known
    return (
        [kind for kind in every if kind not in lacking],
        [f"{kind}: {lacking[kind]}" for kind in every if kind in lacking],
    )


def table(runs: list[Run], kinds: list[str]) -> str:
    """Count by kind, and say how to repeat what failed."""
    outcomes = ("trials", "around", "ended before")
    lines = [f"{'kind':<10}{'runs':>6}{''.join(f'{one:>14}' for one in outcomes)}{'failed':>8}"]
    for kind in (*kinds, "all"):
        some = [run for run in runs if kind in (run.kind, "all")]
        counts = Counter(run.outcome for run in some)
        failed = sum(bool(run.failures) for run in some)
        counted = "".join(f"{counts[one]:>14}" for one in outcomes)
        lines.append(f"{kind:<10}{len(some):>6}{counted}{failed:>8}")
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
