"""The generated structs refuse what is no record, and write jobs as the agent reads them."""

from __future__ import annotations

import json

import msgspec
import pytest

from tare.agent import record
from tare.decoding import DecodeError

SAMPLE = {
    "record": "sample",
    "id": 1,
    "trial": 2,
    "worker": 0,
    "iteration": None,
    "phase": "measured",
    "metric": "wall_ns",
    "source": "perf_cpu",
    "value": 100,
}


def decode(**changes: object) -> record.Record:
    return record.decode(json.dumps({**SAMPLE, **changes}).encode())


def test_a_record_is_read_by_its_tag() -> None:
    assert decode() == record.Sample(
        id=1,
        trial=2,
        worker=0,
        phase="measured",
        metric="wall_ns",
        source="perf_cpu",
        value=100,
    )
    assert record.decode(b'{"record":"done","id":3,"records":0}') == record.Done(id=3, records=0)


def test_integers_stay_exact_and_numbers_stay_numbers() -> None:
    exact = decode(value=2**62 + 1)
    number = decode(value=0.5)
    assert isinstance(exact, record.Sample)
    assert isinstance(number, record.Sample)
    assert exact.value == 2**62 + 1
    assert isinstance(exact.value, int)
    assert number.value == 0.5


@pytest.mark.parametrize(
    "changes",
    [
        {"record": "finding"},
        {"phase": "sometimes"},
        {"value": "100"},
        {"value": None},
        {"trial": -1.5},
        {"unheard_of": 1},
    ],
)
def test_what_is_no_record_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(DecodeError):
        decode(**changes)


@pytest.mark.parametrize("line", [b"", b"{", b"hello", b'{"record":"done","id":3'])
def test_garbage_is_refused(line: bytes) -> None:
    with pytest.raises(DecodeError):
        record.decode(line)


def test_jobs_carry_their_tags() -> None:
    job = record.Trial(
        id=1,
        trial=1,
        nonce=7,
        workload=record.Kernel(name="null", parameters={}, repetitions=1, seed=3),
        workers=(record.Worker(worker=0, cpus=(0,)),),
        iterations=1,
        warmup=0,
        process="fresh",
        tail="loaded",
        linger_ns=0,
        observe=False,
    )
    written = msgspec.json.decode(msgspec.json.encode(job))
    assert written["job"] == "trial"
    assert written["workload"]["kind"] == "kernel"
    assert msgspec.json.decode(msgspec.json.encode(job), type=record.Job) == job
