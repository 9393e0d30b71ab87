"""Charts by themselves, for papers."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

from tare import extras, files
from tare.errors import InputError
from tare.render.drawing import by_itself
from tare.results.report import Report

#: Pixels of a PNG for each pixel of the chart.
_SCALE = 2


def write(page: Report, format: str, folder: Path) -> list[Path]:
    """Write every chart of a report as SVG or PNG, on white."""
    extras.need("vl_convert")
    import vl_convert

    written = []
    with files.own_folder(folder) as descriptor:
        for figure in page.charts:
            name = f"{figure.name}.{format}"
            svg = vl_convert.vegalite_to_svg(_on_white(figure.spec), allowed_base_urls=[])
            # Charts refer to nothing outside of them, whoever made them.
            if _refers(svg):
                raise InputError(f"the chart {figure.name} refers to what is outside of it")
            drawn = svg.encode() if format == "svg" else vl_convert.svg_to_png(svg, scale=_SCALE)
            files.write_into(descriptor, name, drawn)
            written.append(folder / name)
    return written


def _refers(svg: str) -> bool:
    """Say whether a picture has another one in it, or a link."""
    return any(
        element.tag.endswith("}image")
        or any(name.rpartition("}")[2] == "href" for name in element.attrib)
        for element in Xml.fromstring(svg).iter()
    )


def _on_white(spec: dict[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = by_itself(spec)
    return {**plain, "config": {**plain["config"], "background": "white", "padding": 8}}
