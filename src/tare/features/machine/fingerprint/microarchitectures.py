"""What is published of processors: cycles of caches, branches and counters; memory beside them.

Sources, in this order:

- Intel 64 and IA-32 Architectures Optimization Reference Manual (cache parameters, one table a
  microarchitecture); AMD, Software Optimization Guides for families 17h, 19h and 1Ah; Arm,
  Neoverse N1, V1, N2, V2 Software Optimization Guides and Technical Reference Manuals: load to
  use, mispredicted branches, entries of TLBs. LLVM's scheduling models (``X86Sched*.td``) quote
  the same.
- Pavlov, 7-cpu.com: last caches and memory of Intel's processors to Skylake-X.
- Chips and Cheese (chipsandcheese.com): caches and memory of Ice Lake-SP, Sapphire Rapids, Zen 2
  to Zen 5 and the Neoverse cores.
- Fog, Instruction tables (agner.org/optimize), and uops.info: ``rdtsc``.
- Intel ARK and AMD's product pages: memory channels.

Cycles are those of the core's clock. What a source does not tell is None.
"""

from __future__ import annotations

import msgspec


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """The fullest memory that a socket takes, and how far it is."""

    kind: str
    #: Transfers a second of a channel of 64 bits.
    transfers_hz: float
    channels: int
    #: Latency of a load that misses all caches, within pages that the TLB covers.
    latency_ns: float

    @property
    def bandwidth(self) -> float:
        """Bytes a second of all channels."""
        return self.transfers_hz * 8 * self.channels


