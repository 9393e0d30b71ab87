"""Reading iperf3's JSON: what the receiver got in each run, in every way that iperf3 writes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from said import Phrase, args, template, templates

from tare import readers
from tare.errors import InputError
from tare.features.audit.audit import Audit, audit
from tare.features.audit.messages import headline, inside, specifications
from tare.features.audit.question import Question
from tare.networks import replay
from tare.networks.shaping.specification import Replay, parse
from tare.readers import ColumnOptions
from tare.readers.iperf3_traces import traces
from tare.readers.readings import counted
from tare.results.message import Chosen, Message, message

DATA = Path(__file__).parents[1] / "data" / "interop" / "iperf3"
#: What 25 Mbit/s on the wire are in payload, with Ethernet's headers.
TCP, UDP = 25e6 * 1448 / 1514, 25e6 * 1448 / 1490


def run(
    *rates: object, seconds: float = 1.0, got: object = None, lost: float = 0.0, **test: Any
) -> dict[str, Any]:
    """Make a client's document: rates of its intervals, and what the server reports at the end."""
    sums = [{"bits_per_second": rate, "seconds": seconds, "sender": True} for rate in rates]
    end: dict[str, Any] = {}
    if got is not None:
        end = {"sum_received": {"bits_per_second": got, "bytes": 1, "lost_percent": lost}}
    return {
        "start": {
            "connected": [],
            "connecting_to": {"host": "192.0.2.1"},
            "version": "iperf 3.12",
            "test_start": test,
        },
        "intervals": [{"streams": [], "sum": one} for one in sums],
        "end": end,
    }


def written(folder: Path, *runs: dict[str, Any]) -> Path:
    file = folder / "iperf.json"
    file.write_text("\n".join(map(json.dumps, runs)))
    return file


def apart(folder: Path, name: str) -> list[Path]:
    """Write the runs of a file to files of their own."""
    text, decoder, files = (DATA / name).read_text(), json.JSONDecoder(), []
    while text.strip():
        document, end = decoder.raw_decode(text.lstrip())
        files.append(folder / f"run{len(files)}.json")
        files[-1].write_text(json.dumps(document))
        text = text.lstrip()[end:]
    return files


def look(*files: Path, value: str | None = None, **columns: Any) -> Audit:
    return audit(files, Question(columns=ColumnOptions(value=value, **columns)))


def test_one_file_is_one_run_whose_value_the_receiver_counted() -> None:
    found = readers.read(DATA / "tcp.json")
    assert found.format == "iperf3"
    (one,) = found.series
    assert one.key == {
        "server": "127.0.0.1",
        "protocol": "TCP",
        "streams": "1",
        "direction": "to server",
        "rate limit": "200 Mbit/s",
        "length": "3 s",
        "write size": "128 KiB",
    }
    assert (one.metric, one.unit, one.lower_is_better) == ("bandwidth received", "bits/s", False)
    assert list(one.values) == [199900970.9663303]
    assert one.trial is not None
    assert args(one.notes, "of warm-up left") == {"count": counted([4], "interval")}
    assert args(one.notes, "(-b): the network") == {"rate": Chosen(200e6, "bits/s")}
    (timeline,) = one.timelines
    assert (timeline.metric, len(timeline.values)) == (
        "bandwidth written to the sender's socket",
        12,
    )
    said = found.specification
    repetitions = args(said.repetitions, "{runs} of {intervals}")
    assert repetitions == {"runs": counted([1], "run"), "intervals": counted([12], "interval")}
    assert said.environment == "Linux 6.1.0 x86_64, iperf 3.12"


def test_one_run_has_a_value_and_no_interval_and_is_rejected() -> None:
    found = look(DATA / "tcp.json")
    (one,) = found.series
    assert (one.trust.verdict, templates(one.trust.reasons)) == ("REJECT", ["give an interval."])
    assert (one.median.estimate, one.median.low) == (199900970.9663303, None)
    assert found.exit_code == 2
    (said,) = [said for _, said in inside(one)]
    assert (said.args["n"], said.args["steady"]) == (12, True)


