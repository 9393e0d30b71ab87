"""The stage that a command is played on: agents, clock, chance and machine come from a tape.

It stands at the edge of the program: the standard library, and the few places at which tare
starts agents and asks the kernel (`_agents`, `_kernel_files`, `_held`, `_doctor`, and where its
state lies: if these move, their imports here move with them, and nothing else).
"""

from __future__ import annotations

import datetime
import gc
import hashlib
import json
import os
import pkgutil
import platform
import random
import re
import resource
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

from tape import Tape

#: Names of folders and of sessions, on which no answer depends.
_INCIDENTAL = re.compile(r'/[^" ]*/(?=shared|work)|/tmp/[^/" ]+|tare-[0-9a-f]{6}')
#: What jobs had not yet when tapes were recorded; absent, it asks for nothing.
_LATER = {"limits", "file_cache", "reads_output"}
#: Of a job, what says nothing of what is asked, or asks for more than tapes have.
_BY_CHANCE = {"id", "nonce", "shared", "rendezvous", "key", "groups", "stretches"}
_ID = re.compile(r'"id":(\d+)')
#: When commands are played: 2026-01-15 12:00 UTC, and how long the machine has been up then.
_BEGUN_NS = 1_768_478_400_000_000_000
_UPTIME_NS = 1_000_000_000_000
#: What the kernel's files say of what is not there.
_NOTHING: dict[str, Any] = {
    "read": None, "content": None, "glob": [], "exists": False, "may_write": False,
    "is_read_only": False,
}  # fmt: skip
#: Of the agent that the tapes were recorded with, so that another build changes no page.
_AGENT = "2f1d874e4e377a8b0a75c9d12e57c270ef88212552dea5bdf86cb63787fa93ac"
#: Who asks the clock as often while nothing happens waits for what is not on the tape.
_MOST_LOOKS = 2_000_000


class _CoreFinder(PathFinder):
    """Finds modules as ever, but none of an extra of tare."""

    hidden: frozenset[str]

    @classmethod
    def find_spec(cls, fullname: str, *given: Any, **named: Any) -> ModuleSpec | None:
        return None if fullname in cls.hidden else super().find_spec(fullname, *given, **named)


def _hide_extras() -> None:
    """Have every command played as where no extra is installed.

    None in `sys.modules` would not do: Arrow takes it for pandas.
    """
    _CoreFinder.hidden = frozenset(import_module("tare.extras").EXTRAS)
    for name in [name for name in sys.modules if name.partition(".")[0] in _CoreFinder.hidden]:
        del sys.modules[name]
    sys.meta_path[sys.meta_path.index(PathFinder)] = _CoreFinder


class _Playing:
    """The tape that is played now: none while modules are imported."""

    tape: Tape


def set_up() -> None:
    """Prepare this process: import all of tare, and have it take clock and chance from here.

    To be called once, before tare is imported, whose modules take hold of the clock.
    """
    _clock()
    for module in pkgutil.walk_packages(import_module("tare").__path__, "tare."):
        import_module(module.name)
    _hide_extras()
    _dates()
    _threads()
    _agents()
    _kernel_files()
    _programs()
    _calls()
    _held()
    _doctor()
    # Forks need not scan the modules' objects again.
    gc.freeze()


def put_on(tape: Tape) -> None:
    """Have all that follows in this process come from a tape, or be written on it."""
    from tare.experiment import pipeline
    from tare.host import state

    # Only the first session of a user on a machine is warned.
    pipeline._warn_once = lambda *_: None

    _Playing.tape = tape
    state.ROOT = Path("state").absolute()
    tape.live_ns = partial(_since, _live_ns())
    _chance()


_live_ns, _live_sleep = time.monotonic_ns, time.sleep


def _since(begun_ns: int) -> int:
    return _live_ns() - begun_ns


