"""What ``--network`` reports: what was sent, and whether a bucket was depleted."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any

from tare.networks.shaping.specification import Bucket, parse
from tare.results.message import Amount, Message, message

if TYPE_CHECKING:
    from tare.experiment.results import Results

_SOURCE = "qdisc"
_METRICS = ("network_sent_bytes", "network_dry_ns")


def of_trials(results: Results) -> Message | None:
    """Say what all hosts sent in a good trial, and for how long their buckets were empty.

    None where there was no network of tare's.
    """
    sent, dry = (results.values(metric, _SOURCE)["value"].tolist() for metric in _METRICS)
    if not sent:
        return None
    depleted = [d for d in dry if d > 0]
    return message(
        "{sent} sent per trial, with headers{% if depleted %}; a bucket was depleted in "
        "{depleted} of {trials | counted('trial')}, for {time} (median, sum over hosts)"
        "{% endif %}",
        sent=Amount(round(8 * median(sent)), "bits"),
        depleted=len(depleted),
        trials=len(dry),
        time=Amount(median(depleted), "ns") if depleted else None,
    )


def by_command(results: Results) -> dict[str, Results]:
    """Return the results of each command whose trials sent something; empty: no such network."""
    names = [workload.name for workload in results.experiment.workloads]
    own = {
        name: replace(results, trial_table=results.trial_table.where(workload=name))
        for name in names
    }
    return {name: some for name, some in own.items() if some.values(_METRICS[0], _SOURCE)}


def of_commands(results: Results) -> list[Message]:
    """Say what the network was, and what each command sent in a trial; empty: no such network."""
    found = by_command(results)
    if not found:
        return []
    level = str(results.experiment.factors["network"][0])
    hosts = results.experiment.network.hosts
    bucket = isinstance(parse(results.experiment.shaped(level)), Bucket)
    said = [
        message(
            "{level}, {hosts | counted('host')}{% if bucket %}; every trial begins with the "
            "initial budget{% endif %}",
            level=level,
            hosts=hosts,
            bucket=bucket,
        )
    ]
    for name, own in found.items():
        sent = of_trials(own)
        if sent is not None:
            said.append(message("{command}: {sent}", command=name, sent=sent))
    return said


def as_json(results: Results) -> dict[str, Any] | None:
    """Return the network, and what each command sent; None: the machine's own."""
    if "network" not in results.experiment.factors:
        return None
    network = results.experiment.network
    commands = {}
    for name, own in by_command(results).items():
        sent, dry = (own.values(metric, _SOURCE)["value"].tolist() for metric in _METRICS)
        commands[name] = {
            "trials": len(own.good),
            "sent_bytes": median(sent),
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
