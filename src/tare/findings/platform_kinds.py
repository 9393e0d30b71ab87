"""What kind a platform and a workload are, in PINNING's words: container or VM, CPU or I/O."""

from __future__ import annotations

from typing import Literal

from tare.findings.cells import measured
from tare.findings.platform_cells import given_cores, reference_of
from tare.results import Results

Kind = Literal["CN", "VM", "VMCN", "other"]
Intensity = Literal["CPU", "I/O", "ultra I/O"]

_CONTAINERS = frozenset({"docker", "podman", "runc", "crun", "nspawn"})
#: CPU time over wall time on the reference with most CPUs: from here on a workload is CPU-bound,
#: and below the other one it hardly computes.
CPU_BOUND, ULTRA = 0.8, 0.3


def kind_of(stack: str) -> Kind:
    """Tell container, virtual machine and container in it apart by the layers of a stack."""
    layers = [layer.split(":")[0] for layer in stack.split("/")]
    inside = any(layer in _CONTAINERS for layer in layers)
    if "vm" in layers:
        return "VMCN" if inside else "VM"
    return "CN" if inside else "other"


def intensities(results: Results) -> dict[str, tuple[Intensity, float]]:
    """Return for each workload what it mostly does, and its CPU time over wall time.

    As it is on the reference at its largest size, vanilla where that was measured: what waits for
    a quota waits for no disk. Workloads without both times are left out.
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
    for wall, cpu in (("wall_ns", "cpu_ns"), ("kernel_wall_ns", "kernel_cpu_ns")):
        times = []
        for metric in (wall, cpu):
            sources = results.sources(metric)
            if not sources:
                break
            rows = measured(results, metric, sources[0])
            times.append(float(rows.loc[rows["trial"].isin(here), "value"].median()))
        if len(times) == 2 and times[0] > 0:
            return times[1] / times[0]
    return None