def _clock() -> None:
    """Let time pass by what comes from outside alone, so that it passes alike when it is played."""
    looks = {"at": -1, "times": 0}

    def now_ns() -> int:
        tape = getattr(_Playing, "tape", None)
        if tape is None:
            return 0
        looks["times"] = looks["times"] + 1 if looks["at"] == tape.now_ns else 0
        looks["at"] = tape.now_ns
        if looks["times"] > _MOST_LOOKS:
            raise RuntimeError("the clock stands still: this waits for what is not on the tape")
        return tape.now_ns

    def sleep(seconds: float) -> None:
        if _Playing.tape.recording:
            _live_sleep(seconds)
        _Playing.tape.pass_to(_Playing.tape.now_ns + round(seconds * 1e9))

    def of(start_ns: Callable[[], int]) -> tuple[Callable[..., int], Callable[..., float]]:
        return (lambda *_: start_ns() + now_ns()), (lambda *_: (start_ns() + now_ns()) / 1e9)

    def born_ns() -> int:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        return round(ticks / os.sysconf("SC_CLK_TCK") * 1e9) + 10**9

    time.sleep = sleep
    time.monotonic_ns, time.monotonic = of(lambda: _UPTIME_NS)
    time.perf_counter_ns, time.perf_counter = of(lambda: _UPTIME_NS)
    # This one is asked for the age of the process, which is no part of a tape.
    time.clock_gettime_ns, time.clock_gettime = of(born_ns)
    time.time_ns, time.time = of(lambda: _BEGUN_NS)


def _dates() -> None:
    real = datetime.datetime

    class Moment(real):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return real.fromtimestamp(time.time(), tz)

    datetime.datetime = Moment  # type: ignore[misc]
    _put_in_place_of(real, Moment)


def _threads() -> None:
    """Do one thing after the other, and nothing by the real clock."""

    class OneThread(ThreadPoolExecutor):
        def __init__(self, max_workers: int | None = None, **more: Any) -> None:
            super().__init__(max_workers=1, **more)

    _put_in_place_of(ThreadPoolExecutor, OneThread)
    threading.Timer.start = lambda self: None  # type: ignore[method-assign]


def _chance() -> None:
    """Draw the same orders; names stay drawn by chance, as commands are played side by side."""
    secrets.randbits = random.Random(20_180_614).getrandbits


def _agents() -> None:
    from tare.agent import client as agent

    live = agent.ProcessChannel

    class Recorded(live):  # type: ignore[valid-type, misc]
        """An agent of this machine, whose answers are written down by what was asked."""

        def __init__(self, argv: Any, *, environment: Any = None) -> None:
            super().__init__(argv, environment=environment)
            self._role = _role(argv)
            self._answer = _Playing.tape.note(f"{self._role} begins", [])

        def send(self, line: bytes) -> None:
            job = json.loads(line)
            answer = {"id": job.get("id"), "lines": []}
            _Playing.tape.note(f"{self._role} {_asked(job)}", answer)
            self._answer = answer["lines"]
            super().send(line)

        def receive(self, timeout_s: float | None) -> bytes | None:
            line = super().receive(timeout_s)
            _Playing.tape.pass_to(_Playing.tape.live_ns())
            self._answer.append((_Playing.tape.now_ns, None if line is None else line.decode()))
            return line

    class Played:
        """An agent that answers what was asked as one did, with the same delays."""

        def __init__(self, argv: Any, *, environment: Any = None) -> None:
            self.argv = list(argv)
            self._role = _role(argv)
            self._ready = os.eventfd(1)
            self._lines = deque(_Playing.tape.through(f"{self._role} begins", list))

        def fileno(self) -> int:
            return self._ready

        def send(self, line: bytes) -> None:
            job = json.loads(line)
            answer = _Playing.tape.through(f"{self._role} {_asked(job)}", dict)
            old, new = f'"id":{answer["id"]}', f'"id":{job.get("id")}'
            self._lines = deque(
                (at, None if line is None else re.sub(rf"{old}\b", new, line, count=1))
                for at, line in answer["lines"]
            )

        def receive(self, timeout_s: float | None) -> bytes | None:
            if not self._lines:
                return None
            at, line = self._lines.popleft()
            _Playing.tape.pass_to(at)
            return None if line is None else line.encode()

        def last_words(self) -> str:
            return "the tape ended"

        def close(self) -> None:
            if self._ready >= 0:
                os.close(self._ready)
            self._ready = -1

    def channel(argv: Any, *, environment: Any = None) -> Any:
        kind = Recorded if _Playing.tape.recording else Played
        return kind(argv, environment=environment)

    _put_in_place_of(live, channel)
    _put_in_place_of(agent.digest, lambda: _AGENT)


def _role(argv: Any) -> str:
    return next(word for word in argv if word in ("serve", "observe", "measure"))


