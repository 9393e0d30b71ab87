"""The blog's application: what users do, and when JMeter's requests were due."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from tare.experiment.file import application

FOLDER = Path(application.built_in()["wordpress"])
BEGAN = 1_700_000_000_000
PAUSE_S = 2

needs_perl = pytest.mark.skipif(shutil.which("perl") is None, reason="needs perl")


def _due(rate: float, seconds: float, seed: int) -> list[int]:
    """Draw the times of arrival, in ms, as JMeter's open model does."""
    state = (seed ^ 0x5DEECE66D) % 2**48

    def bits(wanted: int) -> int:
        nonlocal state
        state = (state * 0x5DEECE66D + 0xB) % 2**48
        return state >> (48 - wanted)

    drawn = [((bits(26) << 27) + bits(27)) / 2**53 * seconds for _ in range(int(rate * seconds))]
    return [BEGAN + int((PAUSE_S + at) * 1000 + 0.5) for at in sorted(drawn)]


def _results(path: Path, starts: list[int], quoted: str = "") -> None:
    with path.open("w") as file:
        file.write('timeStamp,label,threadName,success,failureMessage,"TESTSTART.MS"\n')
        for number, start in reversed([*enumerate(starts, 1)]):
            file.write(f"{start},home,arrivals 1-{number},true,{quoted},{BEGAN}\n")


def _intended(path: Path, rate: float = 20, seconds: float = 10, seed: int = 7):  # type: ignore[no-untyped-def]
    return subprocess.run(
        ["perl", FOLDER / "intended.pl", *map(str, (rate, seconds, seed, PAUSE_S)), path],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_random_is_that_of_java():
    # java.util.Random(42).nextDouble() is 0.7275636800328681.
    assert _due(1, 1, 42) == [BEGAN + 2728]


@needs_perl
def test_intended_starts_are_drawn_again(tmp_path):
    due = _due(20, 10, 7)
    late = [start + number % 7 for number, start in enumerate(due)]
    _results(tmp_path / "r.csv", late, quoted='"one, ""two""\nand three"')
    done = _intended(tmp_path / "r.csv")
    assert done.returncode == 0, done.stderr
    with (tmp_path / "r.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["intended"]) for row in rows] == due[::-1]
    assert "largest 6 ms of 200 requests" in done.stdout


@needs_perl
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda due: due[:-1], "199 rows of 200 arrivals"),
        (lambda due: [start - 10 for start in due], "started -10 ms before it was due"),
        (lambda due: [start + 1500 for start in due], "less than 1500 ms late"),
        (lambda due: _due(20, 10, 8), "JMeter draws other times"),
    ],
)
def test_results_of_another_schedule_are_refused(tmp_path, change, why):
    _results(tmp_path / "r.csv", change(_due(20, 10, 7)))
    done = _intended(tmp_path / "r.csv")
    assert done.returncode == 1
    assert why in done.stderr
    assert "intended" not in (tmp_path / "r.csv").read_text()


def test_open_and_closed_load_have_one_image():
    closed, opened = application.read("wordpress"), application.read("wordpress-open")
    assert closed.image == opened.image
    assert closed.prepare == opened.prepare
    assert closed.services == opened.services
    assert (closed.driver.load, opened.driver.load) == ("closed", "open")
    assert {one.name for one in opened.parameters} == {"folder", "rate", "seconds", "visit"}
    assert closed.digest != opened.digest


def test_all_files_are_in_the_image():
    found = application.read("wordpress")
    named = {*found.image.files, found.image.artefact_list, "application.toml"}
    assert named == {path.name for path in FOLDER.iterdir()}


