"""A measurement as one document: what ``tare net measure --json`` writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from tare.features.network.measure.summary import Summary
from tare.networks.recording.folder import Measured
from tare.networks.recording.lines import VERSION
from tare.render.words import sentences, text
from tare.results.message import Said


def as_json(measured: Measured, some: Sequence[Summary], caveats: Sequence[Said]) -> dict[str, Any]:
    """Return a measurement as a document; None: not known."""
    asked = measured.asked
    return {
        "version": VERSION,
        "host": asked.host,
        "begun_ns": measured.begun_ns,
        "seconds": measured.end_s,
        "streams": asked.streams,
        "interval_ns": asked.interval_ns,
        "complete": not measured.left_ns(),
        "ended": None if measured.ended is None else msgspec.to_builtins(measured.ended),
        "summaries": [
            {**msgspec.to_builtins(one), "limit": None if one.limit is None else text(one.limit)}
            for one in some
        ],
        "ends": measured.facts,
        "gaps": [{"start_s": a, "end_s": b, "why": text(why)} for a, b, why in measured.gaps],
        "caveats": sentences(caveats),
    }
