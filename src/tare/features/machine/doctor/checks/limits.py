"""What a control group around tare takes away."""

from __future__ import annotations

from tare.host.check import Diagnosis, Look, fail, ok, unknown
from tare.host.view import View
from tare.registry import Description
from tare.results.message import Amount, Atom, message

_LIMITS_VALUE = "at most {limits | listing}"

#: Version 1 writes this much, less a page, where it means no limit.
UNLIMITED_BYTES = 1 << 60


def examine(view: View) -> Diagnosis:
    """Read quota and memory limit from tare's own group up to the root."""
    own = [line.split(":", 2) for line in view.kernel.lines("/proc/self/cgroup")]
    if not own:
        return unknown()
    quotas: list[float] = []
    memories: list[int] = []
    for line in view.kernel.lines("/proc/self/mounts"):
        _, mount, kind, options, *_ = line.split()
        if kind in ("cgroup", "cgroup2"):
            for group in _groups(kind, mount, options.split(","), own):
                quotas += _quota(view, group)
                memories += _memory(view, group)
    told: list[Atom] = []
    if quotas:
        told.append(message("{cpus} CPUs", cpus=f"{min(quotas):g}"))
    if memories:
        told.append(message("{bytes} of memory", bytes=Amount(min(memories), "bytes")))
    if quotas and min(quotas) < len(view.online()):
        return fail(
            message(_LIMITS_VALUE, limits=told),
            "times", "speed", "parallel",
            why=message("a program that has used up its quota stops until the next period"),
            change=message("docker update --cpus 0 CONTAINER, or systemctl set-property SLICE "
                "CPUQuota="),
        )  # fmt: skip
    if not told:
        return ok(message("none around tare"))
    return ok(message(_LIMITS_VALUE, limits=told))


def _groups(kind: str, mount: str, options: list[str], own: list[list[str]]) -> list[str]:
    """Return the folders of tare's group in a hierarchy and of all above it."""
    for _, controllers, path in own:
        if (kind == "cgroup2" and not controllers) or (
            kind == "cgroup" and controllers and set(controllers.split(",")) <= set(options)
        ):
            parts = path.strip("/").split("/")
            return [f"{mount}/{'/'.join(parts[:n])}".rstrip("/") for n in range(len(parts) + 1)]
    return []


def _quota(view: View, group: str) -> list[float]:
    words = (view.kernel.read(f"{group}/cpu.max") or "").split()
    if len(words) == 2 and words[0].isdigit():
        return [int(words[0]) / int(words[1])]
    quota = view.kernel.number(f"{group}/cpu.cfs_quota_us") or -1
    period = view.kernel.number(f"{group}/cpu.cfs_period_us") or 0
    return [quota / period] if quota > 0 and period > 0 else []


def _memory(view: View, group: str) -> list[int]:
    found = (
        view.kernel.number(f"{group}/{name}") for name in ("memory.max", "memory.limit_in_bytes")
    )
    return [limit for limit in found if limit is not None and limit < UNLIMITED_BYTES]


UNIT = Look(
    description=Description(
        name="limits",
        title="limits around tare",
        question="Does a container or a service hold back what is measured?",
        source="Documentation/scheduler/sched-bwc.rst",
    ),
    order=14,
    effect=message("pauses of up to 100 ms, the usual period, whenever the quota is used up"),
    look=examine,
)
