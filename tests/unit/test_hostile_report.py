"""Nothing in a saved document is obeyed where it is shown, whichever field it stands in."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import folder_report
import journals
import msgspec
import pytest
import synthetic
from markdown_it import MarkdownIt
from synthetic import Behaviour

from tare.cli import console
from tare.errors import InputError
from tare.experiment.findings.judgement import differences
from tare.experiment.specification import Stopping
from tare.features.measure.comparison import report as comparisons
from tare.render import comment, files, junit, markdown
from tare.results.message import Message
from tare.wiring import SUPPLIES

ORDERS = (
    "a` <img src=http://evil.example/x> [l](http://evil.example) ![p](x) @evil *b* "
    "\u202e\x1b[2J\x00"
    "\n\n# Heading\n\n- item\n| a | b |\n|---|---|\n1. one\n---\n::error::faked\n##[error]faked\n"
    "Gate passes\n`b"
)
#: What stands at the beginning of a line there.
LINES = ("# Heading", "- item\n", "| a | b |", "1. one", "::error::", "##[error]", "Gate passes")
#: What no medium may have, since terminals and readers obey it.
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return a document with every part: of a page, of comparisons with a gate, of a failure."""
    slow = synthetic.make(
        lambda levels: Behaviour(mean_ns=1.3e8 if levels["workload"] == "new" else 1e8),
        workloads=("old", "new"), platforms=("bare",), workers=(1,), trials=12,
        stopping=Stopping(compare="workload", trials=12, gate=0.05),
    )  # fmt: skip
    found = differences(slow)
    assert not isinstance(found, Message)
    compared = files.plain(comparisons.make(slow, found, ended="finished", gate=0.05))
    several = synthetic.make(platforms=("bare", "docker"), workers=(1,), trials=8)
    folder = journals.write(several, tmp_path_factory.mktemp("results") / "out")
    page = files.plain(folder_report.document(folder, SUPPLIES))
    origin = {**page["origin"], "seed": 1, "file": "name = 'x'"}
    lost = {
        "a": "old", "b": "newest", "trials": 6, "failed": 6, "killed": 0, "above_s": None,
        "gate": "fail", "gate_reason": "all 6 trials failed",
    }  # fmt: skip
    said: dict[str, Any] = {
        name: [f"{name}."] for name in ("caveats", "missing", "failed", "notes")
    }
    error = {"type": "IncompleteError", "exit_code": 18, "message": "few", "hint": "again"}
    made = {**compared, **page, **said, "origin": origin, "lost": [lost], "error": error}
    for name in ("comparisons", "gate", "entries"):
        made[name] = compared[name]
    return json.loads(msgspec.json.encode(made))


def texts(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where texts stand."""
    if isinstance(value, str):
        yield path
    if isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from texts(one, (*path, key))


def fields(document: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return where each field with a text stands, once however often a list repeats it."""
    # Charts are read by Vega alone.
    found = [path for path in texts(document) if "spec" not in path]
    return [
        *{tuple("*" if isinstance(k, int) else k for k in path): path for path in found}.values()
    ]


def hostile(document: dict[str, Any], path: tuple[Any, ...]) -> dict[str, Any]:
    copied = json.loads(json.dumps(document))
    inner = copied
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = ORDERS
    return copied


def structure(document: str) -> Counter[str]:
    """Count what is markup: of tables and lists one each, whatever their length."""
    parsed = MarkdownIt("commonmark").enable("table").parse(document)
    every = [one for token in parsed for one in (token, *(token.children or ()))]
    return Counter(
        one.type for one in every if one.type not in ("text", "softbreak", "text_special")
    )


def printed(made: Any) -> str:
    file = StringIO()
    to = type(console.out)(file=file, highlight=False, markup=False, width=100)
    console.show(made, to=to)
    return file.getvalue()


def test_no_text_is_obeyed(saved: dict[str, Any], tmp_path: Path) -> None:
    file, shown, refused = tmp_path / "saved.json", 0, []
    file.write_text(json.dumps(saved))
    clean = files.load(file)
    usual = {of: structure(of(clean)) for of in (comment.render, page)}
    for path in fields(saved):
        file.write_text(json.dumps(hostile(saved, path)))
        try:
            made = files.load(file)
        except InputError:
            refused.append(path)
            continue
        for of, expected in usual.items():
            document = of(made)
            shown += "Heading" in document
            found = structure(document)
            kinds = {
                "html_inline",
                "html_block",
                "heading_open",
                "link_open",
                "image",
                "table_open",
            }
            assert all(found[kind] <= expected[kind] for kind in kinds), (path, of)
            fenceless = re.sub(r"(?ms)^(`{3,})\n.*?^\1$", "", document)
            assert "@evil" not in fenceless, (path, of)
            assert not CONTROLS.search(document), (path, of)
        xml = junit.render(made)
        Xml.fromstring(xml)
        assert not CONTROLS.search(xml), path
        for without in (made, msgspec.structs.replace(made, entries=())):
            terminal = printed(without)
            assert not re.search(r"(?m)^\s*::|##\[", terminal), path
            assert not any(re.search(f"(?m)^{re.escape(line)}", terminal) for line in LINES), path
            assert not CONTROLS.search(terminal), path
    assert shown > 40
    words = {"format", "type", "answer", "gate", "verdict", "emphasis", "name"}
    assert {path[-1] for path in refused} <= words, refused


def page(made: Any) -> str:
    return markdown.render(made, "charts")
