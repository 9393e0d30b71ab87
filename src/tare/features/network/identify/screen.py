"""What ``tare net identify`` prints: words, a line that shows the trace, the figures, what next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tare.cli import console
from tare.experiment.fingerprints.network.identified import (
    Estimate,
    Identification,
    TypeSummary,
    kind_of,
)
from tare.features.network import phrases as network_phrases
from tare.features.network.identify.reading import Reading
from tare.features.network.identify.types import answers, table
from tare.networks.recording.starved import no_cpu
from tare.networks.shaping.trace import Floats, Trace
from tare.render.tables import lay
from tare.render.terminal import aligned
from tare.render.text_plot import sparkline
from tare.render.words import sentence, sentences
from tare.results import phrases as results_phrases
from tare.results.message import Message, message
from tare.units import duration, quantity, significant

#: Characters of the line that shows a trace.
_WIDTH = 60
#: Series that are told one by one, and rows of the table of more.
_TOLD, _MOST_ROWS = 3, 40
#: Printed in place of a value that is not identifiable.
_UNKNOWN = "–"


def show(
    found: Sequence[tuple[Reading, Identification]],
    types: Sequence[TypeSummary],
    sources: Sequence[Path],
    *,
    as_is: bool,
) -> None:
    """Print what was found for a person; ``as_is``: files say by themselves how to read them."""
    if len(found) > _TOLD:
        _show_many([one for _, one in found])
    else:
        for number, (reading, one) in enumerate(found):
            if number:
                console.out.print()
            _show_one(reading, one)
    if types:
        _show_types(types)
    notes = dict.fromkeys(note for reading, _ in found for note in sentences(reading.notes))
    for note in list(notes)[:5]:
        console.out.print(f"Note    {note}", style="yellow", soft_wrap=True)
    source = sources[0] if as_is and len(found) == len(sources) else None
    if (following := _next([one for _, one in found], source)) is not None:
        console.out.print()
        console.out.print(f"Next    {following}", soft_wrap=True)


def _show_types(types: Sequence[TypeSummary]) -> None:
    console.out.print()
    for line in sentences(answers(types)):
        console.out.print(line, style="bold", soft_wrap=True)
    laid = lay(table(types), each_unit=True)
    rows = [tuple(head.title for head in laid.heads), *laid.rows]
    for number, line in enumerate(aligned(rows, left=2)):
        console.out.print(line, style="dim" if number == 0 else None, soft_wrap=True)


def _show_one(reading: Reading, one: Identification) -> None:
    out = console.out
    out.print(sentence(_of(one, kind_of(one))), style="bold", soft_wrap=True)
    for lack in reading.lacks:
        out.print(
            f"Note    {sentence(_of(one, no_cpu(lack)))}", style="bold yellow", soft_wrap=True
        )
    for line in sentences(one.reasons):
        out.print(f"  {line}", soft_wrap=True)
    out.print()
    for line in drawn(reading.trace, one):
        out.print(line, soft_wrap=True)
    if one.high_gbps is None:
        return
    out.print()
    for line in aligned(_figures(one), left=1):
        out.print(line, soft_wrap=True)


def _of(one: Identification, said: Message) -> Message:
    return message(network_phrases.NAMED, name=_named(one), said=said) if one.key else said


def _figures(one: Identification) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("", "", "95 %"), ("high", *_told(one.high_gbps, "Gbit/s"))]
    if one.kind in ("drop", "bucket"):
        rows += [
            ("low", *_told(one.low_gbps, "Gbit/s")),
            ("depleted after", *_told(one.time_to_empty_s, "s")),
            ("budget", *_told(one.budget_gbit, "Gbit")),
            ("refill", *_told(one.refill_gbps, "Gbit/s")),
        ]
    if one.kind == "bucket":
        rows.append(("left at the end", *_told(one.left_gbit, "Gbit")))
        rows.append(("idle until full", *_told(one.full_after_s, "s")))
    return rows


def _told(known: Estimate | None, unit: str) -> tuple[str, str]:
    if known is None:
        return "not identifiable", ""
    digits = _digits(known)
    low, high = (significant(bound, digits) for bound in known.ci)
    return f"{significant(known.value, digits)} {unit}", f"{low} to {high}"


def _digits(known: Estimate) -> int:
    """Return how many digits show the interval."""
    width = known.ci[1] - known.ci[0]
    if known.value <= 0 or width <= 0:
        return 4
    return int(np.clip(2 + np.floor(np.log10(known.value / width)), 3, 6))


def drawn(trace: Trace, one: Identification) -> list[str]:
    """Draw a trace as one line of bars, with a mark where the rate fell first, and its axis."""
    if len(trace) == 0:
        return []
    end = float(trace.end_s[-1] - trace.start_s[0])
    rate, on, filled = _cells(trace, end)
    top = float(rate.max()) or 1.0
    # What was to be sent and was not is the lowest block, not idle.
    least = np.where(on > 0, np.maximum(rate, 1e-9 * top), 0.0)
    line = sparkline([r if f else None for r, f in zip(least.tolist(), filled, strict=True)], top)
    label = quantity(top, "bits/s") if rate.any() else "nothing"
    axis = f"0{duration(end).rjust(_WIDTH - 1)}"
    lines = [f"{label:>14} {line}", f"{'':>14} {axis}"]
    if one.time_to_empty_s is not None:
        place = min(int(one.time_to_empty_s.value / end * _WIDTH), _WIDTH - 1)
        words = f"depleted after {significant(one.time_to_empty_s.value, 4)} s"
        mark = f"{'^'.rjust(place + 1)} {words}"
        if place + len(words) + 2 > _WIDTH:
            mark = f"{words} ^".rjust(place + 1)
        lines.insert(1, f"{'':>14} {mark}")
    if "·" in line:
        lines.append(f"{'':>14} · idle")
    if " " in line:
        lines.append(f"{'':>14} blank: not known")
    return lines


def _cells(trace: Trace, end: float) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return the rate of each character, how long data was to be sent, and what is known at all."""
    start = trace.start_s - trace.start_s[0]
    known = np.isfinite(trace.bits)
    cell = np.minimum((start[known] / max(end, 1e-9) * _WIDTH).astype(int), _WIDTH - 1)
    bits = np.bincount(cell, trace.wire * trace.bits[known], _WIDTH)
    on = np.bincount(cell, trace.on_s[known], _WIDTH)
    filled = np.bincount(cell, minlength=_WIDTH) > 0
    # Where none begins, one may last; what is in none is a gap.
    middle = (np.arange(_WIDTH) + 0.5) / _WIDTH * end
    last = np.maximum(np.searchsorted(start, middle, side="right") - 1, 0)
    lasts = ~filled & known[last] & (middle < (trace.end_s - trace.start_s[0])[last])
    bits[lasts], on[lasts] = trace.wire * trace.bits[last[lasts]], trace.on_s[last[lasts]]
    rate: Floats = np.divide(bits, on, out=np.zeros(_WIDTH), where=on > 0)
    return rate, on.astype(float), np.asarray(filled | lasts)


