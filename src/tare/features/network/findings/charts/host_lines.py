"""What each host of an emulated network sends over a trial, and the tokens left in its bucket."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tare.render.charts.timelines import Panel, Timeline
from tare.results.columns import Columns
from tare.results.message import Said
from tare.statistics.statistic import FloatArray


class HostLine(NamedTuple):
    """One host between the moments of a log: seconds, bits per second, and bits at the end."""

    host: int
    start_s: FloatArray
    end_s: FloatArray
    rate_bps: FloatArray
    tokens_bits: FloatArray


def host_lines(log: Columns) -> Iterator[HostLine]:
    """Yield the hosts of one trial's log."""
    for host, rows in log.groups("host"):
        at = rows["at_ns"] / 1e9
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = 8 * np.diff(rows["sent_bytes"].astype(float)) / np.diff(at)
        rate = np.where(np.isfinite(rate), np.maximum(rate, 0), np.nan)
        yield HostLine(int(host), at[:-1], at[1:], rate, rows["tokens_bits"][1:].astype(float))


def host_panels(
    lines: Iterable[HostLine],
    end_s: float,
    heading: str = "",
    starts: Sequence[tuple[float, float, Said]] = (),
    marked: Sequence[int] | None = None,
) -> tuple[Panel, Panel]:
    """Return a panel of the tokens left and one of the rates, a line for each host.

    Parameters
    ----------
    lines : iterable of HostLine
        In order of time where there are several of one host.
    end_s : float
        End of the axis of time.
    heading : str
        Title of the first panel.
    starts : sequence of (float, float, Said)
        Moments at which lines are interrupted.
    marked : sequence of int, optional
        Hosts that have a colour of their own; by default all.
    """
    by_host: dict[int, list[HostLine]] = {}
    for line in lines:
        by_host.setdefault(line.host, []).append(line)
    tokens, rates = [], []
    for host, some in sorted(by_host.items()):
        is_other = marked is not None and host not in marked
        name = "other hosts" if is_other else f"host {host}"
        start, end, rate, left = map(np.concatenate, list(zip(*some, strict=True))[1:])
        tokens.append(Timeline(name, start, end, left, is_other))
        rates.append(Timeline(name, start, end, rate, is_other))
    return (
        Panel("tokens left", "bits", end_s, tokens, heading, starts),
        Panel("sent", "bits/s", end_s, rates, "", starts),
    )
