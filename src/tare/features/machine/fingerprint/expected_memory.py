"""What is expected of caches and memory: sizes, latencies, bandwidth, and what these bound."""

from __future__ import annotations

import re

from tare.features.machine.fingerprint.expectation import (
    Machine,
    Prediction,
    UnknownError,
    needed,
    rests,
)
from tare.results.message import Amount, Chosen, Message, message

_WHY_REACHED = "programs get 70 to 90 % of it"
_WHY_CACHE_TEXTS = {
    "group": (
        "its control group's memory, of which processes and tables take a part; not the "
        "machine's cache: --file-cache machine"
    ),
    "machine": "the memory that was available at first",
}

#: Ends of what is the same size for the curve: a knee is not sharper.
_SAME_SIZE = 1.25
#: Bytes of a small page, and pages that one fault in a file maps (Linux, fault_around_bytes).
_PAGE, _AROUND = 4096, 16
#: Bytes of memory traffic of a fault, and the kind of bandwidth that bounds it.
_TRAFFIC = {"minor_anonymous": (_PAGE, "write"), "copy_on_write": (2 * _PAGE, "copy")}


def cache_size(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect what the processor says of its caches."""
    cache = needed(machine.hardware.cache(int(found[1])))
    curve = machine.measured.get(found[0])
    differs = None
    if curve and not 1 / _SAME_SIZE <= curve / cache.size_bytes <= _SAME_SIZE:
        shared = len(cache.cpus) > 1 or machine.guest
        if curve < cache.size_bytes and shared:
            differs = message(
                "{% if guest %}other guests of the host{% else %}other cores{% endif %} use "
                "it as well, and the host may give out only a part of it",
                guest=machine.guest,
            )
        elif machine.guest:
            differs = message("a hypervisor may report another processor's caches")
        elif curve < cache.size_bytes:
            differs = message("in small pages, addresses are uneven over its sets")
    return rests(float(cache.size_bytes), message("the processor's own value, by sysfs"), differs)


def cache_latency(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect the published cycles from load to use."""
    core, level = machine.core, int(found[1])
    if level == 3 and core.l3_ns is not None:
        return rests(core.l3_ns, message("published for its mesh, which has its own clock"))
    cycles = needed({1: core.l1, 2: core.l2, 3: core.l3}.get(level))
    made = machine.cycles(cycles, message("load to use"))
    real = machine.measured.get(found[0])
    if level < 3 or not real or real <= 1.3 * made.value:
        return made
    return rests(
        made.value, *made.why, message("others share it, and small pages add misses of the TLB")
    )


def memory_latency(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect what is published for memory of that generation."""
    memory = machine.memory
    real = machine.measured.get(found[0])
    slower = real is not None and real > 1.15 * memory.latency_ns
    return rests(
        memory.latency_ns,
        message(
            "published for {kind} with such a processor, idle and in large pages", kind=memory.kind
        ),
        message(
            "small pages add misses of the TLB{% if guest %}, whose page walks a guest makes "
            "twice; the host's other guests load it{% endif %}",
            guest=machine.guest,
        )
        if slower
        else None,
    )


def bandwidth(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect the modules' bandwidth, or the link's where only that is known."""
    modules = machine.hardware.modules
    if modules is not None and modules.bandwidth and not machine.guest:
        why = message(
            "{channels | counted('channel')} × {transfers} MT/s × {width} bytes",
            channels=modules.channels,
            transfers=f"{(modules.transfers_hz or 0) / 1e6:.0f}",
            width=(modules.width_bits or 0) // 8,
        )
        return rests(modules.bandwidth, why, message(_WHY_REACHED), _one_thread(found))
    return _by_kind(machine, found)


def _by_kind(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect what such a processor mostly has: firmware does not list the modules."""
    core, memory = machine.core, machine.memory
    hidden = message(
        "{% if guest %}the hypervisor hides the modules{% else %}firmware lists no modules"
        "{% endif %}",
        guest=machine.guest,
    )
    third = machine.hardware.cache(3)
    one_link = third is not None and len(third.cpus) >= (machine.hardware.cpus or 0)
    if machine.guest and core.link is not None and one_link:
        value = core.link
        link = message(
            "the link of a group of cores to memory moves {rate} in{% if write %}, and out "
            "half of that, or as much where it is wide{% endif %}",
            rate=Amount(value, "B/s"),
            write=found[1] == "write",
        )
        return rests(value, hidden, link, _one_thread(found))
    # A guest has an unknown share of the socket.
    needed(not machine.guest)
    socket = message(
        "{channels} × {kind}-{transfers}",
        channels=memory.channels,
        kind=memory.kind,
        transfers=f"{memory.transfers_hz / 1e6:.0f}",
    )
    return rests(
        memory.bandwidth,
        hidden,
        message("if all channels are filled ({socket})", socket=socket),
        message(_WHY_REACHED),
        _one_thread(found),
    )


def _one_thread(found: re.Match[str]) -> Message | None:
    if found[2] not in (None, "1"):
        return None
    return message("one thread has too few concurrent misses to fill it")


def tlb(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect the published entries."""
    real = machine.measured.get(found[0])
    entries = machine.core.tlb[int(found[1]) - 1]
    differs = real is not None and not 1 / _SAME_SIZE <= real / entries <= _SAME_SIZE
    return rests(
        float(entries),
        message("published entries for pages of 4 KiB"),
        message("a curve over pages ends where their tables leave the caches, too")
        if differs
        else None,
    )


def parallelism(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect as many misses at once as the first cache keeps track of."""
    return rests(
        float(needed(machine.core.misses)), message("concurrent misses that the first cache tracks")
    )


def minor_fault(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect an entry and exit as of a system call, and the page that is cleared or copied."""
    call = machine.value("syscall.getpid")
    why = message(
        "at least entry and exit, as measured of syscall.getpid; plus the search for the "
        "page and its tables"
    )
    if found[1] not in _TRAFFIC:
        return rests(call, why)
    traffic, operation = _TRAFFIC[found[1]]
    speed = machine.value(f"memory.bandwidth.{operation}.1")
    cleared = message(
        "a page {% if copied %}copied{% else %}cleared{% endif %} at {rate}, as one thread "
        "was measured",
        rate=Amount(speed, "B/s"),
        copied=operation == "copy",
    )
    return rests(call + traffic / speed * 1e9, why, cleared)


def around_fault(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect that one fault maps the pages around it, too."""
    why = message("a fault maps {pages} pages at once (fault_around_bytes)", pages=_AROUND)
    if found[1] == "touches_per_fault":
        return rests(float(_AROUND), why)
    return rests(machine.value("fault.minor_file") / _AROUND, why)


def huge_fault(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect that a huge page takes as long as it takes to clear it."""
    size = needed(machine.hardware.huge_page_bytes)
    speed = machine.value("memory.bandwidth.write.1")
    return rests(
        size / speed * 1e9,
        message(
            "clearing {size} at {rate}, as one thread was measured to write",
            size=Chosen(size, "bytes"),
            rate=Amount(speed, "B/s"),
        ),
    )


def copied(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect that what comes from the page cache or the loopback is copied memory."""
    counts = {
        int(name.rsplit(".", 1)[1]): value
        for name, value in machine.measured.items()
        if re.fullmatch(r"memory\.bandwidth\.copy\.\d+", name)
    }
    # What is read and what is written count both in a copy; here only what is copied.
    value = counts[min(needed(counts))] / 2
    network = found[0].startswith("network")
    return rests(
        value,
        message(
            "{% if network %}at most: copied in and out again, as memory was measured, {rate}"
            "{% else %}a copy of memory, as measured: {rate}{% endif %}",
            rate=Amount(value, "B/s"),
            network=network,
        ),
    )


def file_cache(machine: Machine, found: re.Match[str]) -> Prediction:
    """Expect that files fill the memory that they may."""
    memory = machine.facts.get(f"file_cache_{found[1]}_bytes")
    if not isinstance(memory, int):
        raise UnknownError
    return rests(float(memory), message(_WHY_CACHE_TEXTS[found[1]]))


RULES = (
    (r"memory\.cache\.l([123])", cache_size),
    (r"memory\.latency\.l([123])", cache_latency),
    (r"memory\.latency\.(?:dram|uncached)", memory_latency),
    (r"memory\.bandwidth\.(read|write|copy|triad)(?:\.(\d+))?", bandwidth),
    (r"memory\.parallelism\.peak", parallelism),
    (r"memory\.tlb\.l([12])", tlb),
    (r"fault\.(minor_anonymous|copy_on_write|minor_file)", minor_fault),
    (r"fault\.(minor_file_around|touches_per_fault)", around_fault),
    (r"fault\.huge", huge_fault),
    (r"file\.cache\.(?:speed|bandwidth|read)", copied),
    (r"file\.cache_size\.(group|machine)", file_cache),
    (r"network\.bandwidth\.loopback(?:\.\d+)?", copied),
)
