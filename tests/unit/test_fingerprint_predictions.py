"""Predictions of the user's own: what is read, how it is judged, and what wrong files say."""

from __future__ import annotations

import fingerprints
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.errors import InputError
from tare.experiment.catalogue import catalogue
from tare.features.machine.fingerprint import predictions, summary
from tare.features.machine.fingerprint.figures import figure

PROBES = catalogue().probes


@pytest.fixture
def read(tmp_path):
    def read(written):
        path = tmp_path / "mine.toml"
        path.write_bytes(written if isinstance(written, bytes) else written.encode())
        return predictions.read(path, PROBES)

    return read


@pytest.mark.parametrize(
    ("entry", "name", "value", "in_cycles"),
    [
        ('syscall.getpid = "0.12 µs"', "syscall.getpid", 120.0, False),
        ('"syscall.getpid" = "120ns"', "syscall.getpid", 120.0, False),
        ('[syscall]\ngetpid = "1e0 ns"', None, None, None),
        ('[syscall]\ngetpid = "12 cycles"', "syscall.getpid", 12.0, True),
        ('call.double.7 = "10.5 cycles"', "call.double.7", 10.5, True),
        ('memory.cache.l1 = "32 KiB"', "memory.cache.l1", 32768.0, False),
        ('memory.bandwidth.read.1 = "15 GB/s"', "memory.bandwidth.read.1", 15e9, False),
        ('network.bandwidth.loopback = "8 Gbit/s"', "network.bandwidth.loopback", 1e9, False),
        ('loop.effective_frequency = "3.5 GHz"', "loop.effective_frequency", 3.5e9, False),
        ("file.contention.slowdown = 10", "file.contention.slowdown", 10.0, False),
        ("noise.lost = 2e-5", "noise.lost", 2e-5, False),
        ('noise.lost = "2 %"', "noise.lost", 0.02, False),
    ],
)
def test_a_value_has_the_unit_of_its_figure(read, entry, name, value, in_cycles):
    if name is None:
        with pytest.raises(InputError):
            read(entry)
        return
    (found,) = read(entry).items()
    assert found[0] == name
    assert found[1].value == pytest.approx(value)
    assert found[1].in_cycles is in_cycles
    assert found[1].source == "mine.toml"


@pytest.mark.parametrize(
    ("written", "told", "hint"),
    [
        ("", "has no predictions", 'syscall.getpid = "120 ns"'),
        ('\nsyscall.getpit = "1 ns"', "line 2: there is no figure", 'syscall.getpid = "120 ns"'),
        ('# a\n[syscall]\n\ngetpid = "5"', "line 4: '5' has no unit", "getpid = "),
        ('syscall = { getpid = "5 m" }', "line 1: '5 m' has no unit of time", "getpid = "),
        ('syscall.getpid = "5 GB/s"', "line 1: '5 GB/s' has no unit of time", "getpid = "),
        ('syscall.getpid = "-5 ns"', "line 1: '-5 ns' is negative", "getpid = "),
        ('syscall.getpid = "0 ns"', "line 1: '0 ns' is not above 0", "120 ns"),
        ("syscall.getpid = true", "line 1: the prediction of syscall.getpid is not", "120 ns"),
        ("syscall.getpid = [1]", "line 1: the prediction of syscall.getpid is not", "120 ns"),
        ("syscall.getpid = 1979-05-27", "line 1: the prediction of syscall.getpid", "120 ns"),
        ("syscall.getpid = nan", "line 1: 'NaN' does not begin with a number", "getpid"),
        ('call.int = "1 ns"', "line 1: 'call.int' needs a number", 'call.int.1 = "120 ns"'),
        ('memory.latency = "1 ns"', "line 1: 'memory.latency' is a curve", "tare describe"),
        ('call.int."\\u001b[31m" = "1 ns"', "there is no figure 'call.int.\\x1b[31m'", "call"),
        ('loop.effective_frequency = "3 G"', "no unit of frequency: 'G'", "3.5 GHz"),
        ('noise.lost = "3 ns"', "line 1: '3 ns' has a unit, 'ns'", "1.5"),
        ('memory.cache.l1 = "5 cycles"', "line 1: '5 cycles' has no known unit", "cache.l1 ="),
        ("syscall.getpid = \n", "(at line 1, column 18)", 'syscall.getpid = "120 ns"'),
        ("a." * 200 + "b = 1", "more than 100 dots", "syscall.getpid"),
        (b'\n"\xff" = 1', "line 2 is not UTF-8", "choose another file"),
        (b"#" * (1 << 21), "is larger than 1 MiB", "choose another file"),
        ("x" * 5000 + " = 1", "there is no figure", "tare describe probes"),
    ],
)
def test_wrong_files_are_one_line_that_says_where_and_what_to_type(read, written, told, hint):
    with pytest.raises(InputError) as error:
        read(written)
    assert told in error.value.message
    assert "mine.toml" in error.value.message
    assert hint in error.value.hint
    assert "\n" not in error.value.message
    assert "\x1b" not in error.value.message + error.value.hint
    assert len(error.value.message) < 400


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        predictions.read(tmp_path / "none.toml", PROBES)


@given(st.one_of(st.text(), st.binary()))
def test_whatever_a_file_holds_is_an_error_of_one_line(tmp_path_factory, written):
    path = tmp_path_factory.mktemp("predictions") / "mine.toml"
    path.write_bytes(written if isinstance(written, bytes) else written.encode(errors="replace"))
    with pytest.raises(InputError) as error:
        predictions.read(path, PROBES)
    assert "\n" not in error.value.message


def test_a_users_prediction_is_judged_as_tares_own(read):
    mine = read('syscall.getpid = "20 cycles"\nmemory.latency.l1 = "1.2 ns"\ncall.int.3 = "9 ns"')
    metrics = {
        "loop.effective_frequency": figure([2e9], "Hz"),
        "syscall.getpid": figure([20.0], "ns"),
        "memory.latency.l1": fingerprints.make(only="memory.latency.l1").metrics[
            "memory.latency.l1"
        ],
    }
    found, problems = predictions.apply(metrics, mine)
    assert found["syscall.getpid"].predicted == pytest.approx(10)
    assert summary.ratio(found["syscall.getpid"]) == pytest.approx(2)
    assert found["syscall.getpid"].why == "your prediction (mine.toml)"
    assert found["memory.latency.l1"].predicted == pytest.approx(1.2)
    assert found["memory.latency.l1"].why == (
        "your prediction (mine.toml); tare predicts 1.21 ns: 4 cycles at 3.3 GHz"
    )
    assert found["loop.effective_frequency"] is metrics["loop.effective_frequency"]
    (problem,) = problems
    assert problem.probe == "--predictions"
    assert "call.int.3" in problem.why


def test_cycles_without_a_frequency_are_not_judged(read):
    metrics = {"syscall.getpid": figure([20.0], "ns")}
    found, (problem,) = predictions.apply(metrics, read('syscall.getpid = "20 cycles"'))
    assert found == metrics
    assert problem.why.endswith("tare fingerprint loop syscall.getpid")
