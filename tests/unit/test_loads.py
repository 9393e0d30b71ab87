"""Loads: what is refused, what is started; the real stress-ng is in the system tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tare import loads
from tare.errors import ExperimentError, PlatformError, TareError
from tare.loads import stress_ng
from tare.registry import checked

NAME = "tare-0123ab-load"


def parameters(**given: object) -> dict[str, object]:
    return checked("the load", stress_ng.UNIT.description, given)


def test_none_is_always_there_and_nothing() -> None:
    assert loads.availability("none").works
    running = loads.start("none", {}, NAME)
    running.check()
    running.stop()
    running.stop()


@pytest.mark.parametrize(
    ("given", "argv"),
    [
        ({}, ["--cpu", "0"]),
        ({"stressor": "memcpy", "workers": 3}, ["--memcpy", "3"]),
        ({"extra": "--taskset '0,1'"}, ["--cpu", "0", "--taskset", "0,1"]),
    ],
)
def test_options_of_stress_ng(given: dict[str, object], argv: list[str]) -> None:
    assert stress_ng.arguments(parameters(**given)) == argv


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"stressor": "--version"}, "cannot be a stressor"),
        ({"stressor": "cpu; rm"}, "cannot be a stressor"),
        ({"extra": "'open"}, "no command line"),
    ],
)
def test_what_cannot_be_options_is_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises(TareError, match=words):
        stress_ng.arguments(parameters(**given))


@pytest.mark.parametrize(
    ("kind", "given", "words"),
    [
        ("stres", {}, "there is no load 'stres'"),
        ("none", {"workers": 1}, "the load none has no 'workers'"),
        ("stress-ng", {"worker": 1}, "has no 'worker'"),
        ("stress-ng", {"workers": -1}, "workers = -1 is not a whole number from 0"),
        ("stress-ng", {"workers": 1.5}, "workers = 1.5 is not a whole number"),
        ("stress-ng", {"workers": True}, "workers = True is not a whole number"),
        ("stress-ng", {"stressor": 1}, "stressor = 1 is not a text"),
    ],
)
def test_wrong_loads_name_what_was_expected(
    kind: str, given: dict[str, object], words: str
) -> None:
    with pytest.raises(ExperimentError, match=words):
        loads.availability(kind, given)
    with pytest.raises(ExperimentError, match=words):
        loads.start(kind, given, NAME)


def test_without_stress_ng_the_line_to_type_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = loads.availability("stress-ng")
    assert not found.works
    assert (found.fix or "").split() == ["sudo", "apt", "install", "stress-ng"]


def test_one_that_ends_by_itself_says_its_last_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stub = tmp_path / "stress-ng"
    stub.write_text('#!/bin/sh\ntest "$1" = --stressors && exec echo cpu\necho no >&2; exit 2\n')
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    with pytest.raises(PlatformError, match=r"ended by itself \(exit code 2\): no"):
        loads.start("stress-ng", {}, NAME)
    assert not (tmp_path / NAME).exists()
    with pytest.raises(PlatformError, match="has no stressor 'memcpy'"):
        loads.start("stress-ng", {"stressor": "memcpy"}, NAME)
