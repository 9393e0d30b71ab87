"""The instances of a task set's session: what they are given, and the programs that run in them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import msgspec

from tare import platforms, workloads
from tare.agent import record
from tare.errors import AgentError, TrialError
from tare.experiment.placement import Machine
from tare.experiment.session import needed, single_execution
from tare.experiment.session.answers import PendingAnswer, ask
from tare.experiment.session.files import placed, seen_inside
from tare.experiment.session.pool import Pool, keys_of
from tare.experiment.session.recorded_session import RecordedSession
from tare.experiment.session.resident import Key, Resident
from tare.experiment.session.trial_job import limits_of
from tare.experiment.session.window import GRACE_S
from tare.experiment.specification import WHOLE_SIZE, Cell
from tare.features.tasks import checker, checks, hiding
from tare.features.tasks.lanes import Lane, Running, Work
from tare.features.tasks.specification import (
    EXPECTED,
    MOST_OUTPUT_BYTES,
    OUTPUT,
    TASK,
    Plan,
    Task,
)
from tare.platforms import session_folder
from tare.workloads.specification import Enforced

#: An instance in whose memory a program leaves more is ended.
LEFT_BYTES = 1 << 20
#: Memory of an instance's own processes besides the program, in bytes.
OWN_BYTES = 16 << 20


class Instances:
    """Starts programs and checkers in instances that are kept from run to run.

    Parameters
    ----------
    plan : Plan
    results : Path
        Folder of the results.
    machine : Machine
    user : User or None
        As whom programs run; None: as who runs this.
    lanes : sequence of Lane
        What is at work in them keeps its instance.
    session : RecordedSession
    stack : ExitStack
        Ends all instances when it is closed.
    """

    def __init__(
        self,
        plan: Plan,
        results: Path,
        machine: Machine,
        user: record.User | None,
        lanes: Sequence[Lane],
        session: RecordedSession,
        stack: ExitStack,
    ) -> None:
        self._plan = plan
        self._user = user
        self._lanes = lanes
        self._nonce = session.nonce
        shared = stack.enter_context(session_folder.made(session.name))
        #: Folder of outputs while a checker reads them; instances cannot see it.
        self._outputs = shared.parent
        self._shared = str(shared)
        #: Identity of each program and of the checker, which a program may replace while the set
        #: runs.
        self._programs = {path: _identity(path) for path in plan.programs}
        #: Copies of inputs, by the inputs, where sandboxes are shown these.
        self._copies = (
            hiding.copy(plan.tasks, shared) if hiding.copied(plan.cells, plan.tasks) else {}
        )
        self._pool = Pool(
            session.name, self._shared, plan.experiment, machine.memory_bytes,
            _files(plan, copied=bool(self._copies)), session.keep, None, user,
            hiding.write_list(plan.tasks, shared, results, user),
            _sandbox_bytes(plan),
        )  # fmt: skip
        stack.callback(self._pool.close)
        #: Environment that each workload inherits, by its name.
        self._environment = {
            cell.workload.name: workloads.inherited(cell.workload.inherit, os.environ)
            for cell in plan.cells
        }
        #: Bytes of files in the memory of each instance before its first run, by its name.
        self._files_bytes: dict[str, int] = {}

    def start(self, lane: Lane, work: Work, run: int, began_ns: int) -> Running:
        """Start the program of a run.

        Raises
        ------
        AgentError, PlatformError
            If its platform cannot be started, or its agent is gone.
        TrialError
            If a program was changed.
        """
        cell, task = self._plan.cells[work.cell], self._plan.tasks[work.task]
        [key] = keys_of(self._plan.experiment, cell, (lane.cpus,))
        resident = self._resident(key)
        if resident.place.name not in self._files_bytes:
            self._files_bytes[resident.place.name] = _files_bytes(resident)
        limit_bytes = self._output_bytes(cell.workload.enforce, task)
        command = msgspec.structs.replace(
            self._command(cell, task.input, resident.instance.shared),
            capture=record.Capture(limit_bytes=limit_bytes),
        )
        limit_s = cell.workload.timeout_s
        assert limit_s is not None
        pending = self._execute(resident, command, run, limit_s, cell.workload.enforce)
        return Running(work, pending, run, limit_bytes, began_ns=began_ns)

    def check(self, lane: Lane, work: Work, run: int, output: bytes) -> Running:
        """Start the checker on the output of a run, on this machine and the CPUs of a lane.

        Raises
        ------
        AgentError, PlatformError
            If the agent cannot be started, or is gone.
        TrialError
            If the checker was changed.
        """
        asked, task = self._plan.set, self._plan.tasks[work.task]
        assert asked.checker is not None
        # The measured program cannot find it, as no other user can list the folder.
        kept = self._outputs / secrets.token_hex(16)
        kept.write_bytes(output)
        kept.chmod(0o644)
        given = {TASK: task.input, OUTPUT: str(kept)}
        if task.expected is not None:
            given[EXPECTED] = task.expected
        key = Key(
            "bare", WHOLE_SIZE, "none", None, self._plan.experiment.quota_period_s, (0,),
            (lane.cpus,),
        )  # fmt: skip
        resident = self._resident(key)
        command = checker.command(asked.checker, given)
        pending = self._execute(resident, command, run, asked.checker_timeout_s)
        return Running(work, pending, run, 0, kept=kept)

    def finish(self, resident: Resident) -> None:
        """End an instance after a run where the next one is not to find it."""
        if self._plan.experiment.fresh == "trial" or self._has_grown(resident):
            self._pool.discard([resident])

    def lose(self, resident: Resident) -> None:
        """End an instance whose agent may hang or still run an abandoned task."""
        self._pool.discard([resident], lost=True)

    def _resident(self, key: Key) -> Resident:
        """Return an instance that no other lane uses."""
        self._check_programs()
        busy = [key for lane in self._lanes for key in lane.busy]
        return self._pool.get_all(key.platform, [key], busy)[0]

    def _output_bytes(self, enforced: Enforced | None, task: Task) -> int:
        """Return how much of a program's output is kept."""
        if self._plan.set.checker is not None:
            given = None if enforced is None else enforced.output_bytes
            return min(MOST_OUTPUT_BYTES, given or MOST_OUTPUT_BYTES)
        if task.expected is None:
            return 0
        path = Path(task.expected)
        # A missing file is reported where the output is compared.
        return checks.capture_bytes(path.stat().st_size if path.exists() else 0)

    def _command(self, cell: Cell, task: str, inside: str) -> record.Command:
        if hiding.shows_inputs(cell.platform):
            task = self._copies.get(task, task)
        job = workloads.job(
            cell.workload, {**cell.levels(), TASK: task}, repetitions=None,
            seed=self._plan.experiment.seed, surroundings=self._environment[cell.workload.name],
        )  # fmt: skip
        assert isinstance(job, record.Command)
        job = placed(job, cell.platform, self._plan.experiment.platforms)
        return seen_inside(job, self._shared, inside)

    def _execute(
        self,
        resident: Resident,
        command: record.Command,
        run: int,
        limit_s: float,
        enforced: Enforced | None = None,
    ) -> PendingAnswer:
        """Give a command to an instance's agent; without it, the instance is ended."""
        job = single_execution.job(
            resident.agent.next_id(), command, self._user if resident.instance.users else None,
            trial=run, limit_s=limit_s, nonce=self._nonce, limits=limits_of(enforced),
            # An instance that is a machine of its own numbers its CPUs itself.
            cpus=resident.cpus[0] if resident.instance.shares_memory else None,
            linger_s=self._plan.experiment.linger_s,
        )  # fmt: skip
        try:
            return ask(resident, job, GRACE_S + limit_s)
        except AgentError:
            self.lose(resident)
            raise

    def _check_programs(self) -> None:
        """End the set where a program or the checker was changed since it began."""
        for path, before in self._programs.items():
            if _identity(path) != before:
                raise TrialError(
                    f"{path} was changed while the set ran; what had ended before is kept",
                    "keep programs and checker where the measured programs cannot write",
                )

    def _has_grown(self, resident: Resident) -> bool:
        """Return whether programs left files in the memory of their instance.

        They would count as memory of the programs after them.
        """
        return _files_bytes(resident) - self._files_bytes[resident.place.name] > LEFT_BYTES


