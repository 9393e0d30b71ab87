"""What a trial of an experiment will send: as given, or as an earlier session sent."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tare.errors import ExperimentError, StoreError, Typed
from tare.experiment.results import Results
from tare.experiment.specification import NO_NETWORK, Cell
from tare.features.network.plan.rests import TrialTraffic
from tare.results.message import Amount, Chosen, Message, message

#: A background of more than this share of what a trial sends is worth a word.
_DISTURBED = 0.1
#: Share of headers that an interface may not count.
_HEADERS = 0.046
#: Levels that say nothing of what is sent.
_ELSEWHERE = ("network",)


def given(cells: Sequence[Cell], bits: Mapping[str, float]) -> list[TrialTraffic]:
    """Return what each cell spends as it was given.

    Parameters
    ----------
    cells : sequence of Cell
    bits : mapping of str to float
        By name of workload; "": of all that are not named.

    Raises
    ------
    ExperimentError
        If a workload was not given, or there is none of a name.
    """
    names = list(dict.fromkeys(cell.workload.name for cell in cells))
    for name in bits:
        if name and name not in names:
            raise ExperimentError(
                f"--spend {name}=…: there is no workload of that name",
                f"the experiment has {', '.join(names)}",
            )
    found = []
    for cell in cells:
        amount = bits.get(cell.workload.name, bits.get(""))
        if amount is None:
            raise ExperimentError(
                f"what a trial of {cell.workload.name} sends is not given",
                Typed(f"--spend {shlex.quote(str(cell.workload.name))}=10Gbit"),
            )
        source = message("given")
        found.append(
            TrialTraffic(cell=_told(cell, cells), bits=amount, seconds=None, source=source)
        )
    return found


@dataclass(frozen=True)
class Count:
    """What the interface of this host counted in one trial.

    Attributes
    ----------
    interface : str
    bits : float
        On the wire, without the background.
    seconds : float
        The trial took.
    background_bps : float
        What left by the interface beside it.
    """

    interface: str
    bits: float
    seconds: float
    background_bps: float


def counted(cells: Sequence[Cell], counts: Mapping[int, Count]) -> list[TrialTraffic]:
    """Return what each cell spends as an interface counted it, by the number of the cell."""
    return [
        TrialTraffic(
            cell=_told(cell, cells),
            bits=counts[cell.cell].bits,
            seconds=counts[cell.cell].seconds,
            source=message("1 trial, {interface}", interface=counts[cell.cell].interface),
        )
        for cell in cells
    ]


def doubts(counts: Iterable[Count]) -> list[Message]:
    """Say what makes what an interface counted less certain."""
    some = list(counts)
    name, background = some[0].interface, some[0].background_bps
    said = [
        message(
            "sent bytes were counted on {interface} in one trial per cell, less a background "
            "of {background}. Trials may differ, and up to {headers} of headers may be "
            "missing",
            interface=name,
            background=Amount(background, "bits/s"),
            headers=Chosen(_HEADERS),
        )
    ]
    most = max(some, key=lambda one: one.bits)
    others = background * most.seconds
    if most.bits <= others:
        said.append(
            message(
                "no trial sent more than the background of {interface}. If trials send by "
                "another interface: --spend measured:IFACE",
                interface=name,
            )
        )
    elif others > _DISTURBED * most.bits:
        share = Amount(others / most.bits, "share")
        said.append(
            message(
                "the background of {interface} is {share} of the largest trial's traffic. End "
                "other senders and measure again",
                interface=name,
                share=share,
            )
        )
    return said


def measured(cells: Sequence[Cell], results: Results, name: str) -> list[TrialTraffic]:
    """Return what each cell spends by an earlier session of the same workloads.

    Of each trial the host counts that sent most, since each has a bucket of its own; of several
    trials, the largest.

    Parameters
    ----------
    cells : sequence of Cell
    results : Results
    name : str
        What the session is called.

    Raises
    ------
    StoreError
        If it counted nothing that hosts sent, or not of these workloads.
    """
    use = results.network_use
    if not use:
        raise StoreError(
            f"{name} did not count what its trials sent: only those on an emulated network do",
            Typed("--spend measured   (executes one trial of each cell, and counts)"),
        )
    most = use.reduced("trial", "sent_bytes", lambda sent: 8.0 * max(sent))
    rows = results.good.where(trial=set(most))
    rows = rows.with_columns(bits=[most[trial] for trial in rows["trial"].tolist()])
    found = []
    for cell in cells:
        own = rows.where(workload=cell.workload.name)
        if not own:
            raise StoreError(
                f"{name} has no good trial of {cell.workload.name} on an emulated network",
                Typed(f"--spend {shlex.quote(str(cell.workload.name))}=10Gbit"),
            )
        for factor, level in cell.levels().items():
            if factor in own and factor not in _ELSEWHERE:
                own = own.where(**{factor: level}) or own
        seconds = float(own["duration_ns"].mean() / 1e9) if "duration_ns" in own else None
        found.append(
            TrialTraffic(
                cell=_told(cell, cells),
                bits=float(own["bits"].max()),
                seconds=seconds,
                source=message("{n | counted('trial')} of {session}", n=len(own), session=name),
            )
        )
    return found


def _told(cell: Cell, cells: Sequence[Cell]) -> str:
    """Name a cell by the levels in which it differs from others."""
    levels = cell.levels()
    varied = [f for f in levels if len({one.levels().get(f) for one in cells}) > 1]
    told = [levels["workload"]]
    told += [f"{factor} {levels[factor]}" for factor in varied if factor != "workload"]
    return ", ".join(told)


def own_buckets(cells: Sequence[Cell]) -> tuple[str, ...]:
    """Return the levels of ``network`` under which trials do not use the machine's own network."""
    levels = (cell.network for cell in cells if cell.network not in (None, NO_NETWORK))
    return tuple(dict.fromkeys(str(level) for level in levels))
