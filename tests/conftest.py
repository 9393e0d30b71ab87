"""No test asserts how long anything takes, generated examples included."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
import math
import os
import re
import resource
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import private_state
import pytest
import typed
import vega_lite
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tare.host import state
from tare.render import drawing

ROOT = Path(__file__).parents[1]
#: In root's or the user's folder of state, where others cannot write.
LOCK = "tests.lock"
_MARKED = re.compile(r"\bpytest\.mark\.machine\b")

# Whoever starts them in the background has them ignore what some tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

settings.register_profile("tare", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tare")
# Before modules of charts import it.
drawing.styled = vega_lite.validated(drawing.styled)


@pytest.fixture(scope="session", autouse=True)
def hints_can_be_typed() -> Iterator[None]:
    """Check the hints that processes print, as those of tare do."""
    communicate = subprocess.Popen.communicate

    def checked(process: subprocess.Popen[Any], *args: Any, **given: Any) -> tuple[Any, Any]:
        output = communicate(process, *args, **given)
        for text in output:
            typed.check(text.decode(errors="replace") if isinstance(text, bytes) else text or "")
        return output

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess.Popen, "communicate", checked)
        yield


_BEFORE = pytest.StashKey[float]()
_MACHINE = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--costs", type=Path, help="write seconds of each test file there, as JSON")
    parser.addoption("--deadline", type=float, help="seconds after which no test file starts")
    parser.addoption("--isolate", type=Path, help="folder of isolate's source, to be built")


def pytest_configure(config: pytest.Config) -> None:
    is_worker = hasattr(config, "workerinput")
    if config.option.costs and not is_worker:
        config.pluginmanager.register(_Costs(config.option.costs))
    # The process that only distributes tests runs none.
    if is_worker or not config.getoption("numprocesses", None):
        folder = state.folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Opened before it is hidden: it is shared by all processes and checkouts.
        lock = (folder / LOCK).open("w")
        config.add_cleanup(lock.close)
        config.stash[_MACHINE] = lock.fileno()
        if private_state.is_possible():
            private = contextlib.ExitStack()
            private.enter_context(private_state.entered())
            config.add_cleanup(private.close)


class _Costs:
    """Counts outcomes, and sums wall and CPU seconds, of the tests of each file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: dict[str, dict[str, Any]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        file = self._files.setdefault(
            report.nodeid.partition("::")[0],
            {"passed": 0, "failed": 0, "skipped": {}, "wall_s": 0.0, "cpu_s": 0.0},
        )
        file["wall_s"] = round(file["wall_s"] + report.duration, 3)
        file["cpu_s"] = round(file["cpu_s"] + getattr(report, "cpu_s", 0.0), 3)
        if report.failed:
            file["failed"] += 1
        elif report.skipped and isinstance(report.longrepr, tuple):
            reason = report.longrepr[2].removeprefix("Skipped: ")
            file["skipped"][reason] = file["skipped"].get(reason, 0) + 1
        elif report.when == "call":
            file["passed"] += 1

    def pytest_sessionfinish(self) -> None:
        self._path.parent.mkdir(exist_ok=True)
        # Of files that this run left out, the costs of earlier runs are kept.
        with contextlib.suppress(OSError):
            self._files = json.loads(self._path.read_text(encoding="utf-8")) | self._files
        text = json.dumps(self._files, indent=1, sort_keys=True)
        self._path.write_text(text + "\n", encoding="utf-8")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Note the CPU time of a phase."""
    report = yield
    now = _cpu_s()
    report.cpu_s = now - item.stash[_BEFORE]
    item.stash[_BEFORE] = now
    return report


def _cpu_s() -> float:
    """Return the CPU time of this process, of its children, and of all that those waited for."""
    used = sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )
    for pid in Path("/proc/thread-self/children").read_text(encoding="utf-8").split():
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            used += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return used


@functools.cache
def needs_the_machine(file: str) -> bool:
    """Return whether tests of a file are marked ``machine``."""
    return bool(_MARKED.search((ROOT / file).read_text(encoding="utf-8")))


class _Files(LoadScopeScheduling):
    """Keeps the tests of a file together, and those that need the machine in one process.

    What a file has set up for all its tests is expensive. Where processes cannot be given state of
    their own, each test of real sessions needs the machine. xdist's own groups are silently ignored
    where pytest is newer than it.
    """

    _is_shared = not private_state.is_possible()

    def __init__(self, config: pytest.Config, log: Producer | None) -> None:
        super().__init__(config, log)
        self._ends = time.monotonic() + (config.option.deadline or math.inf)
        #: Test files that were not started before the deadline.
        self.left: list[str] = []

    def _reschedule(self, node: WorkerController) -> None:
        if time.monotonic() > self._ends:
            self.left += self.workqueue
            self.workqueue.clear()
        super()._reschedule(node)

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        if needs_the_machine(file) or (self._is_shared and _is_of_sessions(file)):
            return "machine"
        # Tests there share nothing, and one file of them would keep a process busy for an hour.
        return nodeid if file.startswith("tests/slow/") else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer | None) -> _Files:
    config.option.loadscopereorder = False  # the order is that of the collection, below
    return _Files(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that no process is left with it at the end.

    With a deadline, the first files of the command line are the most important ones.
    """
    if not config.option.deadline:
        items.sort(key=lambda item: _place(item.nodeid.partition("::")[0]))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    scheduler = getattr(config.pluginmanager.getplugin("dsession"), "sched", None)
    if isinstance(scheduler, _Files) and scheduler.left:
        terminalreporter.write_line(
            f"deadline: {len(scheduler.left)} more test files are left to make test"
        )


def _place(file: str) -> int:
    if needs_the_machine(file):
        return 0
    return 1 if _is_of_sessions(file) or file.startswith("tests/golden/") else 2


def _is_of_sessions(file: str) -> bool:
    return file.startswith(("tests/system/", "tests/slow/"))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Lock the machine for a test that needs it; waiting does not count as its time."""
    item.stash[_BEFORE] = _cpu_s()
    if item.get_closest_marker("machine") is None:
        return (yield)
    lock = item.config.stash[_MACHINE]
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        return (yield)
    finally:
        fcntl.flock(lock, fcntl.LOCK_UN)
