"""The page of a fingerprint: what it says, of all probes or of one."""

from __future__ import annotations

import functools
import json
import re
from html.parser import HTMLParser

import fingerprints
import msgspec
import pytest
import vega_lite
from fingerprints import KIB, MIB
from said import args, template

from tare.experiment.fingerprints.machine.document import Curve
from tare.features.machine.fingerprint import cycles, page_figures, page_strides, summary
from tare.features.machine.fingerprint import page as fingerprint_page
from tare.render import files, html, words
from tare.render.charts.heat_map import heat_map
from tare.render.charts.lines import place
from tare.render.tables import lay
from tare.render.words import text


@functools.cache
def page(**asked):
    """Return the page of a fingerprint; the same one to every test."""
    return fingerprint_page.make(
        fingerprints.make(**asked), fingerprints.probes(), "tare fingerprint --full"
    )


def figure_tables(page):
    return [t for s in page.sections for t in s.finding.tables if t.title == "Every figure"]


def every_figure(page):
    return {figure.name: figure for figure in page.charts}


def test_what_it_can_do_is_told_first_then_the_machine_and_how_far_it_can_be_trusted():
    answers = page().answers
    assert page().further[0].rows[0]["figure"] == "loop.effective_frequency"
    assert [template(said) for said in answers] == [
        {
            "clock": "CPU clock:",
            "host": "the host took",
            "is": "without a name",
            "others": "other programs took",
            "precision": "of the medians",
            "predicted": "within 25 %",
        }[what]
        for what in ("is", "clock", "predicted", "precision", "others", "host")
    ]
    machine = answers[0].args
    assert machine["cpu"].startswith("AMD EPYC")
    assert (machine["made"], machine["hypervisor"], machine["cpus"]) == ("Zen 5", "KVM", 2)
    assert answers[3].args["middle"].unit == "share"
    assert answers[5].args["share"].value == pytest.approx(0.012, rel=0.1)


def test_every_figure_is_in_a_table_with_interval_rounds_and_prediction():
    rows = {row["figure"]: row for t in figure_tables(page()) for row in t.rows}
    assert rows.keys() == fingerprints.FIGURES.keys()
    _, value, sd, rounds, counted, predicted, relative, _, why = rows["memory.latency.l2"].values()
    assert re.fullmatch(r"4\.\d+ ns \[4\.\d+, 4\.\d+\]", words.shown(value))
    assert (rounds, why) == (9, "14 cycles at 3.3 GHz")
    assert sd.unit == "ns"
    assert 0.01 < sd.value / value.value < 0.04
    assert counted is None
    assert words.shown(predicted) == "4.24 ns"
    assert relative.startswith("× 1.0")


def test_every_curve_has_its_chart_and_every_chart_its_words():
    drawn = every_figure(page())
    told = " ".join(drawn)
    in_a_table = {"noise.share", "noise.rate", "noise.longest"}
    for name in fingerprints.curves().keys() - in_a_table:
        assert name.replace(".", "-").replace("_", "-") in told
    assert all(len(figure.alternative) > 25 for figure in drawn.values())
    assert all(json.dumps(figure.spec) for figure in drawn.values())


def test_the_staircase_marks_the_caches_found_and_what_the_kernel_says(monkeypatch):
    monkeypatch.setattr(page_figures, "paragraph", tuple)
    figure = every_figure(page.__wrapped__(only="memory"))["memory-latency"]
    found, reported = (
        {one.args["name"]: one.args["size"] for one in args(figure.alternative, of)["caches"]}
        for of in ("the caches as", "the kernel reports")
    )
    assert reported == {"L1": "48 KiB", "L2": "1 MiB", "L3": "32 MiB"}
    assert found.keys() == reported.keys()
    assert found["L1"].startswith("4")
    text = json.dumps(figure.spec)
    assert "page 4 KiB" in text
    assert "page 2 MiB" in text
    assert '"type": "log"' in text