@pytest.mark.parametrize("is_one_file", [True, False])
def test_six_runs_are_six_trials_of_what_was_received(tmp_path: Path, is_one_file: bool) -> None:
    files = [DATA / "six_runs.json"] if is_one_file else apart(tmp_path, "six_runs.json")
    found = look(*files)
    (one,) = found.series
    assert one.n == 6
    assert one.median.estimate == pytest.approx(TCP, rel=0.02)
    assert one.trials.values.max() < 24e6  # the sender counts 25.6 to 26.9 Mbit/s
    assert set(one.files) == set(files)
    assert one.trust.verdict != "REJECT"
    assert not inside(one)
    if not is_one_file:
        assert len(look(*files, compare=("file",)).series) == 6


def test_runs_in_files_are_in_the_order_of_time(tmp_path: Path) -> None:
    files = apart(tmp_path, "six_runs.json")
    values = look(*files).series[0].trials.values
    assert (look(*reversed(files)).series[0].trials.values == values).all()


def test_runs_under_other_conditions_are_other_series(tmp_path: Path) -> None:
    runs = [run(1e6, got=1e6, target_bitrate=rate) for rate in (10_000_000, 20_000_000)]
    found = readers.read(written(tmp_path, *runs))
    assert [one.key["rate limit"] for one in found.series] == ["10 Mbit/s", "20 Mbit/s"]


@pytest.mark.parametrize(
    ("name", "direction", "truth", "end"),
    [
        ("udp_lossy.json", "to server", UDP, "sent"),
        ("udp_lossy_old.json", "to server", UDP, "sent"),
        ("udp_omit.json", "to server", UDP, "sent"),
        ("udp_reverse.json", "to client", UDP, "received"),
        ("server_udp.json", "to server", UDP, "received"),
        ("server_output_text.json", "to server", UDP, "received"),
        ("server_output_json.json", "to server", UDP, "received"),
        ("stream_udp.jsonl", "to server", UDP, "received"),
        ("stream.jsonl", "to server", 50e6, "written to the sender's socket"),
        ("reverse_parallel.json", "to client", 200e6, "received"),
    ],
)
def test_the_value_is_what_the_receiver_got(
    name: str, direction: str, truth: float, end: str
) -> None:
    (one,) = readers.read(DATA / name).series
    assert (one.metric, one.key["direction"]) == ("bandwidth received", direction)
    assert list(one.values) == [pytest.approx(truth, rel=0.02)]
    assert one.timelines[0].metric == f"bandwidth {end}"
    # The loss inside the run is known to the receiver alone.
    has_loss = one.key["protocol"] == "UDP" and end == "received"
    assert [t.metric for t in one.timelines[1:]] == (["packet loss"] if has_loss else [])


@pytest.mark.parametrize("name", ["bidir.json", "bidir_old.json"])
def test_both_directions_at_once_are_two_series(name: str) -> None:
    found = readers.read(DATA / name)
    assert [one.key["direction"] for one in found.series] == ["to server", "to client"]
    if name == "bidir_old.json":
        assert [one.values[0] for one in found.series] == pytest.approx([TCP, TCP], rel=0.04)
        ends = [one.timelines[0].metric for one in found.series]
        assert ends == ["bandwidth written to the sender's socket", "bandwidth received"]


@pytest.mark.parametrize("name", ["interrupted.json", "server_reverse.json"])
def test_what_the_receiver_never_reported_is_the_senders_and_says_so(name: str) -> None:
    (one,) = readers.read(DATA / name).series
    assert one.metric == "bandwidth sent"
    assert "got is not" in templates(one.notes)
    (traced,) = traces(DATA / name)
    assert "got is not" in templates(tuple(n for n in traced.notes))  # type: ignore[misc]


