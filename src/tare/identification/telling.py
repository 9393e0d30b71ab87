"""Numbers of a network in words."""

from __future__ import annotations

from tare.units import chosen

#: What each kind is, in words.
WORDS = {
    "constant": "constant: one rate",
    "noisy": "noisy: one rate, with much spread",
    "drifting": "drifting: the rate changes slowly",
    "stepped": "stepped: the rate changes and stays, as where a limit is changed",
    "contention": "contention: up and down between rates, as where others share the network",
    "drop": "a drop: consistent with a token bucket, not confirmed",
    "bucket": "a token bucket",
    "boost": "a boost: every burst begins fast, however long it rested",
    "declining": "declining: slower the longer it sends, as a machine that grows hot",
    "hysteresis": "hysteresis: rests bring the rate back, but not as a bucket would",
    "capped": "capped: held at one rate from the start",
    "interrupted": "interrupted: outages, and no other change of rate",
    "starved": "not known: an end had no CPU",
}


def stamp(seconds: float) -> str:
    """Write a moment of a trace as it would be looked up there: "2,993 s"."""
    return chosen(seconds, "s", 4)
