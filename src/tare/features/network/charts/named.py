"""Rows of a chart beside it: what has many is neither copied nor checked row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class Named:
    """Collects the rows of a chart's parts while these are drawn."""

    def __init__(self) -> None:
        self._rows: dict[str, list[dict[str, Any]]] = {}

    def data(self, records: Sequence[Mapping[str, Any]]) -> Any:
        """Return what a part of the chart is drawn of."""
        import altair as alt

        name = f"rows{len(self._rows)}"
        self._rows[name] = [dict(record) for record in records]
        return alt.NamedData(name=name)

    def spec(self, chart: Any) -> dict[str, Any]:
        """Return the whole chart as Vega-Lite, with its rows."""
        spec: dict[str, Any] = chart.to_dict()
        spec["datasets"] = {**spec.get("datasets", {}), **self._rows}
        return spec