def test_what_was_lost_is_said_and_is_a_metric() -> None:
    (one,) = readers.read(DATA / "udp_lossy.json").series
    loss = args(one.notes, "{most_sent}")
    assert loss["least"].value == pytest.approx(0.378, abs=1e-3)
    assert loss["least_sent"].value == pytest.approx(40e6, rel=1e-3)
    assert "(-b): the network" not in templates(one.notes)
    for value, metric, truth in (
        ("lost_percent", "packet loss", 37.84),
        ("lost_packets", "lost packets", 3919),
        ("jitter_ms", "jitter", 0.49e-3),
        ("sent_bits_per_second", "bandwidth sent", 40e6),
    ):
        (one,) = readers.read(DATA / "udp_lossy.json", ColumnOptions(value=value)).series
        assert one.metric == metric
        assert list(one.values) == [pytest.approx(truth, rel=0.02)]
    with pytest.raises(InputError, match="has no retransmits"):
        readers.read(DATA / "udp_lossy.json", ColumnOptions(value="retransmits"))


def test_losses_of_the_warm_up_are_left_out() -> None:
    (one,) = readers.read(DATA / "udp_omit.json", ColumnOptions(value="lost_percent")).series
    # iperf3 reports 51 %: packets lost in four seconds, of those sent in three.
    assert list(one.values) == [pytest.approx(38.1, abs=0.1)]


def test_losses_of_several_runs_are_a_range(tmp_path: Path) -> None:
    runs = [
        run(40e6, got=25e6, lost=lost, protocol="UDP", num_streams=1)
        for lost in (30.0, 45.0, 38.0, 0.0)
    ]
    (one,) = readers.read(written(tmp_path, *runs)).series
    assert len(one.values) == 4
    loss = args(one.notes, "{most_sent}")
    assert (loss["least"].value, loss["most"].value) == (pytest.approx(0.3), pytest.approx(0.45))
    assert (loss["runs"], loss["of"]) == (3, 4)


def udp(offered: float, lost: float) -> dict[str, Any]:
    """Make a document of thirty seconds of UDP, of which a share was lost."""
    found = run(
        *[offered] * 30, got=offered * (1 - lost), lost=100 * lost, protocol="UDP", num_streams=1
    )
    for i, one in enumerate(found["intervals"]):
        one["sum"] |= {"start": i, "end": i + 1, "bytes": offered / 8}
    sent = {"bytes": 30 * offered / 8, "bits_per_second": offered}
    got = {"bytes": 30 * offered / 8 * (1 - lost), "jitter_ms": 17.8}
    found["end"] = {"sum_sent": sent, "sum_received": found["end"]["sum_received"] | got}
    return found


@pytest.mark.parametrize(("offered", "lost"), [(1.05e6, 0.32), (941e6, 0.45)])
def test_what_was_offered_is_never_what_the_network_carries(
    tmp_path: Path, offered: float, lost: float
) -> None:
    file = written(tmp_path, udp(offered, lost))
    (one,) = look(file).series
    assert one.median.estimate == pytest.approx(offered * (1 - lost))
    assert one.trust.verdict == "REJECT"
    assert "{most_sent}" in templates(tuple(n for n in one.series.notes))
    (jitter,) = look(file, value="jitter_ms").series
    assert jitter.median.estimate == pytest.approx(17.8e-3)
    (traced,) = traces(file)
    assert traced.trace.rate_bps == pytest.approx([offered * (1 - lost)])
    assert "when: -R or" in [template(n) for n in traced.notes if isinstance(n, Message)]


