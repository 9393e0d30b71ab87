"""How ``tare experiment plan`` shows the network of an experiment, and its idle periods."""

from __future__ import annotations

from typing import Any

from tare.cli import console
from tare.experiment.specification import Experiment
from tare.networks import replay
from tare.networks.shaping import messages, specification
from tare.networks.shaping.specification import Bucket, Shaping
from tare.render.words import paragraph, text
from tare.results.message import message


def as_json(experiment: Experiment) -> dict[str, Any]:
    """Return the network, its levels, and their longest idle periods."""
    network = experiment.network
    return {
        "hosts": network.hosts,
        "serve": [list(words) for words in network.serve],
        "budget": network.budget,
        "rest": network.rest,
        "levels": [
            {
                "network": level,
                "specification": messages.specification(shaping),
                "rest_s_at_most": longest_rest_s(experiment, shaping),
            }
            for level, shaping in _shapings(experiment).items()
        ],
    }


def show(experiment: Experiment) -> None:
    """Print the network, how each level shapes it, and the longest idle period."""
    network = experiment.network
    said = (
        message("plan.network.hosts", hosts=network.hosts, servers=len(network.serve) or None),
        message(f"plan.network.budget.{network.budget}"),
    )
    console.out.print(paragraph(said), soft_wrap=True)
    rests = network.rest != "none"
    rows = [("level", *(["longest idle period"] if rests else []), "shaping of every host")]
    for level, shaping in _shapings(experiment).items():
        rest_s = longest_rest_s(experiment, shaping)
        told = console.seconds(rest_s) if rest_s else "none"
        rows.append((level, *([told] if rests else []), text(messages.describe(shaping))))
    console.table(rows)


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
        level: replay.resolved(specification.parse(experiment.shaped(level)))
        for level in map(str, experiment.factors["network"])
    }
