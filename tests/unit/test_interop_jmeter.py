"""JMeter's logs, in all the forms that it writes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from said import args, templates

from tare.errors import InputError
from tare.readers import ColumnOptions, Imported, read
from tare.readers.readings import counted, left_out
from tare.registry import units_of
from tare.results.message import Message, message

DATA = Path(__file__).parents[1] / "data" / "interop" / "jmeter"
HEADER = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success"


def written(folder: Path, text: str) -> Path:
    file = folder / "log.jtl"
    file.write_text(text)
    return file


def lines(*places: int) -> Message:
    return message(
        "{place}{% if more or places | length > 1 %}s{% endif %} {% if more %}"
        "{places | join(', ')} and {more} more{% else %}{places | listing}{% endif %}",
        place="line",
        places=[*places],
        more=0,
    )


def sorted_values(imported: Imported) -> dict[str, list[float]]:
    return {one.key["label"]: sorted(one.values) for one in imported.series}


@pytest.mark.parametrize("name", ["log", "log_xml", "version_2_1"])
def test_each_form_is_recognised_by_jmeter_alone(name: str) -> None:
    file = DATA / f"{name}.jtl"
    head = file.read_bytes()[:4096]
    assert [n for n, unit in units_of("format").items() if unit.recognises(head, file)] == [
        "jmeter"
    ]


@pytest.mark.parametrize("name", ["log", "log_xml"])
def test_requests_are_seconds_in_order_of_time(name: str) -> None:
    imported = read(DATA / f"{name}.jtl")
    assert imported.format == "jmeter"
    good, flaky = imported.series
    assert dict(good.key) == {"label": "search, with a comma"}
    assert dict(flaky.key) == {"label": "flaky"}
    for one in imported.series:
        assert len(one.values) == 30
        assert (one.metric, one.unit, one.lower_is_better) == ("elapsed", "s", True)
        # Requests of one test are no executions of their own.
        assert one.trial is None
        assert one.position is not None
        assert (np.diff(one.position) >= 0).all()
    # What the requests slept, and a little.
    assert 0.010 <= good.values.min() < good.values.max() < 0.1
    assert good.notes == ()
    failures = args(flaky.losses, "failed{% else %}")
    assert (failures["n"], failures["total"], failures["what"]) == (30, 60, "request")
    at = failures["at"].args
    assert (at["place"], len(at["places"]), at["more"]) == ("line", 5, 25)
    failures = args(imported.said, "failed{% else %}")
    assert (failures["n"], failures["total"], failures["at"]) == (30, 90, None)
    repetitions = args(imported.specification.repetitions, "{count} per {unit}")
    assert repetitions == {"count": counted([30], "request"), "unit": "label"}
    assert imported.specification.environment is None


def test_an_older_form_and_its_first_requests() -> None:
    imported = read(DATA / "version_2_1.jtl")
    assert [one.key["label"] for one in imported.series] == ["jakarta_home", "jmeter_home"]
    assert imported.series[0].values[:3].tolist() == [1.452, 0.221, 0.220]


def test_parts_of_samples_are_not_counted_by_themselves(tmp_path: Path) -> None:
    inner = (
        '<httpSample t="1" ts="1" s="true" lb="part"><responseData>x</responseData></httpSample>'
    )
    outer = f'<sample t="5" ts="1" s="true" lb="whole">{inner}{inner}</sample>'
    imported = read(written(tmp_path, f"<testResults>{outer}</testResults>"))
    assert sorted_values(imported) == {"whole": [0.005]}
    assert imported.notes == (
        message(
            "{n | counted('sample')} inside others, such as redirects and parts of "
            "transactions, {% if n == 1 %}is{% else %}are{% endif %} not counted separately",
            n=2,
        ),
    )


def test_faults_are_told_with_their_lines(tmp_path: Path) -> None:
    rows = [("1", "10"), ("2", "x"), ("3", "-5"), ("", "10"), ("5", "")]
    body = "".join(f"{ts},{t},a,200,OK,t,text,true\n" for ts, t in rows)
    imported = read(written(tmp_path, f"{HEADER}\n{body}"))
    (series,) = imported.series
    assert series.values.tolist() == [0.01]
    assert list(series.defects) == [
        left_out(2, 5, "not_finite", lines(3, 6)),
        left_out(1, 5, "negative", lines(4)),
        left_out(1, 5, "no_timestamp", lines(5)),
    ]


def test_requests_that_all_failed_are_said_to(tmp_path: Path) -> None:
    rows = "".join(f"{i},10,a,false\n" for i in range(5))
    imported = read(written(tmp_path, f"timeStamp,elapsed,label,success\n{rows}"))
    (series,) = imported.series
    assert len(series.values) == 0
    assert args(series.losses, "failed{% else %}")["n"] == 5


def test_timestamps_that_are_none_leave_the_order_of_the_file(tmp_path: Path) -> None:
    body = "".join(f"{ts},{t},a,200,OK,t,text,true\n" for ts, t in (("noon", 2), ("night", 1)))
    imported = read(written(tmp_path, f"{HEADER}\n{body}"))
    assert imported.series[0].values.tolist() == [0.002, 0.001]
    assert imported.series[0].position is None
    assert templates(imported.notes) == ["of the file"]


@pytest.mark.parametrize("name", ["log", "log_xml"])
def test_options_choose_columns_and_failed_requests_stay_out(name: str) -> None:
    file = DATA / f"{name}.jtl"
    imported = read(file, ColumnOptions(value="elapsed", group=("threadName",)))
    assert imported.format == "jmeter"
    assert {one.key["threadName"] for one in imported.series} == {
        "Group 1-1",
        "Group 1-2",
        "Group 1-3",
    }
    assert [len(one.values) for one in imported.series] == [20, 20, 20]
    failures = args(imported.said, "failed{% else %}")
    assert (failures["n"], failures["total"]) == (30, 90)
    assert all(one.unit == "s" and one.position is not None for one in imported.series)
    compared = read(file, ColumnOptions(compare=("label",)))
    assert sorted_values(compared) == sorted_values(read(file))
    size = read(file, ColumnOptions(value="bytes", group=("label",))).series[0]
    assert (size.metric, size.unit) == ("bytes", "bytes")
    connect = read(file, ColumnOptions(value="Connect")).series[0]
    assert (connect.unit, dict(connect.key)) == ("s", {"label": "search, with a comma"})


#: Each twentieth request fails after 30 s; its message has commas.
FAILING = [
    ("1619619723088", "30000", "500", '"expected 200, for /a,b"', "false")
    if i % 20 == 8
    else ("1619619723088", f"{180 + i % 7}", "200", "OK", "true")
    for i in range(200)
]


@pytest.mark.parametrize(
    ("separator", "header"), [(",", True), ("\t", True), (",", False), (";", False)]
)
def test_failed_requests_are_left_out_of_any_csv(
    tmp_path: Path, separator: str, header: bool
) -> None:
    names = ["timeStamp", "elapsed", "label", "responseCode", "responseMessage", "threadName",
             "success", "bytes"]  # fmt: skip
    rows = [
        (at, elapsed, "login", code, why, "TG 1-1", good, "2804")
        for at, elapsed, code, why, good in FAILING
    ]
    table = "".join(separator.join(row) + "\n" for row in [*([names] if header else []), *rows])
    file = written(tmp_path, table)
    value, label, at = ("elapsed", "label", "timeStamp") if header else ("c2", "c3", "c1")
    for columns in (ColumnOptions(), ColumnOptions(value=value, group=(label,), order=at)):
        imported = read(file, columns)
        assert imported.format == "jmeter"
        (series,) = imported.series
        assert dict(series.key) == {"label": "login"}
        assert (len(series.values), series.values.max()) == (190, 0.186)
        assert args(series.losses, "failed{% else %}")["n"] == 10


def test_unquoted_commas_are_refused_with_their_line(tmp_path: Path) -> None:
    rows = "1,10,a,200,OK,t,text,true\n1,10,a,500,expected 200, for /a,b,t,text,false\n"
    with pytest.raises(InputError, match="line 3 has 10 values") as told:
        read(written(tmp_path, f"{HEADER}\n{rows}"))
    assert told.value.hint
    assert "quote" in told.value.hint


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (HEADER + "\n", "has a header and no rows"),
        ("<testResults></testResults>", "has no samples"),
        (HEADER + "\n1,2,a\n", "line 2 has 3 values, but there are 8 columns"),
        ("<testResults>\n<httpSample t='1'", "ends early, in line 2"),
    ],
)
def test_refusals_name_the_place(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        read(written(tmp_path, text))
