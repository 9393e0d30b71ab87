"""The report as one page of HTML that fetches nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from tare.errors import StoreError, Typed
from tare.render import large_table, words
from tare.render.escaping import harmless, harmless_data
from tare.render.tables import lay
from tare.results.report import Report
from tare.version import __version__

#: What is not parted from the number before it.
_UNITS = "s|ms|µs|ns|min|h|bytes|[KMG]iB|trials?|workers?|cells?"


def render(page: Report, large: Mapping[str, large_table.LargeTable] | None = None) -> str:
    """Write a page: content, style, charts and what draws them in one file.

    Everything that comes from the experiment is escaped by the template; beyond that the
    page's own policy lets only its own scripts run and nothing be fetched.

    Parameters
    ----------
    page : Report
    large : mapping, optional
        Large tables by the name of the finding in whose section they stand.
    """
    tables = {name: large_table.lay(table) for name, table in (large or {}).items()}
    assert tables.keys() <= {one.finding.name for one in page.sections}, "tables without a section"
    environment = templates()
    style, scripts = _source(environment, "page.css"), [_vega(), _source(environment, "page.js")]
    if tables:
        style += _source(environment, "large_table.css")
        # The table is there before the charts are drawn.
        scripts.insert(0, _source(environment, "large_table.js"))
    return environment.get_template("page.html").render(
        page=page,
        large=tables,
        style=Markup(style),
        scripts=[Markup(script) for script in scripts],
        policy=_policy(scripts),
        version=__version__,
    )


def templates() -> jinja2.Environment:
    """Return the templates, which escape every text."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tare.render"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
    )
    environment.filters["script_json"] = _script_json
    environment.filters["chunks"] = _chunks
    environment.filters["kept"] = _kept
    environment.filters["text"] = words.text
    environment.filters["sentence"] = words.sentence
    environment.filters["laid"] = lay
    return environment


def _vega() -> str:
    """Read what draws charts; it is bundled when the package is built."""
    file = Path(__file__).parents[1] / "bin" / "vega.js"
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise StoreError(
            f"{file}, which draws charts, is missing: the package was not built with it",
            Typed("make setup   (or: pip install .)"),
        ) from error


def _source(environment: jinja2.Environment, name: str) -> str:
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


def _policy(scripts: list[str]) -> str:
    digests = (base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _script_json(value: Any) -> Markup:
    """Write data for a script element: no character of it can end the element."""
    text = json.dumps(
        harmless_data(value), ensure_ascii=True, separators=(",", ":"), allow_nan=False
    )
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _shown(value: Any) -> Any:
    """Show text; markup is tare's own, and scripts stay as their digests have them."""
    is_text = isinstance(value, str) and not isinstance(value, Markup)
    return harmless(value) if is_text else value


def _chunks(digest: str) -> str:
    """Break a digest where a narrow screen may break it."""
    return "\u200b".join(digest[i : i + 8] for i in range(0, len(digest), 8))


def _kept(text: str) -> str:
    """Keep a number and its unit on one line."""
    return re.sub(rf"(?<=\d) (?=(?:{_UNITS})\b|[%×])|(?<=[×±n=≥]) (?=[\d=≥])", "\u00a0", text)