def _show_many(some: Sequence[Identification]) -> None:
    heads = ("series", "kind", "high", "low", "depleted after", "budget", "refill", "outages")
    rows: list[tuple[str, ...]] = [heads]
    for one in some[:_MOST_ROWS]:
        rows.append(
            (
                _named(one),
                one.kind,
                _short(one.high_gbps),
                _short(one.low_gbps),
                _short(one.time_to_empty_s, " s"),
                _short(one.budget_gbit, " Gbit"),
                _short(one.refill_gbps),
                str(one.outages) if one.outages else "",
            )
        )
    # What is known of no series needs no column.
    kept = [i for i in range(len(heads)) if any(row[i] not in ("", _UNKNOWN) for row in rows[1:])]
    shown = [tuple(row[i] for i in kept) for row in rows]
    for number, line in enumerate(aligned(shown, left=2)):
        console.out.print(line, style="dim" if number == 0 else None, soft_wrap=True)
    if len(some) > _MOST_ROWS:
        console.out.print(f"… and {len(some) - _MOST_ROWS:,} more (--json)", style="dim")
    console.out.print(f"Rates in Gbit/s; {_UNKNOWN}: not identifiable (why: --json).", style="dim")
    for kind in dict.fromkeys(one.kind for one in some):
        alike = [one for one in some if one.kind == kind]
        out = console.out
        out.print()
        many = message(
            "{n} × {kind}", n=len(alike), kind=message(results_phrases.NET_KIND_TEXTS[kind])
        )
        out.print(sentence(many), style="bold", soft_wrap=True)
        first, *others = sentences(alike[0].reasons)
        named = message(network_phrases.NAMED, name=_named(alike[0]), said=first)
        for line in (sentence(named), *others):
            out.print(f"  {line}", soft_wrap=True)


def _short(known: Estimate | None, unit: str = "") -> str:
    return _UNKNOWN if known is None else f"{significant(known.value, 4)}{unit}"


def _named(one: Identification) -> str:
    return " ".join(one.key.values())


def _next(some: Sequence[Identification], source: Path | None) -> str | None:
    """Return the next command worth typing; ``source``: what can be replayed."""
    bucket = next((one for one in some if one.kind == "bucket" and one.budget_gbit), None)
    if bucket is not None and bucket.low_gbps and bucket.high_gbps and bucket.budget_gbit:
        refill = bucket.refill_gbps or bucket.low_gbps
        spec = (
            f"bucket high={bucket.high_gbps.value:.4g}Gbit low={bucket.low_gbps.value:.4g}Gbit "
            f"budget={bucket.budget_gbit.value:.4g}Gbit refill={refill.value:.4g}Gbit"
        )
        return f"tare net emulate {shlex.quote(spec)} -- COMMAND   (your program in this network)"
    if any(one.next_rest_s is not None or one.kind == "drop" for one in some):
        return "tare net measure HOST --identify   (alternates sending and idle periods)"
    silent = all(one.high_gbps is None and one.kind in ("interrupted", "noisy") for one in some)
    if source is not None and not silent:
        spec = shlex.quote(f"replay:{source}")
        return f"tare net emulate {spec} -- COMMAND   (replays it)"
    rate = next((one.high_gbps.value for one in some if one.high_gbps is not None), 0.0)
    if rate <= 0:
        return None
    return f"tare net emulate rate {rate:.4g}Gbit -- COMMAND   (the same rate)"
