"""Made-up fingerprints: what a machine of known make could have measured."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from tare.experiment.fingerprints.machine.document import (
    Axis,
    Curve,
    Figure,
    Fingerprint,
    Point,
    Problem,
)
from tare.features.machine.fingerprint import page, weights_page
from tare.features.machine.fingerprint.weights import Weights
from tare.registry import Axis as ProbeAxis
from tare.registry import Probe, ProbeMetric, Seconds
from tare.render import files

KIB, MIB = 1 << 10, 1 << 20

#: Single figures: value, unit, prediction, why.
FIGURES: dict[str, tuple[float, str, float | None, str | None]] = {
    "clock.vdso": (18.3, "ns", 14.0, "two fenced reads of the TSC and a page of the kernel's"),
    "clock.tsc": (8.2, "ns", 9.2, "24 cycles at 2.6 GHz"),
    "clock.tsc_fenced": (17.7, "ns", None, None),
    "clock.syscall": (136.0, "ns", None, None),
    "loop.empty": (0.30, "ns", 0.385, "1 cycle at 2.6 GHz; the clock runs at 3.3 GHz in fact"),
    "loop.effective_frequency": (3.31e9, "Hz", 2.6e9, "base; the host lets it run faster"),
    **{f"call.int.{i}": (1.2 + 0.1 * i, "ns", 1.5 + 0.1 * i, "5 cycles") for i in range(8)},
    "branch.mispredict": (4.6, "ns", 4.5, "15 cycles at 3.3 GHz"),
    "memory.latency.l1": (1.22, "ns", 1.21, "4 cycles at 3.3 GHz"),
    "memory.latency.l2": (4.48, "ns", 4.24, "14 cycles at 3.3 GHz"),
    "memory.latency.l3": (17.8, "ns", 13.9, "46 cycles; neighbours of the host share it"),
    "memory.latency.dram": (151.0, "ns", 105.0, "DDR5 behind a die of its own"),
    "memory.cache.l1": (49152.0, "bytes", 49152.0, "sysfs"),
    "memory.cache.l2": (1.1e6, "bytes", 1048576.0, "sysfs"),
    "memory.cache.l3": (2.1e7, "bytes", 33554432.0, "sysfs; others of the host use it, too"),
    **{
        f"memory.bandwidth.{kind}.{n}": (
            2.3e10 * n,
            "B/s",
            None,
            "the hypervisor hides the modules",
        )
        for kind in ("read", "write", "copy", "triad")
        for n in (1, 2)
    },
    "syscall.getpid": (83.0, "ns", 70.0, "entry, exit and retpolines"),
    "syscall.open_close": (870.0, "ns", None, None),
    "process.fork": (75e3, "ns", None, None),
    "process.exec": (0.6e6, "ns", None, None),
    "switch.process": (1100.0, "ns", None, None),
    "switch.thread": (980.0, "ns", None, None),
    "fault.minor": (510.0, "ns", None, None),
    "fault.major": (68e3, "ns", None, None),
    "network.round_trip.tcp_p50": (5.7e3, "ns", None, None),
    "network.round_trip.tcp_p99": (11.2e3, "ns", None, None),
    "network.connect.whole": (15.9e3, "ns", None, None),
    "file.read.random.latency.4096": (
        51e3,
        "ns",
        None,
        "a virtual disk",
    ),
    "noise.lost": (0.031, "1", 0.0, "nothing else should run"),
    "steal.share": (0.012, "1", 0.0, "a host that is not overbooked takes nothing"),
}


def staircase(size: float, page: int) -> float:
    """Latency of a load by size: a cache after another, and the TLB's misses in small pages."""
    steps = ((0, 1.22), (48 * KIB, 3.3), (1.1 * MIB, 13.0), (22 * MIB, 92.0))
    value = sum(rise / (1 + math.exp(-6 * math.log2(size / at))) if at else rise
                for at, rise in steps)  # fmt: skip
    return value * (1 + (0.35 if page == 4096 else 0) / (1 + math.exp(-math.log2(size / 9e6))))


def curve(unit: str, axes: list[tuple[str, str]], places, of, spread: float = 0.02) -> Curve:
    """Make a curve; every third point has no interval."""
    random = np.random.default_rng(7)
    points = []
    for i, at in enumerate(places):
        value = of(*at) * (1 + spread * random.standard_normal() / 3)
        ci = None if i % 3 == 2 else (value * (1 - spread), value * (1 + spread))
        points.append(Point(at=tuple(at), value=value, ci=ci, n=7))
    return Curve(unit=unit, axes=tuple(Axis(name=n, unit=u) for n, u in axes), points=tuple(points))