@pytest.mark.parametrize(
    "only", ["clock", "memory.latency", "cores", "noise", "cpu.credit", "unheard.of", "nothing"]
)
def test_any_part_of_a_fingerprint_has_a_page(only, tmp_path):
    made = fingerprints.make(only=only)
    written = files.write(
        fingerprint_page.make(made, {}, "tare fingerprint clock"), tmp_path / "m.html"
    )
    assert words.sentence(summary.machine(made)) in " ".join(written[0].read_text().split())


@pytest.mark.parametrize("cpus", [1, 2, 128])
def test_maps_are_drawn_for_any_number_of_cpus(cpus, tmp_path):
    written = files.write(
        fingerprint_page.make(fingerprints.make(cpus=cpus), fingerprints.probes(), "tare"),
        tmp_path / "m.html",
    )
    assert written[0].stat().st_size < 6e6


def test_many_cpus_share_a_row_by_their_median():
    values = {(a, b): float(a // 2 + 1) for a in range(128) for b in range(128) if a != b}
    chart, group = heat_map(values, "to", "from", "ns")
    fields = vega_lite.rows(chart)
    assert group == 2
    assert len(fields) == 64 * 64
    assert {f["v"] for f in fields if f["a"] == 10} == {6.0}
    assert len(json.dumps(chart)) < 1e6


def test_equal_values_do_not_look_different():
    chart, _ = heat_map({(0, 1): 45.0, (1, 0): 45.4}, "to", "from", "ns")
    depths = [f["d"] for f in vega_lite.rows(chart)]
    assert max(depths) - min(depths) < 0.1


def test_what_is_of_each_cpu_alone_is_a_table():
    section = next(s for s in page(cpus=8).sections if s.anchor == "quiet")
    table = next(t for t in section.finding.tables if text(t.title) == "By CPU")
    laid = lay(table)
    assert [(h.title, h.unit) for h in laid.heads] == [
        ("CPU", ""), ("noise.share", ""), ("noise.rate", "Hz"), ("noise.longest", "ms"),
    ]  # fmt: skip
    assert [row[0] for row in laid.rows] == [str(cpu) for cpu in range(8)]


def test_strides_are_a_table_by_level_and_a_chart_by_stride():
    section = next(s for s in page().sections if s.anchor == "memory")
    table = next(t for t in section.finding.tables if t.title == "Latency of memory by stride")
    laid = lay(table)
    assert [h.title for h in laid.heads] == [
        "order", "stride", "L1 (16 KiB)", "L2 (256 KiB)", "L3 (4 MiB)", "memory (256 MiB)",
    ]  # fmt: skip
    assert len(table.rows) == 2 * 5
    by = {(row["order"], row["stride"]): row[str(256 * MIB)] for row in table.rows}
    # As planted: the prefetcher hides seven eighths of a load at 64 bytes, and nothing at 512.
    assert by["sequential", "64 bytes"] / by["random", "64 bytes"] == pytest.approx(1 / 8, rel=0.1)
    assert by["sequential", "512 bytes"] / by["random", "512 bytes"] == pytest.approx(1, rel=0.1)
    lines = vega_lite.rows(every_figure(page())["memory-stride-sequential"].spec)
    assert {row["series"] for row in lines} == {
        f"stride {stride}"
        for stride in ("64 bytes", "128 bytes", "256 bytes", "512 bytes", "4 KiB")
    }


def test_figures_and_strides_have_cycles_where_the_frequency_is_known():
    made = fingerprints.make()
    metrics, curves = dict(made.metrics), dict(made.curves)
    cycles.count(metrics, curves)
    made = fingerprint_page.make(
        msgspec.structs.replace(made, metrics=metrics, curves=curves), {}, "tare fingerprint"
    )
    rows = {row["figure"]: row for table in figure_tables(made) for row in table.rows}
    hz = metrics["loop.effective_frequency"].value
    assert rows["memory.latency.l2"]["cycles"] == pytest.approx(
        rows["memory.latency.l2"]["value [95 %]"].value * hz / 1e9
    )
    assert rows["memory.cache.l2"]["cycles"] is None
    in_ns, in_cycles = page_strides.tables(
        msgspec.structs.replace(fingerprints.make(), metrics=metrics, curves=curves)
    )
    assert [c.key for c in in_cycles.columns] == [c.key for c in in_ns.columns]
    key = in_ns.columns[-1].key
    assert in_cycles.rows[0][key] == pytest.approx(in_ns.rows[0][key] * hz / 1e9)


@pytest.mark.parametrize(
    ("facts", "titles"),
    [
        (
            {"l1_bytes": 32 * KIB, "l2_bytes": MIB},
            ["L1 (16 KiB)", "L2 (256 KiB)", "memory (4 MiB)"],
        ),
        ({"l1_bytes": 32 * KIB, "l2_bytes": 8 * MIB}, ["L1 (16 KiB)", "L2 (4 MiB)"]),
        ({}, ["(16 KiB)", "(4 MiB)"]),
    ],
)
def test_columns_of_strides_are_what_was_measured_of_each_level(facts, titles):
    made = fingerprints.make(only="memory.stride")
    points = tuple(p for c in made.curves.values() for p in c.points if p.at[0] <= 4 * MIB)
    curves = {name: msgspec.structs.replace(c, points=points) for name, c in made.curves.items()}
    found, *_ = page_strides.tables(msgspec.structs.replace(made, curves=curves, facts=facts))
    assert [column.title for column in found.columns[2:]] == titles


def test_without_strides_there_is_no_table_of_them():
    assert page_strides.tables(fingerprints.make(only="clock")) == []


def test_too_few_rounds_are_said():
    made = page(rounds=3)
    assert template(made.answers[3]) == "too few rounds"
    rows = [row for t in figure_tables(made) for row in t.rows]
    assert rows
    assert all(row["value [95 %]"].low is None for row in rows)


def test_what_could_not_be_measured_is_told():
    made = page()
    assert made.doubts[0].args["probe"] == "file.read"
    assert "--remote DIR" in made.doubts[0].args["why"]
    assert page(only="clock").doubts == ()
    assert page(only="clock").calm


def test_what_a_hostile_file_says_stays_text():
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    made = fingerprints.make()
    curves = made.curves | {evil: made.curves["unheard.of"]}
    metrics = made.metrics | {evil: made.metrics["clock.vdso"]}
    made = msgspec.structs.replace(
        made, curves=curves, metrics=metrics, facts=made.facts | {"cpu": evil}, platform=evil
    )
    text = html.render(fingerprint_page.make(made, {}, evil))

    class Scripts(HTMLParser):
        found = 0

        def handle_starttag(self, tag, attrs):
            self.found += tag == "script" and ("type", "application/json") not in attrs
            assert tag != "img"

    parser = Scripts()
    parser.feed(text)
    assert parser.found == 2


def test_curves_without_points_are_left_out():
    made = fingerprints.make(only="memory.tlb")
    empty = Curve(unit="ns", axes=made.curves["memory.tlb"].axes, points=())
    made = msgspec.structs.replace(made, curves={"memory.tlb": empty})
    assert page_figures.figures(made, {}) == {}


def test_markdown_has_the_charts_beside_it(tmp_path):
    written = files.write(
        fingerprint_page.make(fingerprints.make(only="memory.tlb"), fingerprints.probes(), "tare"),
        tmp_path / "m.md",
    )
    text = written[0].read_text()
    assert "![" in text
    assert "seed" not in text
    assert {path.suffix for path in written[1:]} == {".svg"}


def test_places_and_values_have_the_digits_that_matter():
    assert place(4096, "bytes") == "4 KiB"
    assert place(49152.0, "bytes") == "48 KiB"
    assert place(16384, "1") == "16,384"
    assert place(1000, "ns") == "1 µs"
