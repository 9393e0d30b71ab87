"""What kind a platform and a workload are, in PINNING's words: container or VM, CPU or I/O."""

from __future__ import annotations

from typing import Literal

from tare.experiment.findings.cells import measured
from tare.experiment.findings.platform_cells import given_cores, reference_of
from tare.experiment.metrics import ranked
from tare.experiment.results import Results

Kind = Literal["CN", "VM", "VMCN", "other"]
Intensity = Literal["CPU", "I/O", "ultra I/O"]

_CONTAINERS = frozenset({"docker", "podman", "runc", "crun", "nspawn"})
#: Share of the wall time that a workload computes or waits for a CPU, on the reference with most
#: CPUs: from here on it is CPU-bound, and below the other one it hardly computes.
CPU_BOUND, ULTRA = 0.8, 0.3


def kind_of(stack: str) -> Kind:
    """Tell container, virtual machine and container in it apart by the layers of a stack."""
    layers = [layer.split(":")[0] for layer in stack.split("/")]
    inside = any(layer in _CONTAINERS for layer in layers)
    if "vm" in layers:
        return "VMCN" if inside else "VM"
    return "CN" if inside else "other"


def intensities(results: Results) -> dict[str, tuple[Intensity, float]]:
    """Return for each workload what it mostly does, and which share of its time it computes.

    As it is on the reference at its largest size, unpinned where that was measured: what waits for
    a quota waits for no disk, and neither does what waits for a CPU that others have. Workloads
    without CPU and wall time are left out.
    """
    bare = reference_of(results)
    found: dict[str, tuple[Intensity, float]] = {}
    for workload in results.trial_table["workload"].unique():
        share = _share(results, str(workload), bare)
        if share is not None:
            kind: Intensity = "CPU" if share >= CPU_BOUND else "I/O"
            found[str(workload)] = ("ultra I/O" if share < ULTRA else kind, share)
    return found


def _share(results: Results, workload: str, bare: str | None) -> float | None:
    trials = results.trial_table
    good = trials[
        (trials["workload"] == workload)
        & (trials["platform"] == bare)
        & (trials["status"] == "ok")
        & (trials["load"] == "none")
    ]
    if good.empty:
        return None
    cells = good.drop_duplicates("cell").to_dict("records")
    largest = max(
        cells,
        key=lambda c: (
            given_cores(results, {str(k): v for k, v in c.items()}) or 0,
            c.get("pinning") == "none",
        ),
    )
    here = set(good.loc[good["cell"] == largest["cell"], "trial"])
    waits = _median(results, "wait_ns", here) or 0.0
    for wall, cpu in (("wall_ns", "cpu_ns"), ("kernel_wall_ns", "kernel_cpu_ns")):
        lasts, computes = _median(results, wall, here), _median(results, cpu, here)
        if lasts and computes is not None:
            return computes / lasts if computes > lasts else min(1.0, (computes + waits) / lasts)
    return None


def _median(results: Results, metric: str, trials: set[int]) -> float | None:
    """Return the median of a metric over trials, by the best source that they have."""
    rows = results.sample_table
    rows = rows[rows["trial"].isin(trials) & (rows["metric"] == metric)]
    for source in ranked(metric, set(rows["source"])):
        values = measured(results, metric, source)
        return float(values.loc[values["trial"].isin(trials), "value"].median())
    return None
