"""No test asserts how long anything takes, generated examples included."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from tare.host import state
from tare.render import drawing

ROOT = Path(__file__).parents[1]
#: Beside the leases: who shares those, shares the machine. Others cannot write there.
LOCK = "tests.lock"
_MARKED = re.compile(r"\bpytest\.mark\.machine\b")

# Whoever starts them in the background has them ignore what some tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

settings.register_profile("tare", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tare")
drawing.CHECKS = True


@functools.cache
def holds_the_machine(file: str) -> bool:
    """Return whether tests of a file are marked ``machine``."""
    return bool(_MARKED.search((ROOT / file).read_text(encoding="utf-8")))


class _OneMachine(LoadScopeScheduling):
    """Gives tests that hold the machine to one process, so that none waits for their lock.

    A file is kept together, since what it has set up for all its tests is expensive. xdist's own
    groups come to nothing, without a word, where pytest is newer than it.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        if holds_the_machine(file):
            return "machine"
        return nodeid if file.startswith("tests/golden/") else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> _OneMachine:
    config.option.loadscopereorder = False  # the order is that of the collection, below
    return _OneMachine(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that no process is left with it at the end."""
    items.sort(key=lambda item: _place(item.nodeid.partition("::")[0]))


def _place(file: str) -> int:
    if holds_the_machine(file):
        return 0
    return 1 if file.startswith(("tests/system/", "tests/golden/")) else 2


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Hold the machine for a test that asks for it; waiting does not count as its time."""
    with _held() if item.get_closest_marker("machine") else contextlib.nullcontext():
        return (yield)


@contextlib.contextmanager
def _held() -> Iterator[None]:
    """Wait for another run of these tests, of this checkout or of another one."""
    folder = state.folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / LOCK).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
