"""The commands about fingerprints of networks: what they say, exit codes, complaints."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest
from inprocess import invoke
from said import args, messages, template, templates
from simulated_network import Channel, Network, Silent, measured

from tare import wiring
from tare.cli.call import Call
from tare.errors import ExperimentError, StoreError, UsageError
from tare.experiment.fingerprints.network import cache, file
from tare.experiment.fingerprints.network.difference import compare
from tare.experiment.fingerprints.network.document import Figure, NetworkFingerprint, Starved
from tare.features.network.fingerprint import command as net_fingerprint
from tare.features.network.fingerprint import diff_command, search
from tare.features.network.fingerprint import page as network_fingerprint_page
from tare.features.network.fingerprint.session import Wanted, take
from tare.features.network.measure.client import Ends
from tare.features.network.measure.identified import identify
from tare.features.network.measure.options import MeasureOptions
from tare.features.network.plan.command import PlanOptions, plan
from tare.options import parsing
from tare.render.files import encode
from tare.render.screen import lines, table
from tare.render.terminal import fitted
from tare.results.report import Report


@pytest.fixture(scope="module")
def bucket() -> NetworkFingerprint:
    return measured(Network(), search.Bounds(seconds=60))


@pytest.fixture
def kept(bucket: NetworkFingerprint, tmp_path: Path) -> Path:
    path = tmp_path / "network.json"
    file.write(bucket, path)
    return path


def test_screen_says_bucket_figures_and_both_ends(bucket: NetworkFingerprint) -> None:
    made = network_fingerprint_page.make(bucket, "tare net fingerprint 192.0.2.1")
    said = "\n".join(line.text for line in lines(made, 100))
    assert said.startswith("Answer  Token bucket: high")
    for word in ("unpaced latency, p50", "throttled latency", "128 KiB", "mtu 1500", "refill"):
        assert word in said


def test_diff_answers_by_its_exit_code(kept: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    file.write(measured(Network(high=200e6), search.Bounds(seconds=60)), other)
    assert diff_command.diff(kept, kept).exit_code in (0, 2)
    made = diff_command.diff(kept, other)
    assert made.exit_code == 1
    assert "bucket: high rate" in "\n".join(line.text for line in lines(made, 100))
    found = compare(file.read(kept), file.read(other))
    assert args(diff_command.headline(found), "{of | counted('figure')} differ") == {
        "n": len(found.differing),
        "of": len(found.changes),
    }
    assert found.differing
    assert diff_command.settle(found) == []
    assert json.loads(encode(made))["verdict"] == "differs"


def test_diff_tells_facts_apart_from_how_it_was_measured(
    bucket: NetworkFingerprint,
) -> None:
    other = msgspec.structs.replace(
        bucket, streams=4, here={**bucket.here, "kernel": "9.9", "only_here": "1"}
    )
    found = compare(bucket, other)
    assert [(label, fact.args) for label, fact in diff_command.facts(found)] == [
        ("Setting", {"name": "streams", "before": "1", "after": "4"}),
        ("Fact", {"name": "here kernel", "before": bucket.here["kernel"], "after": "9.9"}),
    ]
    (only,) = diff_command.of_one(found).values()
    assert only.args == {"facts": True, "names": ["here only_here"], "more": 0}


def test_diff_fits_a_terminal_and_cuts_nothing_silently(
    bucket: NetworkFingerprint, kept: Path, tmp_path: Path
) -> None:
    changed = {
        name: msgspec.structs.replace(
            figure, value=2 * figure.value, ci=(1.05 * figure.value, 7.654 * figure.value)
        )
        for name, figure in bucket.figures.items()
        if name.startswith(("latency.unpaced", "bandwidth"))
    }
    less = msgspec.structs.replace(bucket, figures=changed, writes=())
    other = tmp_path / "other.json"
    file.write(less, other)
    said = "\n".join(table(diff_command.diff(kept, other).further[0], 80))
    assert max(map(len, said.splitlines())) <= 80
    assert re.search(r"^unpaced latency, p50 +inconclusive\n +before", said, re.MULTILINE)
    found = compare(bucket, less)
    assert len(found.only_before) > 16
    (only,) = diff_command.of_one(found).values()
    assert (len(only.args["names"]), only.args["more"]) == (6, len(found.only_before) - 6)


def _doubled(figure: Figure, low: float, high: float) -> Figure:
    value = figure.value
    return msgspec.structs.replace(figure, value=2 * value, ci=(low * value, high * value))


def test_an_inconclusive_diff_names_the_first_figure_and_what_would_settle_each(
    bucket: NetworkFingerprint,
) -> None:
    slept = Figure(value=2e4, ci=(1.9e4, 2.1e4), unit="ns", n=9)
    figures = {**bucket.figures, "latency.unpaced.p50": slept}
    changed = {
        "bandwidth.fresh": _doubled(figures["bandwidth.fresh"], 0.5, 7),
        "latency.loaded.p50": _doubled(figures["latency.loaded.p50"], 1.9, 2.1),
        "latency.unpaced.p50": _doubled(figures["latency.unpaced.p50"], 1.9, 2.1),
    }
    before = msgspec.structs.replace(
        bucket, figures={name: figures[name] for name in changed}, writes=()
    )
    starved = Starved(figures=("latency.loaded",), end="sender", waited=0.3, intervals=0.2, tries=3)
    after = msgspec.structs.replace(before, figures=changed, starved=(starved,))
    found = compare(before, after)
    assert {one.figure: one.cause for one in found.changes} == {
        "bandwidth.fresh": "wide",
        "latency.loaded.p50": "cpu",
        "latency.unpaced.p50": "waking",
    }
    (headline,) = messages(diff_command.headline(found))
    assert (headline.args["n"], headline.args["of"]) == (3, 3)
    assert headline.args["first"] == "base bandwidth"
    assert headline.args["change"].value == pytest.approx(2)
    said = diff_command.settle(found)
    assert [template(one) for one in said] == [
        {
            "cpu": "had no CPU.",
            "search": "as far in",
            "waking": ": how deeply",
            "wide": "or when the",
        }[why]
        for why in ("cpu", "wide", "waking")
    ]
    assert [one.args["n"] for one in said] == [1, 1, 1]


def test_an_inconclusive_diff_without_an_inconclusive_figure_says_what_it_is(
    bucket: NetworkFingerprint,
) -> None:
    assert bucket.shaping is not None
    other = msgspec.structs.replace(bucket.shaping, kind="boost")
    found = compare(bucket, msgspec.structs.replace(bucket, shaping=other))
    found = msgspec.structs.replace(
        found, changes=tuple(one for one in found.changes if one.verdict == "same")
    )
    (headline,) = messages(diff_command.headline(found))
    assert headline.args["kinds"] == ["bucket", "boost"]
    assert templates(tuple(diff_command.settle(found))) == ["as far in"]
    nothing = msgspec.structs.replace(found, changes=())
    assert templates(diff_command.headline(nothing)) == ["two have no"]


def test_plan_fits_a_terminal(kept: Path, tmp_path: Path) -> None:
    (trials,) = _plan(kept, tmp_path, ["100Mbit"]).further
    assert max(map(len, table(trials, 80))) <= 80


@pytest.mark.parametrize("width", [40, 80, 200])
def test_rows_stand_in_a_table_or_below_each_other(width: int) -> None:
    name = "a name of some length"
    rows = [("figure", "before", "after", ""), (name, "1 Gbit", "2 Gbit", "up")]
    rows += [("x" * 60, "1", "2", "down")] * (width == 80)
    lines = fitted(rows, width)
    assert max(map(len, lines)) <= max(width, 60)
    text = "\n".join(lines)
    if width == 200:
        assert len(lines) == len(rows)
    else:
        assert text.startswith(f"{name}  up\n    before 1 Gbit · after 2 Gbit")


def test_diff_of_what_is_no_fingerprint(kept: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot read"):
        diff_command.diff(kept, tmp_path / "none.json")


def test_trials_on_another_machine_are_not_counted_here(kept: Path, tmp_path: Path) -> None:
    from tare.experiment import pipeline
    from tare.features.network.plan.measured import measured as count

    experiment = tmp_path / "experiment.toml"
    experiment.write_text(EXPERIMENT)
    prepared = pipeline.prepare(experiment)
    away = [msgspec.structs.replace(cell, platform="ssh:lab") for cell in prepared.cells]
    prepared.cells = tuple(away)
    with pytest.raises(ExperimentError, match="on ssh:lab send from another machine"):
        count(prepared, "")


def test_page_has_pictures_of_all_that_was_measured(bucket: NetworkFingerprint) -> None:
    page = network_fingerprint_page.make(bucket, "tare net fingerprint 192.0.2.1")
    assert {figure.name for figure in page.charts} == {
        "course", "latency", "writes", "write_trips",
    }  # fmt: skip
    assert all(figure.alternative for figure in page.charts)


CALL = Call(wiring.SUPPLIES, "net plan")
EXPERIMENT = """
[experiment]
name = "x"
question = "Does it?"
trials = 50
budget = "1 h"
[[workload]]
name = "send"
command = ["true"]
"""


def _planned(kept: Path, experiment: Path, spend: list[str]) -> Report:
    words = [str(kept), str(experiment), *(word for one in spend for word in ("--spend", one))]
    made: Report = plan.work(parsing.parse("tare net plan", PlanOptions, words), CALL)
    return made


def _plan(kept: Path, tmp_path: Path, spend: list[str]) -> Report:
    experiment = tmp_path / "experiment.toml"
    experiment.write_text(EXPERIMENT)
    return _planned(kept, experiment, spend)


def test_plan_says_what_to_write_into_the_file(kept: Path, tmp_path: Path) -> None:
    made = _plan(kept, tmp_path, ["100Mbit"])
    said = "\n".join(line.text for line in lines(made, 100))
    assert "between trials" in said
    assert 'rest = "1 s"' in said
    assert json.loads(encode(_plan(kept, tmp_path, ["send=100Mbit"])))["verdict"] == "rests"


def test_plan_needs_to_know_what_is_spent(kept: Path, tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="--spend"):
        _plan(kept, tmp_path, [])
    with pytest.raises(ExperimentError, match="no workload of that name"):
        _plan(kept, tmp_path, ["other=1Gbit"])
    with pytest.raises(UsageError, match="--spend 'much'"):
        _plan(kept, tmp_path, ["much"])
    with pytest.raises(ExperimentError, match="one folder"):
        _plan(kept, tmp_path, [str(tmp_path), "1Gbit"])
    with pytest.raises(ExperimentError, match="takes no amounts"):
        _plan(kept, tmp_path, ["measured:eth0", "1Gbit"])
    with pytest.raises(ExperimentError, match="no interface eth77"):
        _plan(kept, tmp_path, ["measured:eth77"])


def test_trials_in_a_network_of_their_own_are_not_counted_on_an_interface(
    kept: Path, tmp_path: Path
) -> None:
    experiment = tmp_path / "networked.toml"
    experiment.write_text(f'{EXPERIMENT}[factors]\nnetwork = ["rate 1Gbit"]\n')
    with pytest.raises(ExperimentError, match="network of their own") as caught:
        _planned(kept, experiment, ["measured"])
    assert "--spend" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "--key"),
        (["--direction", "up"], '"out", "in"'),
        (["--duration", "soon"], "--duration 'soon'"),
        (["--max-bytes", "0Gbit"], "is not above 0"),
        (["--max-bytes", "much"], "--max-bytes 'much'"),
    ],
)
def test_options_that_cannot_be(words: list[str], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        invoke("net", "fingerprint", "192.0.2.1", *words, catch=False)


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ([], 900.0),
        (["--quick"], None),
        (["--quick", "--duration", "1min"], 60.0),
        (["--quick", "--max-bytes", "1Gbit"], 900.0),
    ],
)
def test_a_quick_fingerprint_searches_for_a_bucket_only_with_a_limit(
    tmp_path: Path, words: list[str], seconds: float | None
) -> None:
    from tare.networks import peering

    key = tmp_path / "lab.key"
    peering.make_key(key)
    typed = ["192.0.2.1", "--key", str(key), *words]
    given = parsing.parse("tare net fingerprint", net_fingerprint.TakeOptions, typed)
    wanted = net_fingerprint._wanted(given)
    assert (None if wanted.bucket is None else wanted.bucket.seconds) == seconds


def test_identify_tells_what_is_left_and_keeps_the_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tare.networks import peering
    from tare.networks.recording.folder import trace

    key = tmp_path / "lab.key"
    peering.make_key(key)
    network = Network()
    monkeypatch.setattr(
        "tare.features.network.measure.client.Ends",
        lambda asked: Ends(asked, channel=Channel(network)),
    )
    out = tmp_path / "kept"
    made = identify(MeasureOptions(host="192.0.2.1", key=key, duration=40.0, out=out))
    said = "\n".join(line.text for line in lines(made, 100))
    assert said.startswith("Answer  Token bucket: high")
    assert "Left now" in said
    assert "Full after" in said
    assert len(trace(tmp_path / "kept")) > 30


def test_identify_decides_itself_what_to_send(tmp_path: Path) -> None:
    key = tmp_path / "lab.key"
    given = MeasureOptions(host="192.0.2.1", key=key, pattern=[(10**9, 0)])
    with pytest.raises(ExperimentError, match="--pattern says nothing"):
        identify(given)


def test_interrupted_fingerprint_is_not_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bucket: NetworkFingerprint
) -> None:
    monkeypatch.setattr("tare.host.state.folder", lambda: tmp_path)
    assert net_fingerprint._keep(bucket, None, remember=False) is None
    assert cache.kept() == ()
    assert net_fingerprint._keep(bucket, None, remember=True) is None
    assert cache.kept() == (bucket,)
    # What an older tare took has other names for its figures.
    older = msgspec.structs.replace(bucket, version=1)
    monkeypatch.setattr("tare.experiment.fingerprints.network.cache.kept", lambda: ())
    cache.remember(older)
    monkeypatch.undo()
    monkeypatch.setattr("tare.host.state.folder", lambda: tmp_path)
    assert cache.kept() == ()


def test_a_fingerprint_of_an_older_tare_is_to_be_taken_again(
    tmp_path: Path, bucket: NetworkFingerprint
) -> None:
    path = tmp_path / "old.json"
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(bucket, version=1)))
    with pytest.raises(StoreError, match="version 1 of the file, this one reads 2") as caught:
        diff_command.diff(path, path)
    assert "take it again with" in (caught.value.hint or "")


def test_congestion_control_that_is_refused_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from tare.errors import AgentError

    def opening(asked: object) -> Ends:
        raise AgentError("there is no congestion control furlong here")

    wanted = Wanted(end="192.0.2.1", key="00" * 32, congestion="furlong")
    with pytest.raises(AgentError, match="furlong"):
        take(wanted, Silent(), opening=opening)
    assert msgspec.json.encode(wanted.sizes)
