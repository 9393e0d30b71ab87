"""How ``tare experiment plan`` shows the network of an experiment, and its idle periods."""

from __future__ import annotations

from typing import Any

from tare.cli import output
from tare.experiment import Experiment
from tare.network import replayed
from tare.render.words import paragraph, text
from tare.results.message import message
from tare.shaping import specification, telling
from tare.shaping.specification import Bucket, Shaping


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
                "specification": telling.specification(shaping),
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
    output.out.print(paragraph(said), soft_wrap=True)
    rests = network.rest != "none"
    rows = [("level", *(["longest idle period"] if rests else []), "shaping of every host")]
    for level, shaping in _shapings(experiment).items():
        rest_s = longest_rest_s(experiment, shaping)
        told = output.seconds(rest_s) if rest_s else "none"
        rows.append((level, *([told] if rests else []), text(telling.describe(shaping))))
    output.table(rows)


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
