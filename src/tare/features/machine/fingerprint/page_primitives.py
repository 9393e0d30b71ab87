"""What stands for each primitive, and how its cost, clocks and drift are written."""

from __future__ import annotations

from tare.features.machine.fingerprint.weights import Agreement, Cost, Holding, Weighed
from tare.render.words import text
from tare.results.message import Amount, message
from tare.units import off_by, quantity, significant

#: Of each primitive that programs rest on, the figures that stand for it.
SHOWN: tuple[tuple[str, str], ...] = (
    ("an empty program", "trial.wall"),
    ("a whole trial", "trial.round_trip"),
    ("CPU", "loop.dependent_add"),
    ("memory", "memory.latency.l2"),
    ("memory", "memory.latency.dram"),
    ("memory", "memory.bandwidth.copy.1"),
    ("page fault", "fault.minor_anonymous"),
    ("page fault", "fault.copy_on_write"),
    ("system call", "syscall.getpid"),
    ("system call", "syscall.open_close"),
    ("system call", "syscall.read_byte"),
    ("clock", "clock.vdso"),
    ("switch", "switch.process"),
    ("process", "process.fork_exec"),
    ("thread", "thread.create_join"),
    ("file", "file.cache.speed"),
    ("network", "network.round_trip.tcp_p50"),
    ("network", "network.connect.whole"),
)
#: Clocks that are this far apart count from other moments.
_APART_NS = 10**9
_MARKS = {"costs": "▲", "saves": "▽", "same": "=", "inconclusive": "?"}


def cost_of(one: Weighed, metric: str) -> Cost | None:
    """Return what a figure costs on a platform."""
    if one.instability is not None and one.instability.metric == metric:
        return one.instability
    return next((cost for cost in one.costs if cost.metric == metric), None)


def mark(cost: Cost) -> str:
    """Return the sign of a verdict."""
    return _MARKS[cost.verdict]


def ratio_told(one: Weighed, metric: str) -> str | None:
    """Write a figure as a multiple of the first platform's; in brackets where it is no cost."""
    cost = cost_of(one, metric)
    if cost is None:
        return None
    ratio = f"× {significant(cost.ratio)}"
    if cost.low is not None and cost.high is not None:
        ratio += f" [{significant(cost.low)}, {significant(cost.high)}]"
    return f"({ratio})" if one.emulated else f"{ratio} {mark(cost)}"


def clocks_told(clocks: Agreement | None, *, realtime: bool = False) -> str | None:
    """Write how far a clock inside is from the host's."""
    if clocks is None:
        return None
    offset = clocks.realtime_offset_ns if realtime else clocks.monotonic_offset_ns
    if abs(offset) < _APART_NS:
        return off_by(offset, "ns", clocks.within_ns)
    # Another boot began it.
    sign = "−" if offset < 0 else "+"
    return f"{sign}{abs(offset) / 1e9:,.1f} s ± {quantity(clocks.within_ns, 'ns')}"


def drift_told(clocks: Agreement | None) -> str | None:
    """Write how the clock inside gains on the host's."""
    if clocks is None or clocks.drift_ppm is None or clocks.drift_within_ppm is None:
        return None
    return f"{clocks.drift_ppm:+.2g} ± {clocks.drift_within_ppm:.2g} ppm".replace("-", "−")


def cpu_told(held: Holding | None) -> str | None:
    """Write how much CPU time is used around the agent."""
    if held is None or held.around_cpu_share is None:
        return None
    share = Amount(held.around_cpu_share, "share")
    return text(message("fingerprint.platform.cpu", share=share))
