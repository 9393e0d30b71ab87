"""Memory modules, from the tables that firmware leaves (SMBIOS 3.7, type 17)."""

from __future__ import annotations

import re
import struct
from collections import Counter

import msgspec

from tare.host.kernel_files import KernelFiles

_TABLE = "sys/firmware/dmi/tables/DMI"
_MEMORY_DEVICE, _END = 17, 127
_KINDS = {
    0x13: "DDR2", 0x18: "DDR3", 0x1A: "DDR4", 0x1B: "LPDDR", 0x1C: "LPDDR2", 0x1D: "LPDDR3",
    0x1E: "LPDDR4", 0x20: "HBM", 0x21: "HBM2", 0x22: "DDR5", 0x23: "LPDDR5", 0x24: "HBM3",
}  # fmt: skip
#: How makers of boards write a channel into a module's place, best first: "P0 CHANNEL A",
#: "CPU1_DIMM_A1", "ChannelB-DIMM0", "A2".
_CHANNELS = (
    r"channel *[ _-]?([a-z]|\d+)", r"dimm[ _-]?([a-z])[ _-]?\d*$", r"[_ -]([a-z])\d$",
    r"^([a-z])\d$",
)  # fmt: skip
_SOCKETS = r"(?:cpu|p|proc|node|socket) *[ _-]?(\d+)"
#: "Not known", as these fields write it.
_UNKNOWN = (0, 0xFFFF)
_MOST_BYTES = 1 << 20


class Modules(msgspec.Struct, frozen=True, kw_only=True):
    """The modules that are in place."""

    count: int
    kind: str | None
    #: Transfers a second, as configured; of the slowest.
    transfers_hz: int | None
    #: Bits of data that one module moves at once.
    width_bits: int | None
    #: None: their places do not tell.
    channels: int | None
    size_bytes: int

    @property
    def bandwidth(self) -> float | None:
        """Bytes a second that all channels could move together."""
        if self.transfers_hz is None or self.width_bits is None or self.channels is None:
            return None
        return float(self.transfers_hz * self.width_bits // 8 * self.channels)


class _Module(msgspec.Struct, frozen=True, kw_only=True):
    size_bytes: int
    kind: str | None
    width_bits: int | None
    transfers_hz: int | None
    place: str
    bank: str


def modules(files: KernelFiles) -> Modules | None:
    """Read the modules; None where the tables cannot be read or list none."""
    table = files.content(_TABLE)
    found = [] if table is None else _modules(table[:_MOST_BYTES])
    if not found:
        return None
    speeds = [m.transfers_hz for m in found if m.transfers_hz]
    widths = [m.width_bits for m in found if m.width_bits]
    kinds = Counter(m.kind for m in found if m.kind)
    return Modules(
        count=len(found),
        kind=kinds.most_common(1)[0][0] if kinds else None,
        transfers_hz=min(speeds) if speeds else None,
        width_bits=min(widths) if widths else None,
        channels=_channels(found),
        size_bytes=sum(m.size_bytes for m in found),
    )


def _modules(table: bytes) -> list[_Module]:
    found = []
    at = 0
    while at + 4 <= len(table):
        kind, length = table[at], table[at + 1]
        if kind == _END or length < 4:
            break
        # Strings follow each structure, two zero bytes end them.
        end = table.find(b"\0\0", at + length)
        end = len(table) if end < 0 else end
        if kind == _MEMORY_DEVICE:
            texts = table[at + length : end].split(b"\0")
            module = _module(table[at : at + length], [t.decode(errors="replace") for t in texts])
            if module is not None:
                found.append(module)
        at = end + 2
    return found


def _module(entry: bytes, texts: list[str]) -> _Module | None:
    """Read one place for a module; None where none is in it."""

    def word(offset: int) -> int:
        return int(struct.unpack_from("<H", entry, offset)[0]) if offset + 2 <= len(entry) else 0

    def double(offset: int) -> int:
        return int(struct.unpack_from("<I", entry, offset)[0]) if offset + 4 <= len(entry) else 0

    def text(offset: int) -> str:
        number = entry[offset] if offset < len(entry) else 0
        return texts[number - 1] if 0 < number <= len(texts) else ""

    size = word(0x0C)
    if size in _UNKNOWN:
        return None
    if size == 0x7FFF:
        size_bytes = double(0x1C) << 20
    else:
        size_bytes = (size & 0x7FFF) << (10 if size & 0x8000 else 20)
    # Configured first, then the most it can; beyond 65,534 in fields of their own.
    speeds = [double(0x58) if word(0x20) == 0xFFFF else word(0x20), word(0x15)]
    speed = next((s for s in speeds if s not in _UNKNOWN), None)
    width = word(0x0A)
    return _Module(
        size_bytes=size_bytes,
        kind=_KINDS.get(entry[0x12] if len(entry) > 0x12 else 0),
        width_bits=None if width in _UNKNOWN else width,
        transfers_hz=None if speed is None else speed * 1_000_000,
        place=text(0x10),
        bank=text(0x11),
    )


def _channels(found: list[_Module]) -> int | None:
    """Count channels by how the modules' places are named."""
    named = {_channel(m) for m in found}
    return None if None in named else len(named)


def _channel(module: _Module) -> tuple[str, str] | None:
    words = (module.place, module.bank)
    sockets = (re.search(_SOCKETS, text, re.I) for text in words)
    socket = next((s[1] for s in sockets if s), "")
    for pattern in _CHANNELS:
        for text in words:
            channel = re.search(pattern, text.strip(), re.I)
            if channel:
                return socket, channel[1].upper()
    return None