class Microarchitecture(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of core."""

    #: Operations that may begin in a cycle.
    issue: int
    #: Entries of the first TLB for data, and of the second, for pages of 4 KiB.
    tlb: tuple[int, int]
    #: Cycles from load to use, by level of cache; a mesh has a clock of its own: nanoseconds.
    l1: int
    l2: int
    l3: int | None = None
    l3_ns: float | None = None
    #: Cycles that a mispredicted branch costs.
    mispredict: int
    #: Cycles of a read of the time-stamp counter; None: not x86, or not published.
    rdtsc: int | None = None
    #: Misses of the first cache that a core may wait for at once.
    misses: int | None = None
    #: Bytes a second that a group of cores reads through its link to memory; writes have half.
    link: float | None = None
    desktop: Memory | None = None
    server: Memory | None = None


def _memory(kind: str, megahertz: float, channels: int, latency_ns: float) -> Memory:
    return Memory(kind=kind, transfers_hz=megahertz * 1e6, channels=channels, latency_ns=latency_ns)


_M = Microarchitecture

TABLE: dict[str, Microarchitecture] = {
    "Nehalem": _M(
        issue=4, tlb=(64, 512), l1=4, l2=10, l3=38, mispredict=17, rdtsc=24, misses=10,
        desktop=_memory("DDR3", 1066, 3, 65), server=_memory("DDR3", 1333, 3, 65),
    ),
    "Westmere": _M(
        issue=4, tlb=(64, 512), l1=4, l2=10, l3=42, mispredict=17, rdtsc=24, misses=10,
        desktop=_memory("DDR3", 1066, 3, 67), server=_memory("DDR3", 1333, 3, 70),
    ),
    "Sandy Bridge": _M(
        issue=4, tlb=(64, 512), l1=4, l2=12, l3=28, mispredict=15, rdtsc=28, misses=10,
        desktop=_memory("DDR3", 1333, 2, 60), server=_memory("DDR3", 1600, 4, 75),
    ),
    "Ivy Bridge": _M(
        issue=4, tlb=(64, 512), l1=4, l2=12, l3=30, mispredict=14, rdtsc=27, misses=10,
        desktop=_memory("DDR3", 1600, 2, 62), server=_memory("DDR3", 1866, 4, 75),
    ),
    "Haswell": _M(
        issue=4, tlb=(64, 1024), l1=4, l2=12, l3=36, mispredict=16, rdtsc=24, misses=10,
        desktop=_memory("DDR3", 1600, 2, 66), server=_memory("DDR4", 2133, 4, 85),
    ),
    "Broadwell": _M(
        issue=4, tlb=(64, 1536), l1=4, l2=12, l3=38, mispredict=16, rdtsc=24, misses=10,
        desktop=_memory("DDR3", 1866, 2, 66), server=_memory("DDR4", 2400, 4, 85),
    ),
    "Skylake": _M(
        issue=4, tlb=(64, 1536), l1=4, l2=12, l3=42, mispredict=16, rdtsc=25, misses=12,
        desktop=_memory("DDR4", 2400, 2, 62), server=_memory("DDR4", 2666, 2, 65),
    ),
    "Skylake-SP": _M(
        issue=4, tlb=(64, 1536), l1=4, l2=14, l3=68, mispredict=16, rdtsc=25, misses=12,
        server=_memory("DDR4", 2666, 6, 90),
    ),
    "Ice Lake": _M(
        issue=5, tlb=(64, 2048), l1=5, l2=13, l3=42, mispredict=17, rdtsc=24, misses=12,
        desktop=_memory("DDR4", 3200, 2, 80),
    ),
    "Ice Lake-SP": _M(
        issue=5, tlb=(64, 2048), l1=5, l2=14, l3=70, mispredict=17, rdtsc=24, misses=12,
        server=_memory("DDR4", 3200, 8, 90),
    ),
    "Tiger Lake": _M(
        issue=5, tlb=(64, 2048), l1=5, l2=14, l3=45, mispredict=17, rdtsc=24, misses=12,
        desktop=_memory("DDR4", 3200, 2, 80),
    ),
    "Alder Lake": _M(
        issue=6, tlb=(96, 2048), l1=5, l2=15, l3=67, mispredict=17, rdtsc=24, misses=16,
        desktop=_memory("DDR5", 4800, 2, 90),
    ),
    "Raptor Lake": _M(
        issue=6, tlb=(96, 2048), l1=5, l2=16, l3=70, mispredict=17, rdtsc=24, misses=16,
        desktop=_memory("DDR5", 5600, 2, 85),
    ),
    "Sapphire Rapids": _M(
        issue=6, tlb=(96, 2048), l1=5, l2=16, l3_ns=33, mispredict=17, rdtsc=24, misses=16,
        server=_memory("DDR5", 4800, 8, 110),
    ),
    "Emerald Rapids": _M(
        issue=6, tlb=(96, 2048), l1=5, l2=16, l3_ns=33, mispredict=17, rdtsc=24, misses=16,
        server=_memory("DDR5", 5600, 8, 110),
    ),
    "Granite Rapids": _M(
        issue=6, tlb=(96, 2048), l1=5, l2=16, mispredict=17, misses=16,
        server=_memory("DDR5", 6400, 12, 120),
    ),
    "Zen": _M(
        issue=6, tlb=(64, 1536), l1=4, l2=17, l3=40, mispredict=16, rdtsc=36, misses=22,
        link=42.6e9,
        desktop=_memory("DDR4", 2666, 2, 85), server=_memory("DDR4", 2666, 8, 95),
    ),
    "Zen+": _M(
        issue=6, tlb=(64, 1536), l1=4, l2=12, l3=38, mispredict=16, rdtsc=36, misses=22,
        link=46.9e9,
        desktop=_memory("DDR4", 2933, 2, 75),
    ),
    "Zen 2": _M(
        issue=6, tlb=(64, 2048), l1=4, l2=12, l3=39, mispredict=16, rdtsc=36, misses=22,
        link=51.2e9,
        desktop=_memory("DDR4", 3200, 2, 75), server=_memory("DDR4", 3200, 8, 105),
    ),
    "Zen 3": _M(
        issue=6, tlb=(64, 2048), l1=4, l2=12, l3=46, mispredict=13, rdtsc=36, misses=24,
        link=51.2e9,
        desktop=_memory("DDR4", 3200, 2, 72), server=_memory("DDR4", 3200, 8, 105),
    ),
    "Zen 4": _M(
        issue=6, tlb=(72, 3072), l1=4, l2=14, l3=50, mispredict=13, rdtsc=36, misses=24, link=64e9,
        desktop=_memory("DDR5", 5200, 2, 75), server=_memory("DDR5", 4800, 12, 115),
    ),
    "Zen 5": _M(
        issue=8, tlb=(96, 4096), l1=4, l2=14, l3=47, mispredict=15, rdtsc=36, link=64e9,
        desktop=_memory("DDR5", 5600, 2, 77), server=_memory("DDR5", 6000, 12, 115),
    ),
    "Neoverse N1": _M(
        issue=4, tlb=(48, 1280), l1=4, l2=11, mispredict=11,
        server=_memory("DDR4", 3200, 8, 95),
    ),
    "Neoverse V1": _M(
        issue=8, tlb=(40, 2048), l1=4, l2=13, mispredict=11,
        server=_memory("DDR5", 4800, 8, 115),
    ),
    "Neoverse N2": _M(issue=5, tlb=(44, 1280), l1=4, l2=13, mispredict=10),
    "Neoverse V2": _M(
        issue=8, tlb=(48, 2048), l1=4, l2=13, mispredict=10,
        server=_memory("DDR5", 5600, 12, 115),
    ),
}  # fmt: skip
