"""What ``--network`` reports: what was sent, and whether a bucket was depleted."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any, Protocol

from tare.networks.shaping.specification import Bucket, parse
from tare.results.message import Amount, Message, message

if TYPE_CHECKING:
    from tare.experiment.results import Results

_SOURCE = "qdisc"


class Measured(Protocol):
    """A trial, as far as it is needed here."""

    def get(self, metric: str, source: str) -> float | None:
        """Return the value of a metric from a source."""


def of_trials(trials: Sequence[Measured]) -> Message | None:
    """Say what all hosts sent in a trial, and for how long their buckets were empty.

    None where there was no network of tare's.
    """
    sent = [s for t in trials if (s := t.get("network_sent_bytes", _SOURCE)) is not None]
    dry = [d for t in trials if (d := t.get("network_dry_ns", _SOURCE)) is not None]
    if not sent:
        return None
    depleted = [d for d in dry if d > 0]
    return message(
        "run.network.sent",
        sent=Amount(round(8 * median(sent)), "bits"),
        depleted=len(depleted),
        trials=len(dry),
        time=Amount(median(depleted), "ns") if depleted else None,
    )


class _Row:
    """A trial of a table of samples."""

    def __init__(self, values: dict[str, float]) -> None:
        self._values = values

    def get(self, metric: str, source: str) -> float | None:
        """Return the value of a metric from the queueing discipline."""
        return self._values.get(metric) if source == _SOURCE else None


def by_command(results: Results) -> dict[str, list[Measured]]:
    """Return what the network of each good trial counted, by command; empty: no such network."""
    samples = results.sample_table
    samples = samples[samples["source"] == _SOURCE]
    good = results.trial_table[results.trial_table["status"] == "ok"]
    found: dict[str, list[Measured]] = {}
    for row in good.to_dict("records"):
        own = samples[samples["trial"] == row["trial"]]
        values = dict(zip(own["metric"], own["value"].astype(float), strict=True))
        if values:
            found.setdefault(str(row["workload"]), []).append(_Row(values))
    order = [workload.name for workload in results.experiment.workloads]
    return {name: found[name] for name in order if name in found}


def of_commands(results: Results) -> list[Message]:
    """Say what the network was, and what each command sent in a trial; empty: no such network."""
    found = by_command(results)
    if not found:
        return []
    level = str(results.experiment.factors["network"][0])
    hosts = results.experiment.network.hosts
    bucket = isinstance(parse(results.experiment.shaped(level)), Bucket)
    said = [message("run.network.shaping", level=level, hosts=hosts, bucket=bucket)]
    for name, trials in found.items():
        sent = of_trials(trials)
        if sent is not None:
            said.append(message("run.network.command", command=name, sent=sent))
    return said


def as_json(results: Results) -> dict[str, Any] | None:
    """Return the network, and what each command sent; None: the machine's own."""
    if "network" not in results.experiment.factors:
        return None
    network = results.experiment.network
    commands = {}
    for name, trials in by_command(results).items():
        sent = [t.get("network_sent_bytes", _SOURCE) for t in trials]
        dry = [d for t in trials if (d := t.get("network_dry_ns", _SOURCE)) is not None]
        commands[name] = {
            "trials": len(trials),
            "sent_bytes": median(s for s in sent if s is not None),
            "trials_dry": sum(d > 0 for d in dry) if dry else None,
            "dry_ns": median(dry) if dry else None,
        }
    return {
        "specification": str(results.experiment.factors["network"][0]),
        "hosts": network.hosts,
        "serve": [list(words) for words in network.serve],
        "budget": network.budget,
        "commands": commands,
    }