def test_what_is_replayed_is_what_the_receiver_got() -> None:
    for name, truth in (("udp_lossy.json", UDP), ("udp_reverse.json", UDP), ("six_runs.json", TCP)):
        found = replay.resolved(parse(f"replay:{DATA / name}"))
        assert isinstance(found, Replay)
        lasts, rates = zip(*found.steps, strict=True)
        mean = sum(s * r for s, r in found.steps) / sum(lasts)
        # With headers, that is the rate of the link.
        assert mean == pytest.approx(25e6 * truth / (UDP if "udp" in name else TCP), rel=0.04)
        assert max(rates) < 32e6  # the sender's first second is 33 Mbit/s and more
    said = [template(note) for note in found.notes]
    assert Phrase("little. -R or") in said


def test_the_writes_of_a_steady_link_are_steady() -> None:
    (traced,) = traces(DATA / "six_runs.json")
    sent = traced.trace.on_s > 0
    rates = traced.trace.rate_bps[sent]
    # Intervals of a second have a standard deviation of 15 %.
    assert rates.std() / rates.mean() < 0.06
    assert rates.mean() == pytest.approx(TCP, rel=0.03)


def test_an_interval_that_is_repeated_where_the_server_was_lost_counts_once(tmp_path: Path) -> None:
    lost = {**run(1.0, 2.0, 2.0), "error": "control socket has closed unexpectedly"}
    for one, start in zip(lost["intervals"], (0, 1, 1), strict=True):
        one["sum"] |= {"start": start, "end": start + 1, "bytes": 1}
    file = written(tmp_path, lost)
    (one,) = readers.read(file).series
    assert list(one.timelines[0].values) == [1, 2]
    assert len(traces(file)[0].trace) == 2


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            "Connecting to host 192.0.2.1, port 5201\n"
            "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n"
            "[  5]   0.00-1.00   sec  3.62 MBytes  30.0 Mbits/sec  129   67.9 KBytes\n",
            "iperf's text",
        ),
        (
            "20260101120001,192.0.2.1,56882,192.0.2.2,5001,1,0.0-1.0,2310012988,18480103904\n"
            "20260101120002,192.0.2.1,56882,192.0.2.2,5001,1,1.0-2.0,3485859840,27886878720\n",
            "CSV of iperf 2",
        ),
        (
            'send_parameters:\n{\n\t"tcp":\ttrue\n}\nSNDBUF is 16384\n{\n\t"start":\t{}}\n',
            "debug output",
        ),
    ],
)
def test_other_output_of_iperf_is_refused_with_what_is_read(
    tmp_path: Path, text: str, what: str
) -> None:
    file = tmp_path / "run.txt"
    file.write_text(text)
    for reads in (readers.read, traces):
        with pytest.raises(InputError, match=what) as refused:
            reads(file)
        assert "-J" in (refused.value.hint or "")


def test_headers_are_those_of_the_segment_size(tmp_path: Path) -> None:
    one = udp(1e6, 0.0)
    one["start"]["test_start"]["blksize"] = 200
    assert traces(written(tmp_path, one))[0].trace.wire == pytest.approx(242 / 200)
    one["start"] |= {"tcp_mss": 800, "test_start": {"protocol": "TCP"}}
    assert traces(written(tmp_path, one))[0].trace.wire == pytest.approx(866 / 800)


def test_one_direction_is_replayed_and_says_so() -> None:
    found = replay.trace(DATA / "bidir.json")
    assert args(tuple(found.notes), "is replayed (")["n"] == 2


def test_other_fields_are_had_by_name() -> None:
    (one,) = readers.read(DATA / "six_runs.json", ColumnOptions(value="retransmits")).series
    assert (one.metric, one.unit, one.lower_is_better) == ("retransmits", None, True)
    assert len(one.values) == 6
    with pytest.raises(InputError, match="have no 'heat'"):
        readers.read(DATA / "tcp.json", ColumnOptions(value="heat"))


@pytest.mark.parametrize("name", ["refused.json", "refused.jsonl"])
def test_a_run_that_failed_says_why(name: str) -> None:
    with pytest.raises(InputError, match="unable to connect"):
        readers.read(DATA / name)


