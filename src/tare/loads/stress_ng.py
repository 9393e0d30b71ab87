"""stress-ng beside the trials: any of its stressors, at any intensity."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path

from tare.agent import record
from tare.errors import PlatformError, Typed
from tare.host import lease, processes, programs
from tare.host.lease import Remnant
from tare.loads.load import Load, Parameters, Running
from tare.registry import Description, Parameter, words

#: How long it may take to have all its workers at work.
START_S = 20.0
#: CPU time after which a worker has asked the kernel to end it with its parent: one that was just
#: forked would survive. And how long that is waited for at most, as workers that sleep do not run.
RAN_NS, RUN_S = 1_000_000, 0.5
#: It ends within some 10 ms when asked; what takes longer is killed.
END_S = 2.0


class StressNg(Load):
    """A stressor of stress-ng, unmeasured, on the host."""

    description = Description(
        name="stress-ng",
        title="a stressor of stress-ng",
        question="Do the times hold when something else keeps the machine busy?",
        parameters=(
            Parameter(
                name="stressor",
                meaning="a stressor's name; cpu and memcpy are those of STABILITY",
                default="cpu",
            ),
            Parameter(
                name="workers",
                meaning="processes of the stressor; 0: one per CPU",
                default=0,
                minimum=0,
                maximum=4096,
            ),
            Parameter(
                name="extra",
                meaning="further options of stress-ng, as on a command line: --cpu-load 40",
                default="",
            ),
        ),
        source="stress-ng(1)",
    )

    def check(self, parameters: Parameters) -> None:
        """See that stress-ng is there and knows the stressor."""
        if shutil.which("stress-ng") is None:
            raise PlatformError("stress-ng is not installed", Typed("sudo apt install stress-ng"))
        if shutil.which("setpriv") is None:
            raise PlatformError("setpriv is not installed", Typed("sudo apt install util-linux"))
        arguments(parameters)
        command = ["stress-ng", "--stressors"]
        known = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
        if known and parameters["stressor"] not in known:
            raise PlatformError(
                f"stress-ng has no stressor {parameters['stressor']!r}",
                Typed("stress-ng --stressors"),
            )

    def start(self, parameters: Parameters, name: str, user: record.User | None = None) -> Running:
        """Start it, and return when its workers are there."""
        self.check(parameters)
        workers = parameters["workers"] or len(os.sched_getaffinity(0))
        return _Stress(arguments({**parameters, "workers": workers}), workers, name, user)

    def remnants(self) -> list[Remnant]:
        """Every stress-ng of this user that works in a directory named by tare."""
        return [
            Remnant(p.name, f"process {p.pid} (stress-ng)", partial(processes.kill, p))
            for p in processes.named("--temp-path")
            # Those of a user who called sudo are root's to end: their lease is.
            if p.user == os.geteuid() or lease.session_of(p.name) in lease.sessions()
        ]


def arguments(parameters: Parameters) -> list[str]:
    """Return stress-ng's options for a load.

    Raises
    ------
    PlatformError
        If there can be no such stressor.
    ExperimentError
        If ``extra`` is no command line.
    """
    stressor = parameters["stressor"]
    if not re.fullmatch(r"[a-z][a-z0-9-]*", stressor):
        raise PlatformError(f"{stressor!r} cannot be a stressor", Typed("stress-ng --stressors"))
    extra = words("extra", parameters["extra"])
    return [f"--{stressor}", str(parameters["workers"]), *extra]


class _Stress:
    """A stress-ng that was started."""

    def __init__(
        self, options: list[str], workers: int, name: str, user: record.User | None
    ) -> None:
        # The directory is for its files, and its name on the command line says whose it is.
        # Anybody may know the name by now, and make something of it.
        self._folder = Path(tempfile.mkdtemp(prefix=f"{name}."))
        if user is not None:
            os.chown(self._folder, user.uid, user.gid)
        self._workers = workers
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        # It has no stream to end with: the kernel kills it with us, and its workers with it.
        leash = ["setpriv", "--pdeathsig", "KILL", *programs.rights(user), "--"]
        leash += ["stress-ng", "--keep-name"]
        self._process = subprocess.Popen(
            [*leash, "--temp-path", str(self._folder), "--timeout", "0", *options],
            stdin=subprocess.DEVNULL,
            stdout=self._errors,
            stderr=self._errors,
            start_new_session=True,
        )
        deadline = time.monotonic() + START_S
        try:
            while self._children() < self._workers:
                self._ended()
                if time.monotonic() > deadline:
                    raise PlatformError(
                        f"stress-ng has {self._children()} of {self._workers} workers "
                        f"after {START_S:g} s: {self._said()}"
                    )
                time.sleep(0.001)
            deadline = time.monotonic() + RUN_S
            while self._children(RAN_NS) < self._workers and time.monotonic() < deadline:
                time.sleep(0.001)
        except BaseException:
            self.stop()
            raise

    def check(self) -> None:
        """Raise PlatformError if it, or one of its workers, has ended."""
        self._ended()
        if (left := self._children()) < self._workers:
            raise PlatformError(
                f"only {left} of stress-ng's {self._workers} workers still run: {self._said()}"
            )

    def stop(self) -> None:
        """Ask it to end, then kill its group."""
        if self._errors.closed:
            return
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S)
        self._kill_group()
        self._process.wait()
        self._errors.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _kill_group(self) -> None:
        """Kill what is left of its group, and wait until nothing is: no trial may meet it."""
        deadline = time.monotonic() + END_S
        with contextlib.suppress(ProcessLookupError):
            while time.monotonic() < deadline:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.poll()
                time.sleep(0.001)

    def _ended(self) -> None:
        code = self._process.poll()
        if code is not None:
            raise PlatformError(f"stress-ng ended by itself (exit code {code}): {self._said()}")

    def _children(self, ran_ns: int = 0) -> int:
        return processes.children(self._process.pid, ran_ns)

    def _said(self) -> str:
        # Read without moving the position, which is stress-ng's as well.
        file = self._errors.fileno()
        said = os.pread(file, 1000, max(0, os.fstat(file).st_size - 1000))
        return said.decode(errors="replace").strip() or "it said nothing"


UNIT = StressNg()
