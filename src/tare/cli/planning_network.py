"""How ``tare experiment plan`` shows the network of an experiment, and its rests."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from tare.cli import output
from tare.experiment import Experiment
from tare.network import replayed
from tare.shaping import specification, telling
from tare.shaping.specification import Bucket, Shaping

_BUDGETS = {
    "reset": "every trial begins with the budget of its level",
    "carry": "every trial begins with what the last one of the same level has left",
}


def as_json(experiment: Experiment) -> dict[str, Any]:
    """Return the network, its levels, and how long they rest at most."""
    network = experiment.network
    return {
        "hosts": network.hosts,
        "serve": [list(words) for words in network.serve],
        "budget": network.budget,
        "rest": network.rest,
        "levels": [
            {
                "network": level,
                "specification": telling.specification(shaping),
                "rest_s_at_most": longest_rest_s(experiment, shaping),
            }
            for level, shaping in _shapings(experiment).items()
        ],
    }


def show(experiment: Experiment) -> None:
    """Print the network, how each level shapes it, and how long rests are at most."""
    network = experiment.network
    served = len(network.serve)
    serving = f", {served} server{'s' * (served != 1)} on each but the first" if served else ""
    output.out.print(f"Network: {network.hosts} hosts{serving}; {_BUDGETS[network.budget]}.")
    table = Table(box=None)
    rests = network.rest != "none"
    for head in ("level", "what leaves every host", *(["rest at most"] if rests else [])):
        table.add_column(head, overflow="fold")
    for level, shaping in _shapings(experiment).items():
        rest_s = longest_rest_s(experiment, shaping)
        told = output.seconds(rest_s) if rest_s else "none"
        table.add_row(level, telling.describe(shaping), *([told] if rests else []))
    output.out.print(table)


def longest_rest_s(experiment: Experiment, shaping: Shaping) -> float:
    """Return how long a trial waits at most: for a bucket, until it is full from nothing."""
    rest = experiment.network.rest
    if isinstance(rest, float | int):
        return float(rest)
    if rest == "none" or not isinstance(shaping, Bucket) or not shaping.refill_bps:
        return 0.0
    return shaping.capacity_bits / shaping.refill_bps


def _shapings(experiment: Experiment) -> dict[str, Shaping]:
    return {
        level: replayed.resolved(specification.parse(experiment.shaped(level)))
        for level in map(str, experiment.factors["network"])
    }