def test_a_failed_run_among_others_is_left_out_and_told(tmp_path: Path) -> None:
    failed = {**run(9.0, 9.0), "error": "no route"}
    file = written(tmp_path, *[run(1.0, 2.0, got=1.5 + i) for i in range(6)], failed)
    (one,) = readers.read(file).series
    assert list(one.values) == [1.5 + i for i in range(6)]
    lost = args(one.losses, "failed{% else %}")
    assert (lost["n"], lost["total"], lost["why"]) == (1, 7, ["no route"])
    assert audit([file], Question()).verdict == "DOUBT"


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_a_file_of_a_failed_run_among_others_is_left_out_and_named(tmp_path: Path) -> None:
    files = [
        written(_made(tmp_path / f"{i}"), run(1.0, 2.0, got=1.5 + i % 4 / 100)) for i in range(6)
    ]
    refused = DATA / "refused.json"
    found = audit([*files, refused], Question())
    (one,) = found.series
    assert (one.n, found.verdict, found.exit_code) == (6, "DOUBT", 1)
    (doubt,) = headline(found).args["doubts"]
    assert doubt == message(
        "{% if names | length > 3 %}{names | length} files{% else %}{names | listing}"
        "{% endif %} {% if names | length == 1 %}is a failed run{% else %}are failed runs"
        "{% endif %}",
        names=[str(refused)],
    )
    assert len(specifications(found.files)) == 1
    with pytest.raises(InputError, match="unable to connect"):
        audit([refused, DATA / "refused.jsonl"], Question())
    with pytest.raises(InputError, match=r"has no successful run; of refused\.json"):
        audit([*files, refused], Question(columns=ColumnOptions(compare=("folder",))))


def test_the_whole_after_a_stream_is_not_counted_twice(tmp_path: Path) -> None:
    whole = run(1.0, 2.0, got=1.25)
    events = [{"event": "start", "data": whole["start"]}]
    events += [{"event": "interval", "data": one} for one in whole["intervals"]]
    events += [{"event": "end", "data": whole["end"]}, whole]
    (one,) = readers.read(written(tmp_path, *events)).series
    assert list(one.values) == [1.25]
    assert list(one.timelines[0].values) == [1, 2]


def test_an_interval_cut_short_is_left_out(tmp_path: Path) -> None:
    one_run = run(1.0, 2.0, 3.0, 90.0, got=2.0)
    one_run["intervals"][3]["sum"]["seconds"] = 0.01
    (one,) = readers.read(written(tmp_path, one_run)).series
    assert list(one.timelines[0].values) == [1, 2, 3]
    assert one.notes == (message("{n | counted('interval')} cut short left out", n=1),)


def test_what_is_wrong_is_told_with_its_path(tmp_path: Path) -> None:
    found = readers.read(written(tmp_path, run(1.0, got="fast"), run(1.0, got=-1.0), run(1, got=3)))
    (one,) = found.series
    assert list(one.values) == [3]
    assert [args(d.message, "{place} is {found}") for d in one.defects] == [
        {"place": "document 1.end.sum_received.bits_per_second", "found": "'fast'"},
        {"place": "document 2.end.sum_received.bits_per_second", "found": "-1.0"},
    ]
    broken = run(1.0)
    broken["intervals"][0]["sum"] = 3
    with pytest.raises(InputError, match=r"intervals\[0\].sum: expected an object"):
        readers.read(written(tmp_path, broken))
    with pytest.raises(InputError, match="the run has no intervals"):
        readers.read(written(tmp_path, run()))


def test_a_list_of_runs_is_recognised(tmp_path: Path) -> None:
    runs = [json.loads((DATA / "udp_lossy.json").read_text())] * 2
    file = tmp_path / "runs.json"
    file.write_text(json.dumps(runs))
    found = readers.read(file)
    assert found.format == "iperf3"
    assert len(found.series[0].values) == 2