def _visit(tmp_path: Path, content: Any) -> subprocess.CompletedProcess[str]:
    """Have the plans made of a visit."""
    path = tmp_path / "visit.har"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return subprocess.run(
        ["perl", FOLDER / "visit.pl", path, FOLDER, tmp_path],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def _entry(url: str = "http://blog/", **more: Any) -> dict[str, Any]:
    return {"request": {"method": "GET", "url": url, **more.pop("request", {})}, **more}


def _archive(*entries: Any) -> dict[str, Any]:
    return {"log": {"version": "1.2", "entries": [*entries]}}


def _walked(tmp_path: Path, plan: str, group: str) -> list[dict[str, str]]:
    """Return what a group of JMeter's threads does: each request with its properties."""
    threads = ElementTree.parse(tmp_path / f"{plan}.jmx").getroot().find("hashTree/hashTree")
    assert threads is not None
    children = [*threads]
    at = next(i for i, one in enumerate(children) if one.get("testname") == group)
    tree = children[at + 1]
    if plan == "open" and group == "arrivals":
        tree = tree[-1]
    found: list[dict[str, str]] = []
    for one, below in zip(tree, [*tree][1:], strict=False):
        if one.tag == "HTTPSamplerProxy":
            texts = {prop.get("name", ""): prop.text or "" for part in (one, below)
                     for prop in part.iter("stringProp")}  # fmt: skip
            found.append({"label": one.get("testname", ""), **texts})
    return found


@needs_perl
def test_a_visit_is_in_the_order_of_starts_and_of_one_host(tmp_path):
    done = _visit(tmp_path, _archive(
        _entry("http://blog/late", startedDateTime="2026-03-01T12:00:09Z"),
        _entry("https://elsewhere/ad.js", startedDateTime="2026-03-01T12:00:01Z"),
        _entry("http://blog", startedDateTime="2026-03-01T14:00:00+02:00"),
    ))  # fmt: skip
    assert done.stdout == "a visit of 2 requests\n"
    assert (tmp_path / "steps").read_text() == "2\n"
    paths = [one["HTTPSampler.path"] for one in _walked(tmp_path, "closed", "users")]
    assert paths == ["/", "/late"]


@needs_perl
def test_what_goes_to_others_is_left_out_unread(tmp_path):
    archive = _archive(
        _entry("data:image/png;base64,AAAA", request={"method": "${x}"}),
        _entry("http://blog/", comment="", time=-1),
        _entry("http://other/?a=${x}", request={"method": "CONNECT"}, time=-5),
        _entry("wss://blog/socket"),
        _entry("http://blog/b", time=1e-05),
    )
    done = _visit(tmp_path, b"\xef\xbb\xbf" + json.dumps(archive).encode())
    assert done.stdout == "a visit of 2 requests\n", done.stderr
    assert [one["label"] for one in _walked(tmp_path, "closed", "users")] == ["GET /", "GET /b"]


@needs_perl
def test_the_plans_have_each_request_in_order(tmp_path):
    done = _visit(tmp_path, _archive(
        _entry("http://blog/a?p=1&q=2#x", comment="first", startedDateTime="2026-03-01T12:00:01Z",
               time=250),
        _entry("http://blog/b", startedDateTime="2026-03-01T12:00:04.000+00:00", time=20,
               _expect="<b>&", request={
                   "method": "POST", "postData": {"text": "a=1&b=\n2", "mimeType": "x/y"}}),
        # Started before the one above was answered, as browsers do: the user does not wait.
        _entry("http://blog/c", comment="a\nb" + "é" * 300,
               startedDateTime="2026-03-01T14:00:04.010+0200"),
        _entry("http://blog/d", _think_ms=7, startedDateTime="2026-03-01T12:00:05Z"),
    ))  # fmt: skip
    assert done.returncode == 0, done.stderr
    for plan, group, thinks in (
        ("closed", "users", [None, "2750", None, "7"]),
        ("closed", "warm-up", [None] * 4),
        ("open", "arrivals", [None] * 4),
        ("open", "warm-up", [None] * 4),
    ):
        steps = _walked(tmp_path, plan, group)
        assert [one["HTTPSampler.path"] for one in steps] == ["/a?p=1&q=2", "/b", "/c", "/d"]
        assert [one["HTTPSampler.method"] for one in steps] == ["GET", "POST", "GET", "GET"]
        assert [one["label"] for one in steps][:2] == ["first", "POST /b"]
        assert steps[2]["label"] == "a b" + "é" * 197
        assert (steps[1]["Argument.value"], steps[1]["Header.value"]) == ("a=1&b=\n2", "x/y")
        assert steps[1]["0"] == "<b>&"
        assert [one.get("ConstantTimer.delay") for one in steps] == thinks


@needs_perl
def test_the_default_visit_is_two_requests_at_once(tmp_path):
    assert _visit(tmp_path, (FOLDER / "visit.har").read_bytes()).returncode == 0
    for plan, group in (("closed", "users"), ("open", "arrivals")):
        home, post = _walked(tmp_path, plan, group)
        assert (home["label"], home["HTTPSampler.path"], home["0"]) == ("home", "/", "<title>tare")
        assert (post["label"], post["HTTPSampler.path"]) == ("post", "/?p=101")
        assert "ConstantTimer.delay" not in {**home, **post}


@needs_perl
@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "no HTTP Archive"),
        (b"[" * 100_000, "no HTTP Archive"),
        (b'{"log": 3}', "no HTTP Archive"),
        (_archive(), "no HTTP Archive"),
        (_archive(3), "entry 1 has no request"),
        (_archive({"request": []}), "entry 1 has no request"),
        (_archive(_entry("ftp://blog/")), "no request by HTTP"),
        (_archive(_entry("http://blog/ /")), "no url of HTTP"),
        (_archive(_entry("http://blog/" + "a" * 9000)), "no url of HTTP"),
        (_archive(_entry(request={"method": "TRACE"})), "another method"),
        (_archive(_entry(_think_ms=4e6)), "more than an hour"),
        (_archive(_entry(_think_ms=-1)), "_think_ms of entry 1 is no time"),
        (_archive(_entry(_think_ms="1e99")), "_think_ms of entry 1 is no time"),
        (_archive(_entry(startedDateTime="2026-02-30T00:00:00Z")), "is no day"),
        (_archive(_entry(startedDateTime="yesterday")), "no time of ISO 8601"),
        (_archive(_entry(comment=["x"])), "label of entry 1 is no text"),
        # JMeter would run what a function has.
        (_archive(_entry(comment="${__groovy(1)}")), "has a ${"),
        (_archive(_entry("http://blog/?a=${__env(HOME)}")), "has a ${"),
        (_archive(_entry(_expect="\0")), "control characters"),
        (_archive(*[_entry()] * 201), "more than 200 requests"),
    ],
)
def test_what_is_no_visit_is_refused(tmp_path, content, why):
    done = _visit(tmp_path, content)
    assert done.returncode == 1
    assert why in done.stderr
    assert not (tmp_path / "closed.jmx").exists()
