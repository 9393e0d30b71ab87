"""A fleet on this machine: hosts in namespaces of a small network, to try one, and for tests."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tare.errors import PlatformError, TareError
from tare.experiment import remnants
from tare.host import lease
from tare.networks.emulator import Emulator

#: The scheduler's, in a namespace that nobody else is in.
PORT = 8786
#: More hosts than this are none that one machine plays.
MOST = 250
#: Until a scheduler or a worker that does not come up is given up.
START_S = 30.0
#: Whatever kills this process, those that it has started are asked to end.
WITH_US = ("setpriv", "--pdeathsig", "TERM", "--")
_CLONE_NEWNET = 0x40000000
#: Until whoever has not ended is killed.
_END_S = 10.0
#: A host whose machine or link is gone is known to be after so long.
SETTINGS = {
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "10s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "12s",
    "DASK_DISTRIBUTED__ADMIN__LOG_LENGTH": "0",
    "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "false",
    # Nothing is shown by HTTP, which whoever reaches a port could read.
    "DASK_DISTRIBUTED__SCHEDULER__HTTP__ROUTES": "[]",
    "DASK_DISTRIBUTED__WORKER__HTTP__ROUTES": "[]",
}


@contextlib.contextmanager
def local(count: int) -> Iterator[tuple[str, Callable[[str], None]]]:
    """Start a scheduler and so many hosts, and be in the scheduler's namespace meanwhile.

    Nobody else is in that network, so nothing in it is encrypted.

    Yields
    ------
    address : str
        The scheduler's.
    drop : callable
        Kills a host by its name: one that is frozen may have others wait for it.

    Raises
    ------
    PlatformError
        If there is no right to make a network, or a host does not come up.
    """
    name = lease.new_name()
    with contextlib.ExitStack() as stack:
        stack.enter_context(remnants.lease(name))
        network = stack.enter_context(Emulator(name, hosts=count + 1))
        here = network.hosts[0]
        assert here.namespace is not None
        address = f"tcp://{here.address}:{PORT}"
        scheduler = _dask(
            "scheduler", "--host", str(here.address), "--port", str(PORT), "--no-dashboard"
        )
        stack.enter_context(_running([*network.enter(1), *scheduler]))
        stack.enter_context(_inside(Path(here.namespace)))
        _await(str(here.address))
        words = (
            "--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0",
            "--death-timeout", "20",
        )  # fmt: skip
        names = [f"host-{number}" for number in range(1, count + 1)]
        workers = [
            [*network.enter(number), *_dask("worker", address, "--name", name, *words)]
            for number, name in enumerate(names, 2)
        ]
        running = dict(zip(names, stack.enter_context(_running(*workers)), strict=True))

        def drop(name: str) -> None:
            # Somebody else may have joined.
            if name in running:
                running[name].kill()

        yield address, drop


def _dask(role: str, *words: str) -> list[str]:
    return [sys.executable, "-m", f"distributed.cli.dask_{role}", *words]


@contextlib.contextmanager
def _running(*commands: Sequence[str]) -> Iterator[Sequence[subprocess.Popen[bytes]]]:
    """Run something as long as it is needed; all is asked to end, and then made to."""
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for argv in commands:
            processes.append(subprocess.Popen(
                [*WITH_US, *argv],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=os.environ | SETTINGS,
                start_new_session=True,
            ))  # fmt: skip
        yield processes
    finally:
        for process in processes:
            process.terminate()
        ends = time.monotonic() + _END_S
        for process in processes:
            try:
                process.wait(max(0.0, ends - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if any(process.returncode == -signal.SIGKILL for process in processes):
            with contextlib.suppress(TareError):
                remnants.cleanup()


@contextlib.contextmanager
def _inside(namespace: Path) -> Iterator[None]:
    """Have this thread, and those that it starts, in a network namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path("/proc/thread-self/ns/net").open("rb") as before, namespace.open("rb") as there:

        def enter(file: int) -> None:
            if libc.setns(file, _CLONE_NEWNET):
                error = os.strerror(ctypes.get_errno())
                raise PlatformError(f"cannot enter {namespace}: {error}", "sudo tare …")

        enter(there.fileno())
        try:
            yield
        finally:
            enter(before.fileno())


def _await(host: str) -> None:
    end = time.monotonic() + START_S
    while True:
        try:
            socket.create_connection((host, PORT), timeout=1).close()
            return
        except OSError as error:
            if time.monotonic() > end:
                raise PlatformError(f"the scheduler does not come up: {error}") from error
            time.sleep(0.05)
