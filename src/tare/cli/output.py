"""What commands say: tables for people, JSON for programs, progress with time left."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from tare.errors import StoreError
from tare.harmless import ORDERS, harmless


class _Harmless(Console):
    """A console whose orders to the terminal are all its own."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control or not ORDERS.search(segment.text):
                yield segment
            else:
                yield Segment(harmless(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        self.quiet = True
        _reader_gone()


def _reader_gone() -> None:
    """Go on without a reader: files are still to be written, and the exit code is the answer."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    os.close(devnull)


def print_text(text: str) -> None:
    """Write to standard output as it is."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _reader_gone()


#: Answers go to standard output, progress and warnings to standard error. No markup: what is
#: printed holds names that people chose.
out = _Harmless(highlight=False, markup=False)
err = _Harmless(stderr=True, highlight=False, markup=False)

#: Where answers have been written.
written: set[str] = set()


def check_writable(*files: Path | str | None) -> None:
    """Refuse before measuring what could not be written after it.

    Raises
    ------
    StoreError
        If there is no folder for a file, or it may not be written to.
    """
    for file in files:
        if file is None or file == "-":
            continue
        folder = Path(file).absolute().parent
        if not folder.is_dir():
            raise StoreError(
                f"cannot write {file}: there is no folder {folder}", f"mkdir -p {folder}"
            )
        if not os.access(folder, os.W_OK) or Path(file).is_dir():
            raise StoreError(f"cannot write {file}", "choose another file")


def write_json(value: Any, destination: str) -> None:
    """Write a value as JSON to a file, or to standard output where it is ``-``."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2)
    write_text(text.decode() + "\n", destination, "--json")


def write_text(text: str, destination: str, option: str) -> None:
    """Write a text to a file, or to standard output where it is ``-``."""
    if destination == "-":
        print_text(text)
    else:
        try:
            Path(destination).write_text(text, encoding="utf-8")
        except OSError as error:
            # Without its cause: it is not where the results are that has no room.
            raise StoreError(
                f"cannot write {destination}: {error.strerror}", f"choose another {option} FILE"
            ) from None
    written.add(destination)


def seconds(value: float) -> str:
    """Return a duration as people say it: ``85 s``, ``4 min 10 s``, ``2 h 5 min``."""
    if value < 1:
        return "under 1 s"
    whole = round(value)
    if whole < 120:
        return f"{whole} s"
    if whole < 7200:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


#: Powers of ten of a second, largest first.
_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


def nanoseconds(*values: float) -> list[str]:
    """Return durations in one unit, chosen for the first, with four significant digits."""
    scale, unit = next((t for t in _TIMES if abs(values[0]) >= t[0]), _TIMES[-1])
    return [f"{value / scale:.4g} {unit}" for value in values]


def amounts(metric: str, *values: float) -> list[str]:
    """Return values of a metric in one unit, chosen for the first."""
    if metric.endswith("_ns"):
        return nanoseconds(*values)
    if metric.endswith("_bytes"):
        return sizes(*values)
    return [f"{value:.4g}" for value in values]


def interval(metric: str, estimate: float, low: float, high: float) -> str:
    """Return an estimate with its interval in its unit: ``41.2 ms [39.8, 43.0]``."""
    first, *ends = amounts(metric, estimate, low, high)
    number, _, unit = first.partition(" ")
    decimals = len(number.partition(".")[2])
    told = ", ".join(f"{float(end.partition(' ')[0]):.{decimals}f}" for end in ends)
    return f"{number} {unit}".rstrip() + f" [{told}]"


def size(value: float) -> str:
    """Return bytes as people read them."""
    return sizes(value)[0]


def sizes(*values: float) -> list[str]:
    """Return sizes in one unit, chosen for the first."""
    power = 0
    while abs(values[0]) >= 1024 ** (power + 1) and power < 3:
        power += 1
    unit = ("B", "KiB", "MiB", "GiB")[power]
    return [f"{value / 1024**power:.4g} {unit}" for value in values]
