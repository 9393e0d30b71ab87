"""What is expected of caches and memory: sizes, latencies, bandwidth, and what these bound."""

from __future__ import annotations

import re

from tare.fingerprint.expectation import Machine, Prediction
from tare.units import chosen, quantity

#: Ends of what is the same size for the curve: a knee is not sharper.
_SAME_SIZE = 1.25
#: Of the modules' bandwidth, what programs get of it (McCalpin, STREAM; SYSMEASURE: 75 %).
_REACHED = "programs get 70 to 90 % of it"


def cache_size(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Expect what the processor says of its caches."""
    cache = machine.hardware.cache(int(found[1]))
    if cache is None:
        return None
    why = "the processor says so, by sysfs"
    curve = machine.measured.get(found[0])
    if curve and not 1 / _SAME_SIZE <= curve / cache.size_bytes <= _SAME_SIZE:
        shared = len(cache.cpus) > 1 or machine.guest
        if curve < cache.size_bytes and shared:
            by = "other guests of the host" if machine.guest else "other cores"
            why += f"; {by} use it as well, and the host may give out only a part of it"
        elif machine.guest:
            why += "; a hypervisor may say of another processor's caches what it likes"
        elif curve < cache.size_bytes:
            why += "; in small pages addresses fall unevenly on its sets"
    return Prediction(value=float(cache.size_bytes), why=why)


def cache_latency(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Expect the published cycles from load to use."""
    core = machine.core
    if core is None:
        return None
    level = int(found[1])
    if level == 3 and core.l3_ns is not None:
        return Prediction(value=core.l3_ns, why="published for its mesh, which has its own clock")
    cycles = {1: core.l1, 2: core.l2, 3: core.l3}.get(level)
    if cycles is None:
        return None
    made = machine.cycles(cycles, found[0], "load to use")
    real = machine.measured.get(found[0])
    if made is None or made.value is None or level < 3 or not real or real <= 1.3 * made.value:
        return made
    return Prediction(
        value=made.value,
        why=f"{made.why}; others share it, and small pages add misses of the TLB",
    )


def memory_latency(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Expect what is published for memory of that generation."""
    memory = machine.memory
    if memory is None:
        return None
    why = f"published for {memory.kind} beside such a processor, idle and in large pages"
    real = machine.measured.get(found[0])
    if real and real > 1.15 * memory.latency_ns:
        reasons = ["small pages add misses of the TLB"]
        if machine.guest:
            reasons = ["small pages add misses of the TLB, whose walks a guest makes twice over",
                       "the host's other guests load it"]  # fmt: skip
        why += f"; {', and '.join(reasons)}"
    return Prediction(value=memory.latency_ns, why=why)


def bandwidth(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Expect the modules' bandwidth, or the link's where only that is known."""
    modules = machine.hardware.modules
    if modules is not None and modules.bandwidth and not machine.guest:
        transfers = (modules.transfers_hz or 0) / 1e6
        why = (
            f"{modules.channels} channels × {transfers:.0f} MT/s × "
            f"{(modules.width_bits or 0) // 8} bytes; {_REACHED}"
        )
        return Prediction(value=modules.bandwidth, why=why + _one_thread(found))
    return _by_kind(machine, found)


def _by_kind(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Firmware does not list the modules: what such a processor mostly has."""
    core, memory = machine.core, machine.memory
    if core is None or memory is None:
        return None
    hidden = "the hypervisor hides the modules" if machine.guest else "firmware lists no modules"
    socket = f"{memory.channels} × {memory.kind}-{memory.transfers_hz / 1e6:.0f}"
    third = machine.hardware.cache(3)
    one_link = third is not None and len(third.cpus) >= (machine.hardware.cpus or 0)
    if machine.guest and core.link is not None and one_link:
        value = core.link
        why = f"{hidden}; the link of a group of cores to memory moves {quantity(value, 'B/s')} in"
        if found[1] == "write":
            why += ", and out half of that, or as much where it is wide"
        if machine.measured.get(found[0], 0.0) > 1.05 * value:
            return Prediction(value=value, why=f"{why}; some have two such links")
        return Prediction(value=value, why=why + _one_thread(found))
    if machine.guest:
        why = (
            f"{hidden}; a full socket of this kind ({socket}) moves "
            f"{quantity(memory.bandwidth, 'B/s')}, of "
            "which a guest has its share"
        )
        return Prediction(value=None, why=why)
    why = f"{hidden}: if all channels are filled ({socket}); {_REACHED}"
    return Prediction(value=memory.bandwidth, why=why + _one_thread(found))


def _one_thread(found: re.Match[str]) -> str:
    if found[2] not in (None, "1"):
        return ""
    return "; one thread waits for too few misses at once to fill it"


def parallelism(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Expect as many misses at once as the first cache keeps track of."""
    core = machine.core
    if core is None or core.misses is None:
        return None
    return Prediction(
        value=float(core.misses), why="misses that the first cache keeps track of at once"
    )


def huge_fault(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Expect that a huge page takes as long as it takes to clear it."""
    size = machine.hardware.huge_page_bytes
    speed = machine.measured.get("memory.bandwidth.write.1")
    if size is None or not speed:
        return None
    return Prediction(
        value=size / speed * 1e9,
        why=f"clearing {chosen(size, 'bytes')} at {quantity(speed, 'B/s')}, as one thread was "
        "measured to write",
    )


def fault(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Say why a fault costs what no specification tells."""
    if not machine.guest:
        return None
    return Prediction(
        value=None,
        why="in a guest the first touch of a page may need one of the host as well",
    )


def copied(machine: Machine, found: re.Match[str]) -> Prediction | None:
    """Expect that what comes from the page cache or the loopback is copied memory."""
    counts = {
        int(name.rsplit(".", 1)[1]): value
        for name, value in machine.measured.items()
        if re.fullmatch(r"memory\.bandwidth\.copy\.\d+", name)
    }
    if not counts:
        return None
    # What is read and what is written count both in a copy; here only what is copied.
    value = counts[min(counts)] / 2
    if found[0].startswith("network"):
        why = f"at most: copied in and out again, as memory was measured, {quantity(value, 'B/s')}"
    else:
        why = f"a copy of memory, as measured: {quantity(value, 'B/s')}"
    return Prediction(value=value, why=why)


RULES = (
    (r"memory\.cache\.l([123])", cache_size),
    (r"memory\.latency\.l([123])", cache_latency),
    (r"memory\.latency\.(?:dram|uncached)", memory_latency),
    (r"memory\.bandwidth\.(read|write|copy|triad)(?:\.(\d+))?", bandwidth),
    (r"memory\.parallelism\.peak", parallelism),
    (r"fault\.huge", huge_fault),
    (r"fault\.(?:minor.*|copy_on_write)", fault),
    (r"file\.cache\.(?:speed|bandwidth|read)", copied),
    (r"network\.bandwidth\.loopback(?:\.\d+)?", copied),
)
