"""Vega-Lite documents in tests: held against the schema that altair ships, and their rows."""

from __future__ import annotations

import functools
import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema


@functools.cache
def _validator() -> Any:
    found = importlib.util.find_spec("altair")
    assert found is not None
    assert found.origin is not None
    (path,) = Path(found.origin).parent.glob("vegalite/*/schema/vega-lite-schema.json")
    return jsonschema.Draft7Validator(json.loads(path.read_text(encoding="utf-8")))


@functools.cache
def _validate(document: str) -> None:
    error = jsonschema.exceptions.best_match(_validator().iter_errors(json.loads(document)))
    if error is not None:
        raise AssertionError(f"not in Vega-Lite's schema: {error.json_path}: {error.message}")


def validate(chart: Any) -> None:
    """Raise unless a chart is a document in Vega-Lite's schema; its rows may be any."""
    _validate(json.dumps(_without_rows(chart), sort_keys=True))


def validated(make: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function validate the charts that it returns."""

    @functools.wraps(make)
    def made(*args: Any, **named: Any) -> Any:
        chart = make(*args, **named)
        validate(chart)
        return chart

    return made


def _without_rows(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_without_rows(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {k: {"values": []} if k == "data" else _without_rows(v) for k, v in value.items()}


def rows(chart: Any) -> list[dict[str, Any]]:
    """Collect the rows of all parts of a chart."""
    if isinstance(chart, list):
        return [row for part in chart for row in rows(part)]
    if not isinstance(chart, dict):
        return []
    return [row for k, v in chart.items() for row in (v["values"] if k == "data" else rows(v))]
