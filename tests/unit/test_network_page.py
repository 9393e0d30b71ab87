"""The page of measured networks: every chart draws what was measured, and says what it left out."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
import vega_lite
from inprocess import invoke
from measuring import ScriptedEnds, measure, sending
from said import ByPhrase, Phrase, args, template

from tare.agent import record
from tare.errors import StoreError
from tare.features.network.measure import page as network_page
from tare.features.network.measure.caveats import caveats
from tare.features.network.measure.summary import summaries
from tare.networks.recording import folder, writer
from tare.render import html
from tare.render.charts.thinning import MOST_BINS, thin
from tare.render.words import paragraph, sentence, shown
from tare.results.message import Message


def a_bucket(path: Path) -> Path:
    script = ScriptedEnds(rate=lambda s: 1e10 if s < 600 else 1e9, lost=((900, 1000),))
    return measure(
        path, script, sending(0, 30, 0), sending(1, 3600), sending(2, 1200, 10, 30),
        sending(3, 1200, 5, 30),
    )  # fmt: skip


def a_sweep(path: Path, **more: object) -> Path:
    phases = [
        msgspec.structs.replace(sending(i, 20), write_bytes=1024 << i) for i in range(11)
    ]  # fmt: skip
    return measure(path, ScriptedEnds(rate=lambda s: 1e8 * (1 + s), **more), *phases)


def test_page_of_a_bucket(tmp_path: Path) -> None:
    page = network_page.of([folder.read(a_bucket(tmp_path / "m"))], "tare net report m")
    names = [figure.name for figure in page.charts]
    assert names == [
        "bandwidth", "round-trips", "latency-over-time", "retransmits", "total",
    ]  # fmt: skip
    assert all(figure.alternative for figure in page.charts)
    drawn = vega_lite.rows(page.charts[0].spec)
    assert any(row.get("why") == "connection reset" for row in drawn)
    # No line joins what lies on both sides of the gap.
    assert len({row["p"] for row in drawn if "p" in row}) == 2
    (shape,) = [one.finding for one in page.sections if one.anchor == "shape"]
    # Headers are counted.
    fall = args(shape.answer, "the rate fell")
    assert (shown(fall["high"]), shown(fall["low"])) == ("10.5 Gbit/s", "1.05 Gbit/s")
    assert "in all:" in [template(one) for one in page.doubts if isinstance(one, Message)]
    text = html.render(page)
    assert "10-30" in text
    assert "Gbit/s" in text
    for one in page.charts:
        json.dumps(one.spec, allow_nan=False)


def test_no_line_is_drawn_through_a_long_rest() -> None:
    start = np.arange(0.0, 40.0)
    values = np.where((start < 10) | (start >= 30), 1.0, np.nan)
    drawn = thin(start, start + 1, values)
    assert list(drawn.part) == [0] * 10 + [1] * 10
    # Rests of a pattern are part of it.
    bursts = thin(start, start + 1, np.where(start % 4 < 1, 1.0, np.nan))
    assert set(bursts.part) == {0}
    assert len(thin(start, start + 1, np.full(40, np.nan))) == 0


def test_page_of_a_sweep_and_several(tmp_path: Path) -> None:
    sweep = folder.read(a_sweep(tmp_path / "sweep", buffer=0.8))
    page = network_page.of([sweep], "tare net report sweep")
    assert page.sections[0].anchor == "sizes"
    assert "1 MiB" in paragraph(page.sections[0].finding.answer)
    assert any("sender's buffer" in sentence(doubt) for doubt in page.doubts)
    both = network_page.of([sweep, folder.read(a_bucket(tmp_path / "bucket"))], "both")
    assert "bucket · 10-30" in str(both.sections)
    html.render(both)


def test_page_of_nothing(tmp_path: Path) -> None:
    with writer.create(tmp_path / "m", folder.read(a_sweep(tmp_path / "s")).asked):
        pass
    with pytest.raises(StoreError, match="holds no measurement"):
        network_page.make([tmp_path / "none"], "x")
    page = network_page.of([folder.read(tmp_path / "m")], "x")
    assert sentence(page.answers[0]) == "Nothing was measured."
    html.render(page)


def test_thinned_points_say_least_median_and_most() -> None:
    n = 50_000
    at = np.arange(n, dtype=float)
    values = np.sin(at / 500)
    values[::7] = np.nan
    values[25_000] = 40.0
    found = thin(at, at + 1, values, [(20_000.0, 20_001.0, "gap")])
    assert len(found) <= MOST_BINS + 1
    assert found.high.max() == 40.0
    assert found.low.min() == np.nanmin(values)
    assert (found.low <= found.middle).all()
    assert (found.middle <= found.high).all()
    assert set(found.part) == {0, 1}
    assert found.each > 1
    assert thin(at[:10], at[:10] + 1, at[:10]).each == 1


def test_summary_of_a_bucket(tmp_path: Path) -> None:
    read = folder.read(a_bucket(tmp_path / "m"))
    by_pattern = {one.pattern: one for one in summaries(read)}
    assert set(by_pattern) == {"full-speed", "10-30", "5-30"}
    full = by_pattern["full-speed"]
    assert full.bandwidth_bps["p99"] == pytest.approx(1e10, rel=1e-6)
    assert full.bandwidth_bps["p50"] == pytest.approx(1e9, rel=1e-6)
    assert full.largest_change == pytest.approx(0.9, rel=1e-6)
    assert by_pattern["10-30"].coefficient_of_variation == pytest.approx(0, abs=1e-6)
    assert full.min_rtt_ns == 90_000
    # The name of the same in every interval of the trace.
    assert msgspec.to_builtins(full)["min_rtt_ns"] == 90_000
    assert full.idle is not None
    assert full.loaded is not None
    assert full.idle.p50_ns < full.loaded.p50_ns
    assert full.limit is None
    said = ByPhrase(caveats(read, summaries(read)))
    assert said["in all:"].args["reasons"] == ["connection reset"]
    assert Phrase("larger than the") in said


@pytest.mark.parametrize(
    ("cpu", "buffer", "limit"),
    [(0.99, 0, "the sender's CPU"), (0.2, 0.9, "buffer was the")],
)
def test_the_sender_was_the_limit(tmp_path: Path, cpu: float, buffer: float, limit: str) -> None:
    path = measure(tmp_path / "m", ScriptedEnds(cpu=cpu, buffer=buffer), sending(0, 60))
    (one,) = summaries(folder.read(path))
    assert one.limit is not None
    assert template(one.limit.said) == limit


def test_a_name_is_no_script(tmp_path: Path) -> None:
    path = tmp_path / "m"
    measure(path, ScriptedEnds(), sending(0, 30), host="<script>alert(1)</script>")
    text = html.render(network_page.of([folder.read(path)], "x"))
    assert "<script>alert" not in text


def test_what_is_no_measurement_is_called_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no measurement"):
        invoke("net", "report", str(tmp_path / "nothing"), catch=False)


def test_segments_at_the_high_rate_and_after_the_fall(tmp_path: Path) -> None:
    script = ScriptedEnds(
        rate=lambda s: 1e10 if s < 600 else 1e9,
        segment_ns=lambda s: [300_000, 500_000, 900_000] if s < 600 else [50_000_000] * 3,
    )
    measured = folder.read(measure(tmp_path / "m", script, sending(0, 1200)))
    (summary,) = summaries(measured)
    assert summary.segment_rtt is not None
    assert summary.segment_rtt.n == 3 * 120
    # Bins are 1/64 wide.
    assert summary.segment_rtt.p99_ns == pytest.approx(50e6, rel=1 / 64)
    page = network_page.of([measured], "x")
    (shape,) = [one.finding for one in page.sections if one.anchor == "shape"]
    told = args(shape.answer, "of single segments:")
    assert told["normal"].value == pytest.approx(500_000, rel=1 / 64)
    assert told["throttled"].value == pytest.approx(50e6, rel=1 / 64)
    (latency,) = [one for one in page.sections if one.anchor == "latency"]
    assert "RTT of each segment: median " in latency.figures[0].alternative
    assert latency.finding.tables[0].rows[0]["segments"] == 360
    assert summary.segments_left_out == 0


def test_the_share_of_segments_that_were_left_out_is_a_caveat(tmp_path: Path) -> None:
    script = ScriptedEnds(segment_ns=lambda _: [250_000_000] * 3, left_out=1)
    measured = folder.read(measure(tmp_path / "m", script, sending(0, 100)))
    (summary,) = some = summaries(measured)
    assert summary.segments_left_out == 1 / 4
    assert args(caveats(measured, some), "for a time")["share"].value == 1 / 4


@pytest.mark.parametrize("refused", [True, False])
def test_segments_that_no_kernel_reports_are_absent_with_the_reason(
    tmp_path: Path, *, refused: bool
) -> None:
    facts = (record.EndFact(name="segment_rtt_refused", value="Protocol not available"),)
    script = ScriptedEnds(facts=facts if refused else ())
    measured = folder.read(measure(tmp_path / "m", script, sending(0, 100)))
    (summary,) = some = summaries(measured)
    assert summary.segment_rtt is None
    told = [one for one in caveats(measured, some) if template(one) == "the kernel of"]
    assert [one.args for one in told] == (
        [{"here": True, "why": "Protocol not available"}] if refused else []
    )