def curves(cpus: int = 2) -> dict[str, Curve]:
    """Make every curve and map that the page knows, and one that it does not."""
    sizes = [int(2 ** (k / 4)) for k in range(40, 113)]
    blocks = [4096 << k for k in range(0, 9)]
    return {
        "memory.latency": curve(
            "ns", [("size_bytes", "bytes"), ("page_bytes", "bytes")],
            [(s, p) for s in sizes for p in (4096, 2 * MIB)], staircase,
        ),
        "cores.latency": curve(
            "ns", [("from", "1"), ("to", "1")],
            [(a, b) for a in range(cpus) for b in range(a + 1, cpus)],
            lambda a, b: 45 if a // 8 == b // 8 else 110 if a // 64 == b // 64 else 210, 0.1,
        ),
        "memory.bandwidth.by_size": curve(
            "B/s", [("size_bytes", "bytes")], [(s,) for s in sizes[12::2]],
            lambda s: 12e10 if s < 48 * KIB else 6e10 if s < MIB else 2e10,
        ),
        **{
            name: curve(unit, [("cpu", "1")], [(c,) for c in range(cpus)], lambda c, v=v: v + c)
            for name, unit, v in (("noise.share", "1", 0.03), ("noise.rate", "Hz", 250.0),
                                  ("noise.longest", "ns", 2.7e7))
        },
        "network.bandwidth": curve(
            "B/s", [("message_bytes", "bytes")], [(64 << k,) for k in range(12)],
            lambda m: 3.4e9 * m / (m + 9000),
        ),
        "file.read": curve(
            "B/s", [("block_bytes", "bytes"), ("random", "1")],
            [(b, r) for b in blocks for r in (0, 1)], lambda b, r: b / (4.8e-5 + b / 2.5e9),
        ),
        "file.contention": curve(
            "ns", [("readers", "1")], [(n,) for n in range(10)], lambda n: 5.1e4 * (1 + 0.4 * n)
        ),
        "cpu.frequency.ramp": curve(
            "Hz", [("after_ns", "ns")], [(50_000 * k,) for k in range(1, 90)],
            lambda t: 3.3e9 - 0.9e9 * math.exp(-t / 8e5),
        ),
        "cpu.frequency.steady": curve(
            "Hz", [("cpus", "1")], [(n,) for n in range(1, cpus + 1)], lambda n: 3.3e9 - 1e7 * n
        ),
        "noise.length": curve(
            "1", [("cpu", "1"), ("length_ns", "ns")],
            [(c, 1000 << k) for c in range(cpus) for k in range(10)],
            lambda c, length: 4000 * (1000 / length) ** 1.2 + (90 if length == 8000 else 0),
        ),
        "cpu.credit": curve(
            "Hz", [("second_s", "s")], [(s,) for s in range(150)],
            lambda s: 3.3e9 if s < 110 else 0.9e9,
        ),
        "memory.tlb": curve(
            "ns", [("pages", "1"), ("page_bytes", "bytes")],
            [(16 << k, p) for k in range(11) for p in (4096, 2 * MIB)],
            lambda n, p: 1.3 + (2.1 if n > 96 else 0) + (9 if n > 4096 and p == 4096 else 0),
        ),
        **{
            f"memory.stride.{order}": curve(
                "ns", [("size_bytes", "bytes"), ("stride_bytes", "bytes")],
                [(16 * KIB << 2 * k, s) for k in range(8) for s in (64, 128, 256, 512, 4096)],
                lambda size, s, part=part: staircase(size, 4096) * min(1, part * s / 512),
            )
            for order, part in (("sequential", 1), ("random", 8))
        },
        "unheard.of": curve("1", [("thing", "1")], [(k,) for k in range(5)], lambda k: 2.0 * k),
    }  # fmt: skip


def make(cpus: int = 2, only: str | None = None, rounds: int = 9) -> Fingerprint:
    """Make a fingerprint, of every metric or of those that begin with a name."""

    def wanted(name: str) -> bool:
        return only is None or name.startswith(only)

    random = np.random.default_rng(3)
    metrics = {}
    for name, (value, unit, predicted, why) in FIGURES.items():
        if wanted(name):
            values = value * (1 + 0.02 * random.standard_normal(rounds))
            ci = (float(values.min()), float(values.max())) if rounds > 5 else None
            metrics[name] = Figure(
                value=float(np.median(values)), ci=ci, unit=unit, n=rounds, predicted=predicted,
                sd=float(values.std(ddof=1)), why=why, values=tuple(map(float, values)),
            )  # fmt: skip
    return Fingerprint(
        tare="0.1.0",
        agent="0" * 64,
        started="2026-11-21T17:00:00Z",
        seconds=52.0,
        effort="quick",
        platform="bare",
        metrics=metrics,
        curves={name: c for name, c in curves(cpus).items() if wanted(name)},
        facts={
            "cpu": "AMD EPYC", "microarchitecture": "Zen 5", "hypervisor": "KVM", "cpus": cpus,
            "memory_bytes": 25276510208, "tsc_hz": 2596100000, "kernel": "6.12.0",
            "l1_bytes": 49152, "l2_bytes": 1048576, "l3_bytes": 33554432, "disk": "vda",
            "disk_kind": "virtual", "clock_source": "tsc", "huge_pages": "madvise",
        },
        problems=()
        if only
        else (
            Problem(probe="file.read", why="no remote directory was given: --remote DIR"),
            Problem(probe="cpu.smt", why="no core has two threads here"),
        ),
    )  # fmt: skip


def probes() -> dict[str, Probe]:
    """Make what probes would say of themselves."""
    names = {n.rsplit(".", 1)[0] if n.count(".") > 1 else n.split(".")[0] for n in FIGURES}
    return {
        name: Probe(
            name=name,
            title=f"the probe {name}",
            question=f"What of {name}?",
            source=None,
            metrics=tuple(
                ProbeMetric(
                    name=metric, unit="ns", meaning=f"what {metric} is; least of windows",
                    axes=(ProbeAxis(name="size_bytes", unit="bytes", meaning="memory used"),),
                    listed=False, better="lower", margin=0.1,
                )
                for metric in FIGURES
                if metric.startswith(name)
            ),
            seconds=Seconds(brief=None, quick=0.1, whole=0.2),
            repeats=True,
            needs=(),
        )
        for name in sorted(names)
    }  # fmt: skip


def write(found: Fingerprint | Weights, file: Path) -> None:
    """Write what ``tare fingerprint --json`` would."""
    made = (
        page.make(found, {}, "tare fingerprint", paged=False)
        if isinstance(found, Fingerprint)
        else weights_page.make(found, "tare fingerprint", paged=False)
    )
    file.write_text(files.encode(made))
