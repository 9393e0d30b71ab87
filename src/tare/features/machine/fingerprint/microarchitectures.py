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

import re
from typing import Any

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


#: A row for each core, with a blank in a name written as "_": fields of `Microarchitecture`, a
#: third cache of its own clock in ns, ``link`` in GB/s, and memory as generation of DDR, millions
#: of transfers a second, channels and latency in ns.
_ROWS = """
core            issue tlb1 tlb2 l1 l2 l3   mispredict rdtsc misses link desktop     server
Nehalem         4     64   512  4  10 38   17         24    10     -    3-1066×3@65 3-1333×3@65
Westmere        4     64   512  4  10 42   17         24    10     -    3-1066×3@67 3-1333×3@70
Sandy_Bridge    4     64   512  4  12 28   15         28    10     -    3-1333×2@60 3-1600×4@75
Ivy_Bridge      4     64   512  4  12 30   14         27    10     -    3-1600×2@62 3-1866×4@75
Haswell         4     64   1024 4  12 36   16         24    10     -    3-1600×2@66 4-2133×4@85
Broadwell       4     64   1536 4  12 38   16         24    10     -    3-1866×2@66 4-2400×4@85
Skylake         4     64   1536 4  12 42   16         25    12     -    4-2400×2@62 4-2666×2@65
Skylake-SP      4     64   1536 4  14 68   16         25    12     -    -           4-2666×6@90
Ice_Lake        5     64   2048 5  13 42   17         24    12     -    4-3200×2@80 -
Ice_Lake-SP     5     64   2048 5  14 70   17         24    12     -    -           4-3200×8@90
Tiger_Lake      5     64   2048 5  14 45   17         24    12     -    4-3200×2@80 -
Alder_Lake      6     96   2048 5  15 67   17         24    16     -    5-4800×2@90 -
Raptor_Lake     6     96   2048 5  16 70   17         24    16     -    5-5600×2@85 -
Sapphire_Rapids 6     96   2048 5  16 33ns 17         24    16     -    -           5-4800×8@110
Emerald_Rapids  6     96   2048 5  16 33ns 17         24    16     -    -           5-5600×8@110
Granite_Rapids  6     96   2048 5  16 -    17         -     16     -    -           5-6400×12@120
Zen             6     64   1536 4  17 40   16         36    22     42.6 4-2666×2@85 4-2666×8@95
Zen+            6     64   1536 4  12 38   16         36    22     46.9 4-2933×2@75 -
Zen_2           6     64   2048 4  12 39   16         36    22     51.2 4-3200×2@75 4-3200×8@105
Zen_3           6     64   2048 4  12 46   13         36    24     51.2 4-3200×2@72 4-3200×8@105
Zen_4           6     72   3072 4  14 50   13         36    24     64   5-5200×2@75 5-4800×12@115
Zen_5           8     96   4096 4  14 47   15         36    -      64   5-5600×2@77 5-6000×12@115
Neoverse_N1     4     48   1280 4  11 -    11         -     -      -    -           4-3200×8@95
Neoverse_V1     8     40   2048 4  13 -    11         -     -      -    -           5-4800×8@115
Neoverse_N2     5     44   1280 4  13 -    10         -     -      -    -           -
Neoverse_V2     8     48   2048 4  13 -    10         -     -      -    -           5-5600×12@115
"""
_MEMORY = re.compile(r"(.+)-(.+)×(.+)@(.+)")


def _memory(written: str) -> dict[str, str | float] | None:
    if (found := _MEMORY.fullmatch(written)) is None:
        return None
    ddr, megahertz, channels, latency_ns = found.groups()
    return {
        "kind": f"DDR{ddr}", "transfers_hz": float(megahertz) * 1e6, "channels": channels,
        "latency_ns": latency_ns,
    }  # fmt: skip


def _microarchitecture(cells: dict[str, str]) -> Microarchitecture:
    fields: dict[str, Any] = {name: cell for name, cell in cells.items() if cell != "-"}
    fields["tlb"] = (fields["tlb1"], fields["tlb2"])
    if fields.get("l3", "").endswith("ns"):
        fields["l3_ns"] = fields.pop("l3").removesuffix("ns")
    if "link" in fields:
        fields["link"] = float(fields["link"]) * 1e9
    fields |= {name: _memory(cells[name]) for name in ("desktop", "server")}
    return msgspec.convert(fields, Microarchitecture, strict=False)


_HEADS, *_CORES = (row.split() for row in _ROWS.strip().splitlines())
TABLE: dict[str, Microarchitecture] = {
    row[0].replace("_", " "): _microarchitecture(dict(zip(_HEADS, row, strict=True)))
    for row in _CORES
}