def _sandbox_bytes(plan: Plan) -> int | None:
    """Return how much memory the kernel gives a sandbox where runs are limited; None: all.

    Within, pages are counted that processes have resident: not those of a memfd or of a file in
    memory. Only root can hold a sandbox.
    """
    enforced = [cell.workload.enforce for cell in plan.cells]
    limits = [one.memory_bytes if one is not None else None for one in enforced]
    known = [limit for limit in limits if limit is not None]
    if os.geteuid() != 0 or len(known) < len(limits):
        return None
    return max(known, default=0) + OWN_BYTES


def _identity(path: str) -> tuple[int, ...] | None:
    """Return device, inode, size and change time of a file; None where there is none."""
    try:
        about = Path(path).stat()
    except OSError:
        return None
    return about.st_dev, about.st_ino, about.st_size, about.st_ctime_ns


def _files_bytes(resident: Resident) -> int:
    """Return what files take in the memory of an instance; 0 where only root could know."""
    pid = resident.instance.host_pid
    if pid is None or os.geteuid() != 0:
        return 0
    found = 0
    for name in ("tmp", "dev/shm"):
        with suppress(OSError):
            path = Path(f"/proc/{pid}/root/{name}")
            # Otherwise it is the machine's.
            if path.stat().st_dev != Path("/", name).stat().st_dev:
                about = os.statvfs(path)
                found += (about.f_blocks - about.f_bfree) * about.f_frsize
    return found


def _files(plan: Plan, *, copied: bool) -> tuple[str, ...]:
    """Return what commands need: their programs, and the tasks' folders or, in machines, files."""
    programs = needed(plan.cells, os.environ)
    if copied:
        tasks = {task.input for task in plan.tasks}
        programs = tuple(file for file in programs if file not in tasks)
    machines = any(not platforms.shares_memory(cell.platform) for cell in plan.cells)
    inputs = [task.input if machines else str(Path(task.input).parent) for task in plan.tasks]
    if copied and not machines:
        inputs = []
    return tuple(dict.fromkeys((*programs, *inputs)))