def _asked(job: dict[str, Any]) -> str:
    """Name what a job asks, whoever asks it, and wherever."""
    what = _as_recorded({key: value for key, value in job.items() if key not in _BY_CHANCE})
    if isinstance(what.get("workload"), dict):
        what["workload"].pop("environment", None)
    text = _plain_text(json.dumps(what, sort_keys=True))
    return f"{job['job']} {job.get('trial', '')} {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _as_recorded(value: Any) -> Any:
    """Leave out what jobs had not yet when tapes were recorded, where it asks for nothing."""
    if not isinstance(value, dict):
        return value
    return {
        key: _as_recorded(one)
        for key, one in value.items()
        if not (key in _LATER and one in (None, False))
    }


def _plain_text(text: str) -> str:
    return _INCIDENTAL.sub("*", text.replace(str(Path.cwd()), "*"))


def _kernel_files() -> None:
    from tare.host.kernel_files import KernelFiles

    def replace(name: str) -> None:
        live = getattr(KernelFiles, name)

        def method(files: Any, asked: str) -> Any:
            def make() -> Any:
                found = live(files, asked)
                return found.decode("latin-1") if isinstance(found, bytes) else found

            if not files.live:
                return live(files, asked)
            track = _plain_text(f"{name} {asked}")
            found = _Playing.tape.through(track, make, absent=_NOTHING[name])
            return found.encode("latin-1") if name == "content" and found is not None else found

        setattr(KernelFiles, name, method)

    for name in _NOTHING:
        replace(name)


def _programs() -> None:
    live = subprocess.run

    def run(argv: Any, **how: Any) -> subprocess.CompletedProcess[Any]:
        def make() -> list[Any]:
            try:
                done = live(argv, **{**how, "check": False})
            except OSError as error:
                return [None, error.errno, ""]
            return [done.returncode, *(
                text.decode("latin-1") if isinstance(text, bytes) else text or ""
                for text in (done.stdout, done.stderr)
            )]  # fmt: skip

        words = [Path(str(argv[0])).name, *map(str, argv[1:])]
        code, *said = _Playing.tape.through(_plain_text(f"run {' '.join(words)}"), make)
        if code is None:
            raise OSError(said[0], os.strerror(said[0]), argv[0])
        if not (how.get("text") or how.get("encoding")):
            said = [text.encode("latin-1") for text in said]
        if how.get("check") and code:
            raise subprocess.CalledProcessError(code, argv, *said)
        return subprocess.CompletedProcess(argv, code, *said)

    subprocess.run = run  # type: ignore[assignment]


def _calls() -> None:
    def replace(owner: Any, name: str, kept: type = list) -> None:
        live = getattr(owner, name)

        def call(*given: Any) -> Any:
            track = f"call {name} {given or ''}"
            return _as(_Playing.tape.constant(track, lambda: _plain(live(*given))), kept)

        setattr(owner, name, call)

    for name in ("release", "machine", "node", "version"):
        replace(platform, name)
    replace(socket, "gethostname")
    for name in ("geteuid", "getuid", "cpu_count"):
        replace(os, name)
    replace(os, "sched_getaffinity", set)
    use, load = resource.getrusage, os.getloadavg
    resource.getrusage = lambda who: resource.struct_rusage(
        _Playing.tape.through(f"call getrusage {who}", lambda: list(use(who)))
    )
    os.getloadavg = lambda: tuple(_Playing.tape.through("call getloadavg ", lambda: list(load())))


def _held() -> None:
    """Replace the walk through all processes for those that hold something for an instance."""
    from tare.host import processes

    def weight(name: str) -> processes.Weight | None:
        def make() -> Any:
            found = live(name)
            return None if found is None else [part and list(part) for part in found]

        found = _Playing.tape.through(f"weight {name.rpartition('-')[2]}", make)
        if found is None:
            return None
        around, agent = found
        return processes.Weight(processes.Share(*around), agent and processes.Share(*agent))

    live = processes.weight
    processes.weight = weight


def _doctor() -> None:
    """Replace what the doctor asks of the kernel that is in no file."""
    from tare.host import view

    def replace(name: str) -> None:
        live = getattr(view, name)
        setattr(view, name, lambda *given: _Playing.tape.through(
            f"doctor{name}", lambda: live(*given)
        ))  # fmt: skip

    replace("_room")
    replace("_messages")


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, set | frozenset) else value


def _as(value: Any, kind: type) -> Any:
    return kind(value) if isinstance(value, list) else value


def _put_in_place_of(old: Any, new: Any) -> None:
    """Replace a class in every module of tare that was loaded."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "tare":
            for attribute, value in list(vars(module).items()):
                if value is old:
                    setattr(module, attribute, new)
