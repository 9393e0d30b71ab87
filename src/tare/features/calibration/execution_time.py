"""How long one execution takes, before a sweep of them is begun."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tare.cli.command_line import folder_in_memory
from tare.errors import TrialError
from tare.experiment.session import Silent
from tare.experiment.specification import Experiment, Stopping
from tare.features.calibration.sweep import LINPACK, SIZE, linpack_flop
from tare.workloads.specification import WorkloadSpec

#: LINPACK is tried at no larger size: its operations say how long a larger one takes.
_LARGEST = 2000
#: Executions of it, of which the fastest counts: the first one wakes the machine up.
_TRIED = 3
_METRICS = ("kernel_wall_ns", "wall_ns")
_HINT = "execute it with tare run, which shows the end of its standard error"


def execution_s(found: Experiment, workload: WorkloadSpec, *, as_root: bool) -> float:
    """Execute a workload of a sweep once, without a quota, and return about how long it takes.

    Raises
    ------
    TrialError
        If it fails.
    """
    from tare.experiment import pipeline

    scale, trials = 1.0, 1
    size = int(workload.parameters.get("size", SIZE))
    if workload.kernel == LINPACK:
        # Its residual is left to the sweep, which keeps what it says of it.
        tried, trials = {"size": min(size, _LARGEST)}, _TRIED
        # By one thread: of small systems, threads that share a solve would mostly wait.
        threads = int(workload.parameters.get("threads", 1))
        scale = linpack_flop(size) / linpack_flop(tried["size"]) / threads
        workload = msgspec.structs.replace(workload, parameters=tried)
    pilot = msgspec.structs.replace(
        found,
        workloads=(workload,),
        factors={"platform": found.factors["platform"]},
        sizes={},
        instances="own",
        window=None,
        stopping=Stopping(trials=trials, budget_s=None),
        fingerprint=False,
    )
    with folder_in_memory() as folder:
        try:
            pipeline.execute(pipeline.check(pilot), folder, Silent(), as_root=as_root)
        except TrialError as error:
            # Its own hint names a folder that is gone by now.
            raise TrialError(f"one execution was tried: {error.message}", _HINT) from error
        return scale * _measured_s(folder)


def _measured_s(folder: Path) -> float:
    from tare.agent import record
    from tare.experiment import journal

    lines = [line for line in journal.read_all(folder) if isinstance(line, record.Sample)]
    for metric in _METRICS:
        if known := [float(line.value) for line in lines if line.metric == metric]:
            return min(known) / 1e9
    raise TrialError("one execution was tried, and nothing was measured of it")
