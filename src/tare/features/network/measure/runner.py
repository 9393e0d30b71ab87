"""Carries a measurement out, or what is left of it, and writes it down as it goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tare.agent.record import BeyondLimit, Connect, Ended, Interval, MeasureOver, Sending
from tare.errors import AgentError
from tare.features.network.measure.client import Ends
from tare.features.network.measure.ended import EndedError
from tare.networks.recording import folder as folders
from tare.networks.recording import writer as writing
from tare.networks.recording.writer import Writer

if TYPE_CHECKING:
    from tare.features.network.measure.progress import MeasureBar


def carry_out(
    folder: Path,
    writer: Writer,
    connect: Connect,
    listener: MeasureBar,
    start: Callable[[Connect], Ends] = Ends,
) -> Ended | None:
    """Run the phases of a folder's measurement that were not measured yet.

    Parameters
    ----------
    folder : Path
        As :func:`tare.networks.recording.writer.create` made it.
    writer : Writer
        Of the same folder.
    connect : Connect
        How to reach the other end.
    listener : MeasureBar
        Told of everything, once it is written down.
    start : callable
        Starts an agent.

    Returns
    -------
    Ended or None
        Why it ended before all was measured, where the other end allows no more; that is written
        down as well.

    Raises
    ------
    AgentError
        If the agent ends twice without having measured anything in between.
    StoreError
        If it cannot be written down.
    KeyboardInterrupt
        As it came; what was seen until then is written down.
    """
    while orders := left(folder):
        listener.begins(orders)
        progress = _Progress()
        try:
            _stretch(orders, writer, connect, listener, start, progress)
        except AgentError as error:
            # Whoever never reached the other end is told so; a later fault is gone over.
            if not progress.intervals:
                raise
            if isinstance(error, EndedError) and isinstance(error.ended, BeyondLimit):
                writer.write(MeasureOver(why=error.ended))
                return error.ended
            listener.restarts(error)
        else:
            return None
    return None


def left(folder: Path) -> list[Sending]:
    """Return what is still to be measured, in order."""
    measured = folders.read(folder)
    left_ns = measured.left_ns()
    return [
        msgspec.structs.replace(order, duration_ns=left_ns[order.id])
        for order in measured.asked.phases
        if order.id in left_ns
    ]


def has_measured(folder: Path) -> bool:
    """Return whether a folder holds any measured stretch."""
    return bool(folders.read(folder).courses)


@contextmanager
def discarded_if_empty(folder: Path) -> Iterator[None]:
    """Remove a new folder where an AgentError comes before anything was measured.

    A mistyped host leaves no folder that has to be removed first.
    """
    try:
        yield
    except AgentError:
        if not has_measured(folder):
            writing.discard(folder)
        raise


class _Progress:
    """How much a stretch has brought."""

    intervals = 0


def _stretch(
    orders: Sequence[Sending],
    writer: Writer,
    connect: Connect,
    listener: MeasureBar,
    start: Callable[[Connect], Ends],
    progress: _Progress,
) -> None:
    writer.stretch()
    lasts_ns = sum(order.duration_ns for order in orders)
    with start(msgspec.structs.replace(connect, lasts_ns=lasts_ns)) as ends:
        writer.write(ends.connected)
        listener.connected(ends.connected)
        for order in orders:
            writer.phase(order)
            try:
                for happening in ends.send(order):
                    writer.write(happening)
                    progress.intervals += isinstance(happening, Interval)
                    listener.happened(order, happening)
            except KeyboardInterrupt:
                for happening in ends.drain():
                    writer.write(happening)
                raise
