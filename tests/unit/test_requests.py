"""The requests of a load: read from hostile files, and what they come to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from said import template

from tare.applications import requests
from tare.applications.rows import RowsError
from tare.render.words import text
from tare.results.message import Message
from tare.workloads.serving import AskedLoad

US = 1000
HEAD = b"intended_ns,start_ns,duration_ns,label,error\n"
JTL = b"timeStamp,elapsed,label,responseCode,responseMessage,success"
#: Times of JMeter are since the epoch.
EPOCH_MS = 1_700_000_000_000


def rows(*some: tuple[int, int, int, str, str]) -> bytes:
    return HEAD + "".join(",".join(map(str, row)) + "\n" for row in some).encode()


def closed(errors: float = 0.01) -> AskedLoad:
    return AskedLoad("closed", None, 5.0, errors, 0.99, None)


def open_(errors: float = 0.01) -> AskedLoad:
    return AskedLoad("open", 10.0, None, errors, 0.99, "rate")


def why(data: bytes, asked: AskedLoad, counted: float | None = None) -> Message | None:
    table = requests.read(data, "requests")
    found = requests.refusal(asked, requests.load(table), table, counted)
    return None if found is None else found.said


def refused(data: bytes, asked: AskedLoad, counted: float | None = None) -> str | None:
    found = why(data, asked, counted)
    return None if found is None else template(found)


def test_response_times_count_from_the_intended_start() -> None:
    table = requests.read(
        rows((0, 5, 10, "a", ""), (100, 100, 30, "b", "no"), (50, 60, 20, "a", "")), "requests"
    )
    found = requests.load(table)
    assert table["intended_ns"].tolist() == [0, 50, 100]
    assert (found.requests, found.errors) == (3, 1)
    assert found.mean_ns == pytest.approx((15 + 30 + 30) / 3)
    assert found.max_ns == 30
    # Two of three that are due every 50 ns.
    assert found.throughput == pytest.approx(2 / 150e-9)
    assert (found.late_ns, found.at_once) == (pytest.approx(10, rel=0.02), 1)
    assert found.rate == pytest.approx(2 / 95e-9)
    assert found.intended_rate == pytest.approx(2 / 100e-9)


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=50))
def test_quantiles_are_those_of_numpy(durations: list[int]) -> None:
    table = requests.read(rows(*((i, i, d, "a", "") for i, d in enumerate(durations))), "requests")
    found = requests.load(table)
    assert [found.p50_ns, found.p95_ns, found.p99_ns] == pytest.approx(
        np.quantile(durations, (0.5, 0.95, 0.99), method="inverted_cdf")
    )
    assert found.mean_ns == pytest.approx(np.mean(durations))


def test_a_jtl_is_read_with_its_errors_and_lines_inside_of_values() -> None:
    data = (
        JTL
        + f"""
{EPOCH_MS},100,home,200,OK,true
{EPOCH_MS + 10},50,post,500,"Internal
error, twice",false
{EPOCH_MS + 20},7,post,,,false
""".encode()
    )
    table = requests.read(data, "jmeter")
    assert table["error"].tolist() == [None, "Internal\nerror, twice", "failed"]
    assert table["duration_ns"].tolist() == [100_000_000, 50_000_000, 7_000_000]
    assert table["intended_ns"].tolist()[0] == EPOCH_MS * 10**6


def test_a_request_without_an_answer_failed_for_that_reason() -> None:
    data = (
        JTL.replace(b"success", b"success,failureMessage")
        + f"""
{EPOCH_MS},100,home,Non HTTP response code: SocketTimeoutException,Read timed out,false,too small
{EPOCH_MS},100,home,200,OK,false,too small
""".encode()
    )
    assert requests.read(data, "jmeter")["error"].tolist() == ["Read timed out", "too small"]


def test_a_jtl_with_intended_starts_counts_from_them() -> None:
    data = (
        JTL
        + b",intended\n"
        + (
            f"{EPOCH_MS},100,home,200,OK,true,{EPOCH_MS - 40}.5\n"
            # What JMeter cut off is no start before the intended one.
            f"{EPOCH_MS + 100},10,home,200,OK,true,{EPOCH_MS + 100}.9\n"
        ).encode()
    )
    table = requests.read(data, "jmeter")
    assert requests.load(table).max_ns == pytest.approx(139.5e6, rel=1e-3)
    assert requests.load(table).p50_ns == pytest.approx(10e6, rel=1e-3)


def test_received_bytes_are_read_where_they_are_counted() -> None:
    counted = HEAD.replace(b"error", b"error,bytes") + b"1,1,1,a,,300\n2,2,1,a,no,\n"
    assert requests.read(counted, "requests")["bytes"][0] == 300
    assert np.isnan(requests.read(counted, "requests")["bytes"][1])
    assert np.isnan(requests.read(rows((1, 1, 1, "a", "")), "requests")["bytes"]).all()
    jtl = JTL + f",bytes\n{EPOCH_MS},100,home,200,OK,true,51915\n".encode()
    assert requests.read(jtl, "jmeter")["bytes"].tolist() == [51915]
    for wrong in (b"-1", b"9000000000000000000"):
        with pytest.raises(RowsError):
            requests.read(counted.replace(b"300", wrong), "requests")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "is no CSV"),
        (HEAD, "has no request"),
        (b"intended_ns,start_ns,duration_ns,label\n1,1,1,a\n", "file has not"),
        (HEAD + b"1,1,many,a,\n", "is no CSV"),
        (HEAD + b"1,1,1,a\n", "is no CSV"),
        (HEAD + b"1,1,-5,a,\n", "file has an"),
        (HEAD + b"1,,5,a,\n", "file has an"),
        (HEAD + b"1,1,99999999999999999,a,\n", "file has an"),
        (HEAD + b"9223372036854775807,9223372036854775807,5,a,\n", "file has an"),
        (HEAD + b"99999999999999999999999,1,5,a,\n", "is no CSV"),
        (HEAD + b"5,4,1,a,\n", "before they were"),
        (HEAD + b"\xff\xfe\x00,1,1,a,\n", "is no CSV"),
    ],
)
def test_what_is_no_file_of_requests_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(RowsError) as raised:
        requests.read(data, "requests")
    assert template(raised.value.said) == why


@given(st.binary(max_size=400))
def test_no_bytes_bring_it_down(data: bytes) -> None:
    for format_ in ("requests", "jmeter"):
        try:
            requests.load(requests.read(HEAD + data, format_))  # type: ignore[arg-type]
        except RowsError:
            continue


def test_labels_and_errors_are_bounded() -> None:
    table = requests.read(rows((1, 1, 1, "x" * 10_000, "y" * 10_000)), "requests")
    assert len(table["label"][0]) == requests.LONGEST
    assert len(table["error"][0]) == requests.LONGEST


def evenly(n: int, each_ns: int, late_ns: int = 0) -> bytes:
    return rows(*((i * each_ns, i * (each_ns + late_ns), US, "a", "") for i in range(n)))


def test_a_load_that_was_not_reached_makes_no_trial() -> None:
    tenth = 10**8
    assert refused(evenly(100, tenth), open_()) is None
    # The generator began later and later.
    assert refused(evenly(100, tenth, tenth // 50), open_()) == "a second; use"
    # It was meant to be slower than what was asked.
    assert refused(evenly(100, tenth), open_()._replace(rate=20.0)) == "a second; use"
    assert refused(evenly(100, tenth, tenth // 50), closed()) is None


def test_arrivals_at_random_are_not_taken_for_too_few() -> None:
    random = np.random.default_rng(1)
    for _ in range(200):
        starts = np.sort(random.uniform(0, 100e9, random.poisson(1000))).astype(int)
        data = rows(*((int(s), int(s), 1000, "a", "") for s in starts))
        assert refused(data, open_()) is None


def test_errors_and_lost_rows_make_no_trial() -> None:
    data = rows((0, 0, US, "a", ""), (US, US, US, "a", "refused"), (2 * US, 2 * US, US, "a", ""))
    assert refused(data, closed()) == "the load is"
    assert refused(data, closed(errors=0.4)) is None
    assert refused(data, closed(errors=0.4), counted=3) is None
    assert refused(data, closed(errors=0.4), counted=4) == "but its file"


@pytest.mark.parametrize("load", [closed(), open_()])
def test_durations_in_another_unit_than_starts_make_no_trial(load: AskedLoad) -> None:
    def of(durations: list[int], error: str = "") -> bytes:
        # A request every 100 ms.
        return rows(*((i * 10**8, i * 10**8, d, "a", error) for i, d in enumerate(durations)))

    milliseconds = [5, 7, 12, 90, 1200, 6, 8, 9, 11, 4]
    assert refused(of(milliseconds), load) == "by the load"
    assert refused(of([d * 10**6 for d in milliseconds]), load) is None
    # A clock of milliseconds counts most as nothing, and what fails may fail at once.
    assert refused(of([0] * 9 + [10**6]), load) is None
    assert refused(of([0] * 10), load) is None
    assert refused(of(milliseconds, "refused"), load._replace(errors=1.0)) is None


def test_few_requests_are_no_load() -> None:
    assert refused(evenly(8, 10**10), open_()) == "a second; use"
    assert refused(evenly(1, 10**8), open_()) == "a second; use"
    assert refused(evenly(8, 10**8), open_()) is None


def test_a_load_that_is_larger_than_asked_makes_no_trial() -> None:
    assert refused(evenly(1000, 5 * 10**7), open_()) == "load was faster"
    assert refused(evenly(2, 1), open_()) == "load was faster"
    burst = rows(
        (0, 0, US, "a", ""),
        *((5 * 10**9 + i, 5 * 10**9 + i, US, "a", "") for i in range(98)),
        (99 * 10**8, 99 * 10**8, US, "a", ""),
    )
    assert refused(burst, open_()) == "to come at"


def test_more_requests_at_once_than_users_make_no_trial() -> None:
    five = rows(*((0, 0, US, "a", "") for _ in range(5)))
    assert refused(five, closed()) is None
    many = rows(*((0, 0, US, "a", "") for _ in range(9)))
    assert refused(many, closed()) == "under way at"
    # One after another by each of five.
    turns = rows(*((t, t, US, "a", "") for t in range(0, 10 * US, US) for _ in range(5)))
    assert refused(turns, closed()) is None
    assert requests.load(requests.read(turns, "requests")).at_once == 5


def test_a_load_that_is_not_reached_says_what_to_type() -> None:
    found = why(evenly(8, 10**10), open_())
    assert found is not None
    assert text(found).endswith("; use a lower rate, --set rate=…, or a larger --size")


def test_a_column_that_is_there_twice_is_refused() -> None:
    twice = b"intended_ns,intended_ns,start_ns,duration_ns,label,error\n1,1,1,1,a,\n"
    with pytest.raises(RowsError):
        requests.read(twice, "requests")


def test_labels_that_name_single_requests_are_refused() -> None:
    many = rows(*((i, i, 1, f"request {i}", "") for i in range(requests.MOST_LABELS + 1)))
    with pytest.raises(RowsError) as raised:
        requests.read(many, "requests")
    assert template(raised.value.said) == "a kind of"


def test_of_very_many_errors_the_first_ones_are_kept() -> None:
    n = requests.MOST_ERRORS + 50
    errors = ["timeout", *(f"error {i}" for i in range(n)), *["timeout"] * 4, *[""] * 7]
    data = rows(*((i, i, 1, "a", error) for i, error in enumerate(errors)))
    kept = requests.read(data, "requests")["error"].tolist()
    assert len(set(kept)) == requests.MOST_ERRORS + 2
    assert (kept.count("timeout"), kept.count(None)) == (5, 7)
    assert kept.count("another error") == n + 1 - requests.MOST_ERRORS


def test_a_column_that_nobody_needs_may_hold_anything() -> None:
    many = "".join(f"{EPOCH_MS + i},1,home,200,OK,true,{i}\n" for i in range(50_000))
    last = f"{EPOCH_MS + 50_000},1,home,200,OK,true,not a number\n"
    data = JTL + b",Latency\n" + many.encode() + last.encode()
    assert len(requests.read(data, "jmeter")) == 50_001
