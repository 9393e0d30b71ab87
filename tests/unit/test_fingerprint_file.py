"""A fingerprint's file is hostile until it is parsed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fingerprints
import msgspec
import pytest

from tare.errors import StoreError
from tare.experiment.fingerprints.machine.document import (
    Axis,
    Curve,
    Figure,
    Fingerprint,
    Point,
    Problem,
)
from tare.features.machine.fingerprint import file
from tare.results.report import FORMAT, VERSION

GOOD = Fingerprint(
    tare="0",
    agent="0" * 64,
    started="2026-01-01T00:00:00+00:00",
    seconds=1.0,
    effort="quick",
    platform="bare",
    metrics={"a": Figure(value=2.0, ci=(1.0, 3.0), unit="ns", n=3, values=(1.0, 2.0, 3.0))},
    curves={
        "c": Curve(
            unit="ns",
            axes=(Axis(name="size", unit="bytes"),),
            points=(Point(at=(1,), value=1.0, ci=None, n=1),),
        )
    },
    facts={"cpus": 2},
    problems=(Problem(probe="b", why="no"),),
)
#: On an axis that there may not be.
POINT = {"at": [1], "value": 1.0, "ci": None, "n": 1}


def test_what_was_written_is_read(tmp_path: Path) -> None:
    target = tmp_path / "machine.json"
    fingerprints.write(GOOD, target)
    assert file.read(target) == GOOD
    assert [path.name for path in tmp_path.iterdir()] == ["machine.json"]


def changed(**values: Any) -> bytes:
    saved = {"format": FORMAT, "version": VERSION} | json.loads(msgspec.json.encode(GOOD))
    return json.dumps(saved | values).encode()


def metric(**values: Any) -> bytes:
    one = {"value": 2.0, "ci": [1.0, 3.0], "unit": "ns", "n": 3, "values": [1, 2, 3]} | values
    return changed(metrics={"a": one})


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00\xff",
        b"[]",
        b"{}",
        b"[" * 100_000,
        changed()[:-20],
        changed(version=1),
        changed(format="other"),
        changed(version="1"),
        changed(metrics=[]),
        changed(curves={"c": 3}),
        changed(facts={"cpus": None}),
        metric(value="2"),
        metric(value=1e999),
        metric(value=5e-324, ci=None, values=[5e-324] * 3),
        metric(values=[1, 2, 1e300]),
        metric(n=0),
        metric(values=[1.0]),
        metric(ci=[3.0, 4.0]),
        metric(ci=[1.0]),
        changed(
            curves={
                "c": {
                    "unit": "1",
                    "axes": [],
                    "points": [{"at": [1], "value": 1, "ci": None, "n": 1}],
                }
            }
        ),
    ],
)
def test_what_is_no_fingerprint_is_refused_with_what_to_type(tmp_path: Path, data: bytes) -> None:
    target = tmp_path / "machine.json"
    target.write_bytes(data)
    with pytest.raises(StoreError) as caught:
        file.read(target)
    assert caught.value.exit_code == 14
    assert str(target) in caught.value.message
    assert "tare fingerprint --json" in (caught.value.hint or "")


def test_a_larger_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "_SIZE_LIMIT", 100)
    target = tmp_path / "machine.json"
    target.write_bytes(changed())
    with pytest.raises(StoreError, match="larger"):
        file.read(target)


@pytest.mark.parametrize("name", ["none.json", "."])
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError, match="cannot read"):
        file.read(tmp_path / name)
