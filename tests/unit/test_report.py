from __future__ import annotations

import json
import multiprocessing
import os
import re
import subprocess
import sys
import time
import xml.dom.minidom
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import folder_report as report
import journals
import msgspec
import printed
import pytest
import situations
import synthetic
from said import args
from synthetic import Behaviour

from tare.errors import InputError, StoreError
from tare.experiment import store
from tare.experiment.findings.answers import all_findings
from tare.experiment.report import page
from tare.experiment.report.origin import origin
from tare.render import data, files, html, markdown, pictures, screen, words
from tare.render.drawing import COLOURS, MOST_MARKS, by_itself
from tare.wiring import SUPPLIES

CHARTS = sorted(SUPPLIES.charts())
#: Situations that show every chart together.
SHOWING = ("platforms", "comparison", "sizes", "sweep", "sweep by platform", "network",
           "long network", "budgets", "two weeks", "services", "tasks", "limits",
           "starts")  # fmt: skip
HOSTILE = "</script><img src=x onerror=alert(1)>'\"&|`*_"


@pytest.fixture(scope="module")
def results():
    return situations.results("platforms")


@pytest.fixture(scope="module")
def findings():
    return situations.findings("platforms")


@pytest.fixture(scope="module")
def folder(results, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "out"
    return journals.write(results, path, text='name = "synthetic"\n')


@pytest.fixture(scope="module")
def made(results, findings, folder):
    return page.make(
        results,
        findings,
        origin(folder, store.load(folder)),
        SUPPLIES.charts(),
    )


@pytest.fixture(scope="module")
def every(folder):
    """Make pages that show every chart together."""
    return {
        name: page.make(
            situations.results(name),
            situations.findings(name),
            origin(folder, store.load(folder)),
            SUPPLIES.charts(),
        )
        for name in SHOWING
    }


@pytest.fixture(scope="module")
def rendered(made):
    return html.render(made)


class Text(HTMLParser):
    """What a reader sees, and which elements there are."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._hidden = 0
        self.feed(document)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._hidden += tag in ("script", "style")

    def handle_endtag(self, tag):
        self._hidden -= tag in ("script", "style")

    def handle_data(self, data):
        if not self._hidden:
            self.text += data


def shown(document: str) -> str:
    text = re.sub(r"\s+", " ", Text(document).text.replace("\u200b", ""))
    return text.replace("\u00a0", " ")


def test_the_answer_comes_first(rendered, made):
    text = shown(rendered)
    places = [text.index(one) for one in (made.question, words.sentence(made.answers[0]))]
    answer = words.sentences(made.sections[0].finding.answer)[0]
    first_section = text.index(answer, places[1] + 1)
    assert places[0] < places[1] < first_section


def test_every_sentence_of_every_finding_is_told(rendered, made):
    text = shown(rendered)
    for sentence in words.sentences(made.answers):
        assert sentence.split(". ")[0] in text
    for section in made.sections:
        finding = section.finding
        assert words.text(finding.question) in text
        assert finding.word in text
        for sentence in (*words.sentences(finding.answer), *words.sentences(finding.caveats)):
            for part in sentence.split(". "):
                assert part.strip() in text


def test_every_row_of_every_table_is_there(rendered, made):
    text = Text(rendered)
    tables = [t for s in made.sections for t in s.finding.tables] + [
        made.cells,
        made.stops,
        *made.machine,
    ]
    rows = sum(len(t.rows) + 1 for t in tables)
    assert sum(tag == "tr" for tag, _ in text.tags) == rows


def test_every_chart_that_a_finding_names_is_drawn_and_told(every):
    drawn = set()
    for one in every.values():
        named = {name for s in one.sections for name in s.finding.charts}
        assert named <= set(CHARTS)
        drawn |= {figure.name for figure in one.charts}
        text = shown(html.render(one))
        for figure in one.charts:
            assert figure.alternative in text
    assert drawn == set(CHARTS), "these experiments show every chart"


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_by_itself_knows_its_colours(every, name):
    spec = next(f.spec for one in every.values() for f in one.charts if f.name == name)
    plain = json.dumps(by_itself(spec))
    assert "var(--" not in plain
    assert "usermeta" not in plain


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_needs_nothing_from_outside(every, name):
    spec = next(f.spec for one in every.values() for f in one.charts if f.name == name)
    assert '"url"' not in json.dumps(spec)


def test_page_and_chart_have_the_same_colours():
    css = (Path(html.__file__).parent / "templates" / "page.css").read_text()
    light = css[: css.index("@media")]
    for name in COLOURS:
        assert f"--{name}:" in light
        assert css.count(f"--{name}:") >= 2, f"{name} has no colour in the dark"


@pytest.fixture(scope="module")
def nothing():
    """Make results without any good trial, and their findings."""
    made = synthetic.make(Behaviour(failing=1.0), trials=2)
    return made, all_findings(made, SUPPLIES.findings())


@pytest.mark.parametrize("name", CHARTS)
def test_where_there_is_nothing_to_see_nothing_is_drawn(name, nothing):
    assert SUPPLIES.charts()[name].draw(*nothing) is None


@pytest.mark.parametrize(
    "options",
    [
        {"platforms": ("bare",), "workers": (1,), "trials": 1},
        {"platforms": ("bare",), "workers": (1,), "trials": 8},
        {"platforms": ("bare", "docker"), "workers": (1,), "trials": 5},
        {"platforms": ("bare",), "workers": (1, 2, 4), "trials": 12, "tail": "stop"},
        {"behave": Behaviour(failing=1.0), "trials": 3},
        {"behave": Behaviour(failing=0.3), "trials": 12},
        {"without": {"docker": ["self"]}, "trials": 8},
        {"behave": Behaviour(spread=0, within=0, harness_wall_sd_ns=0), "trials": 12},
        {"metric": "memory_bytes", "trials": 12},
    ],
)
def test_any_experiment_has_a_page(options, tmp_path):
    made = synthetic.make(**options)
    written = report.write(journals.write(made, tmp_path / "out"), SUPPLIES)
    assert made.experiment.question in shown(written[0].read_text())


def test_before_the_first_trial(tmp_path):
    folder = journals.write(synthetic.make(trials=1), tmp_path / "out")
    first = (folder / "journal" / "1.ndjson").read_bytes().splitlines(keepends=True)[0]
    (folder / "journal" / "1.ndjson").write_bytes(first)
    text = shown(report.write(folder, SUPPLIES)[0].read_text())
    assert "still running" in text


def test_names_are_never_markup(tmp_path):
    made = synthetic.make(
        workloads=[HOSTILE],
        platforms=("bare", f"docker{HOSTILE}"),
        workers=(1,),
        trials=8,
        notes=[HOSTILE],
        behave=Behaviour(failing=0.1),
    )
    folder = journals.write(made, tmp_path / "out", text=HOSTILE)
    document = report.write(folder, SUPPLIES)[0].read_text()
    parsed = Text(document)
    assert not [tag for tag, _ in parsed.tags if tag == "img"]
    scripts = [a for tag, a in parsed.tags if tag == "script"]
    assert sum(a.get("type") != "application/json" for a in scripts) == 2
    assert HOSTILE in parsed.text.replace("\u00a0", " ")
    blocks = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', document)
    specs = json.dumps([json.loads(block) for block in blocks])
    assert json.dumps(HOSTILE)[1:-1] in specs, "the charts have the name as it is"
    for path in files.write_charts(report.document(folder, SUPPLIES), "svg", tmp_path / "charts"):
        xml.dom.minidom.parseString(path.read_bytes())


def test_the_policy_lets_only_the_page_s_own_scripts_run(rendered):
    policy = next(a["content"] for t, a in Text(rendered).tags if a.get("http-equiv"))
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert policy.count("'sha256-") == 2


def test_many_samples_are_thinned_and_said():
    many = synthetic.make(platforms=("bare",), workers=(2,), trials=200, iterations=20)
    chart = SUPPLIES.charts()["scatter"]
    points = json.dumps(chart.draw(many, [])).count('"w":')
    assert 0 < points <= MOST_MARKS
    thinned = args(chart.alternative(many, []), "of each cell;")
    assert (thinned["drawn"], thinned["total"]) == (points, 8_000)


def test_what_was_left_out_is_said_once(rendered):
    assert shown(rendered).count("left out") == 1


def test_an_open_question_is_not_answered_by_yes_or_no(findings):
    by_name = {finding.name: finding for finding in findings}
    assert by_name["parallelism"].word == "partly"
    for verdict, word in (
        ("no", ""),
        ("yes", ""),
        ("inconclusive", "inconclusive"),
    ):
        known = msgspec.structs.replace(by_name["parallelism"], verdict=verdict)
        assert known.word == word
    assert by_name["stability"].verdict == by_name["stability"].word == "less stable"


def test_failed_trials_are_said(tmp_path):
    made = synthetic.make(Behaviour(failing=0.3), trials=12)
    failed = (made.trial_table["status"] == "failed").sum()
    text = shown(report.write(journals.write(made, tmp_path / "out"), SUPPLIES)[0].read_text())
    assert f"{failed} trials failed" in text


def test_how_to_reproduce(rendered):
    text = shown(rendered)
    assert "experiment run experiment.toml" in text
    assert re.search(r"SHA-256 of agent\s*0{64}", text)


@pytest.fixture
def small(tmp_path):
    """Make an experiment of one cell."""
    made = synthetic.make(platforms=("bare",), workers=(1,), trials=7)
    return journals.write(made, tmp_path / "small")


def test_markdown_says_the_same(made, tmp_path):
    drawn = pictures.write(made, "svg", tmp_path / "charts")
    document = markdown.render(made, "charts")
    plain = re.sub(r"\\(.)", r"\1", document)
    for section in made.sections:
        assert f"## {words.text(section.finding.question)}" in plain
    shown_pictures = re.findall(r"!\[.*?\]\((.*?)\)\n", document)
    assert [tmp_path / p for p in shown_pictures] == drawn
    assert all(path.stat().st_size > 1000 for path in drawn)
    for block in re.findall(r"(?:^\|.*\n)+", document, re.M):
        columns = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(columns) == 1, "a table whose rows differ in length"


@pytest.mark.parametrize("words", ["a|b", "<b>", "`x`", "*a*", "[x](y)", "a\nb", "&amp;", "\\"])
def test_markdown_text_is_no_markup(words):
    escaped = markdown.text(words)
    assert "\n" not in escaped
    assert not re.search(r"(?<!\\)(?:\\\\)*[|<>`*\[\]]", escaped)


def test_no_name_turns_the_direction_of_a_line_or_gives_a_terminal_orders(tmp_path):
    names = ["judge\u202ecod.exe", "b\x1b[2J\u2066c"]
    made = synthetic.make(workloads=names, platforms=("bare", "docker"), trials=8)
    folder = journals.write(made, tmp_path / "out")
    (page,) = report.write(folder, SUPPLIES)
    document, *pictures = report.write(folder, SUPPLIES, folder / "report.md")
    # What draws the charts is tare's own and fixed by its digest.
    plain = re.sub(r"<script>.*?</script>", "", page.read_text(), flags=re.S)
    for text in (plain, document.read_text(), *(one.read_text() for one in pictures)):
        assert "\u202e" not in text
        assert "\\u202e" in text or text not in (plain, document.read_text())
        assert "\x1b" not in text
        assert "\u2066" not in text
    data = "".join(re.findall(r'<script type="application/json".*?</script>', plain, re.S))
    assert "judge" in data
    assert not re.search(r"(?<!\\)(\\\\)*\\u202e", data), "decoded, it would be obeyed"


def test_a_document_and_its_charts_lie_together(small, tmp_path):
    document, *drawn = report.write(small, SUPPLIES, small / "small.md")
    assert drawn
    assert all(path.relative_to(small).as_posix() in document.read_text() for path in drawn)


def test_charts_for_papers(small):
    drawn = files.write_charts(report.document(small, SUPPLIES), "png", small / "charts")
    assert drawn
    assert {p.parent for p in drawn} == {small / "charts"}
    assert all(p.read_bytes().startswith(b"\x89PNG") for p in drawn)


@pytest.mark.parametrize("name", ["report.html", "report.md", "report.json"])
def test_where_no_report_can_be_written(small, tmp_path, name):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError) as caught:
        report.write(small, SUPPLIES, tmp_path / "file" / name)
    assert str(tmp_path / "file") in caught.value.message


def test_a_saved_report_renders_the_same_elsewhere(made, tmp_path):
    (saved,) = files.write(made, tmp_path / "saved.json")
    again = files.load(saved)
    assert html.render(again) == html.render(made)
    assert markdown.render(again, "charts") == markdown.render(made, "charts")
    assert screen.lines(again, 80) == screen.lines(made, 80)


def test_where_no_table_has_all_cells_the_terminal_shows_that_of_the_answer(made):
    told = msgspec.structs.replace(made, cells=None, lead="stability")
    assert told.led is not None
    first = told.led.finding.tables[0]
    for width in (60, 80, 200):
        shown = printed.lines(told, width)
        assert words.text(first.title) in shown
        assert max(map(len, screen.table(first, width, of="row"))) <= width


def test_a_saved_report_has_its_messages_as_text_too(made):
    first = json.loads(files.encode(made))["answers"][0]
    assert first["text"] == words.text(made.answers[0])


CHART: dict[str, Any] = {"title": "t", "spec": {}, "alternative": "a"}
CELLS: dict[str, Any] = {"title": "t", "columns": [{"key": "a", "title": "a"}]}


@pytest.mark.parametrize(
    "change",
    [
        {"version": 1},
        {"format": "another"},
        {"version": "x"},
        {"answers": [{"type": "message", "id": "no.such", "args": {}}]},
        {"answers": [{"type": "message", "id": "cell; 95 %", "args": {}}]},
        {"sections": 1},
        {"overview": [{"name": "../up", **CHART}]},
        {"overview": 2 * [{"name": "same", **CHART}]},
        {"cells": {"title": "t", "columns": [], "rows": [{"a": {"type": "nothing"}}]}},
        {"cells": {**CELLS, "rows": [{"a": 10**400}]}},
        {"overview": [{"name": str(i), **CHART} for i in range(1_001)]},
        {"entries": [{"label": "a" * 10_000, "said": ""}, *1_000 * [{"label": "", "said": ""}]]},
        {"further": [{**CELLS, "rows": 200 * [{"a": "a" * 50_000}]}]},
        {"cells": {"title": "t", "columns": 501 * CELLS["columns"], "rows": [{"a": 1}]}},
        {"answers": [], "cells": None},
        {"question": "a" * 20_000},
    ],
)
def test_what_is_no_report_is_refused(made, tmp_path, change):
    file = tmp_path / "saved.json"
    file.write_text(json.dumps({**json.loads(files.encode(made)), **change}))
    with pytest.raises(InputError) as caught:
        files.load(file)
    assert str(file) in caught.value.message


def test_a_label_takes_no_memory_a_line(made, tmp_path):
    entries = [{"label": "a" * 1_000_000, "said": "s"}, *100_000 * [{"label": "", "said": "s"}]]
    file = tmp_path / "saved.json"
    file.write_text(json.dumps({**json.loads(files.encode(made)), "entries": entries}))
    script = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30)); "
        "from tare.wiring import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "report", str(file)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (InputError.exit_code, "")
    assert "entries of more than 10,000,000 aligned characters" in done.stderr


def test_what_is_no_file_is_no_report(tmp_path):
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(InputError) as caught:
            files.load(path)
        assert str(path) in caught.value.message


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff", b"[" * 100_000, b"null"])
def test_what_is_no_json_is_no_report(tmp_path, content):
    file = tmp_path / "saved.json"
    file.write_bytes(content)
    with pytest.raises(InputError):
        files.load(file)


def test_a_report_has_the_format_that_its_name_ends_in(small, tmp_path):
    document = report.write(small, SUPPLIES, tmp_path / "small.md")[0].read_text()
    assert not document.startswith("<")
    assert "](small-charts/" in document
    page = report.write(small, SUPPLIES, tmp_path / "small.html")[0].read_text()
    assert page.lower().startswith("<!doctype html")
    with pytest.raises(StoreError, match=r"small\.txt"):
        report.write(small, SUPPLIES, tmp_path / "small.txt")


def test_the_same_results_give_the_same_page(small, tmp_path):
    one = report.write(small, SUPPLIES, tmp_path / "1.html")[0].read_bytes()
    assert report.write(small, SUPPLIES, tmp_path / "2.html")[0].read_bytes() == one


def test_a_sweep_has_the_charts_of_sweeps_alone(every):
    for name in ("sweep", "sweep by platform"):
        assert [f.name for f in every[name].charts] == ["calibration"]


def test_a_name_that_looks_like_a_link_is_a_name(tmp_path):
    names = ["curl --href=x", "<image> href='y'"]
    made = synthetic.make(workloads=names, platforms=("bare",), workers=(1,), trials=8)
    folder = journals.write(made, tmp_path / "out")
    assert files.write_charts(report.document(folder, SUPPLIES), "svg", tmp_path / "charts")


@pytest.mark.parametrize("mark", ["image", "point"])
def test_a_chart_that_refers_to_what_is_elsewhere_is_not_drawn(made, tmp_path, mark):
    seen = {"url": {"value": "http://127.0.0.1:9/x.png"}, "href": {"value": "https://a.example/"}}
    spec = {
        "$schema": made.charts[0].spec["$schema"],
        "config": {},
        "data": {"values": [{"a": 1}]},
        "mark": mark,
        "encoding": {"x": {"field": "a"}, **seen},
    }
    figure = msgspec.structs.replace(made.charts[0], spec=spec)
    hostile = msgspec.structs.replace(made, overview=(figure,), sections=())
    for format in files.CHARTS:
        with pytest.raises(InputError):
            files.write_charts(hostile, format, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_saved_report_that_draws_for_ever_is_given_up(made, tmp_path, monkeypatch):
    from tare.features.experiment import report as command

    monkeypatch.setattr(command, "_DRAWN_WITHIN_S", 0.5)
    with pytest.raises(InputError):
        command._drawn(lambda: time.sleep(60) or [], tmp_path / "a.json")
    with pytest.raises(InputError):
        command._drawn(lambda: os.abort() or [], tmp_path / "a.json")
    with pytest.raises(InputError):
        command._drawn(lambda: [1 / 0], tmp_path / "a.json")
    assert command._drawn(lambda: [tmp_path], tmp_path / "a.json") == [tmp_path]


def test_what_draws_ends_by_itself_where_nobody_waits_for_it(tmp_path, monkeypatch):
    from tare.features.experiment import report as command

    def endless():
        while True:
            pass

    monkeypatch.setattr(command, "_DRAWN_WITHIN_S", 0.5)
    _, end = multiprocessing.Pipe(duplex=False)
    alone = os.fork()
    if alone == 0:
        command._draw(endless, end)
        os._exit(0)
    _, status = os.waitpid(alone, 0)
    assert os.WIFSIGNALED(status)


def test_a_template_from_a_file_is_refused(made, tmp_path):
    """What renders templates runs code of theirs: only those of the source are rendered."""
    file = tmp_path / "saved.json"
    hostile = {"type": "message", "template": "{''.__class__}", "args": {}, "text": ""}
    file.write_text(json.dumps({**json.loads(files.encode(made)), "answers": [hostile]}))
    with pytest.raises(InputError):
        files.load(file)
    with pytest.raises(TypeError):
        msgspec.json.encode(made.answers[0])


def test_what_looks_like_a_template_in_a_file_is_data(made, tmp_path):
    hostile = {"type": "message", "template": "{7 * 7}{''.__class__}", "args": {}, "text": ""}
    document = json.loads(files.encode(made))
    saved = {**document, "evil": hostile, "further_values": [{"type": "message", "args": 1}]}
    file = tmp_path / "saved.json"
    file.write_text(json.dumps(saved))
    again = json.loads(files.encode(files.load(file)))
    assert again["evil"] == hostile
    assert again["further_values"] == saved["further_values"]
    assert data.builtins({"spec": {"title": hostile}}) == {"spec": {"title": hostile}}
