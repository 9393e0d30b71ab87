"""What is told of platforms: which work, which only emulate, what would change it."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from tare import platforms
from tare.applications import image
from tare.cli.call import Call
from tare.errors import ExperimentError
from tare.features.machine import describe as command
from tare.features.machine.describe import DescribeOptions
from tare.registry import Availability
from tare.render import files, screen
from tare.results.report import Report
from tare.wiring import SUPPLIES

FOUND = {
    "bare": Availability(name="bare", works=True),
    "vm": Availability(name="vm", works=True, emulated=True),
    "ssh": Availability(name="ssh", works=False, why="no host", fix="write it"),
    "docker/runc": Availability(name="docker/runc", works=True),
    "ssh:me@box/docker": Availability(
        name="ssh:me@box/docker", works=False, why="ssh:me@box/docker did not start: no engine"
    ),
}


def describe(kind: str, names: Sequence[str] = ()) -> Report:
    given = DescribeOptions(kind=kind, names=names)
    made: Report = command.describe.work(given, Call(SUPPLIES, "describe"))
    return made


def described(*words: str) -> list[str]:
    """Return the lines of a terminal."""
    kind, *names = words
    return [line.text for line in screen.lines(describe(kind, names), 120)]


@pytest.fixture(autouse=True)
def tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def availability(stack: str, *_: object, runs_commands: bool = False, **__: object) -> object:
        if runs_commands and stack == "docker/runc":
            return Availability(name=stack, works=False, why="no image", fix="name one")
        return FOUND[stack]

    monkeypatch.setattr(platforms, "availability", availability)
    monkeypatch.setattr(platforms, "offered", lambda: tuple(FOUND)[:4])
    monkeypatch.setattr(platforms, "slow", lambda: ("vm/docker",))


def test_each_says_whether_it_works_and_what_to_type() -> None:
    lines = [line.rstrip() for text in described("platforms") for line in text.splitlines()]
    assert ["bare", "yes", "–"] in [line.split() for line in lines]
    assert any(line.startswith("vm") and "emulated" in line for line in lines)
    # Yes is said of what runs commands as well.
    assert any(line.startswith("docker/runc  kernels") and "no image" in line for line in lines)
    assert any(line.startswith("ssh:HOST") and "no host" in line for line in lines)
    assert "hint: write it" in [line.strip() for line in lines]
    assert any(line.startswith("vm/docker") and "not tried" in line for line in lines)


def test_stacks_that_are_named_are_tried_alone() -> None:
    said = "\n".join(described("platforms", "ssh:me@box/docker"))
    assert "ssh:me@box/docker" in said
    assert "no engine" in said
    assert "did not start" not in said
    assert "bare" not in said


def test_programs_are_told_the_same() -> None:
    told = {
        one["name"]: one for one in json.loads(files.encode(describe("platforms")))["platforms"]
    }
    assert told["vm"]["emulated"] is True
    assert (told["docker/runc"]["works"], told["docker/runc"]["commands"]) == (True, False)
    assert told["ssh"]["argument"] == "HOST"
    assert told["vm/docker"]["works"] is None
    assert (told["ssh"]["why"], told["ssh"]["fix"]) == ("no host", "write it")


def test_nothing_else_is_stacked() -> None:
    with pytest.raises(ExperimentError, match="only platforms") as caught:
        describe("kernels", ["bare"])
    assert (caught.value.hint or "").split() == ["tare", "describe", "platforms", "bare"]


def test_an_application_is_described_with_its_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image, "size_bytes", lambda application: None)
    told = "\n".join(described("applications", "wordpress-open"))
    assert "requests a second" in told
    assert "cassandra" not in told
    with pytest.raises(ExperimentError) as caught:
        describe("wordpress-open")
    assert caught.value.hint == "tare describe applications wordpress-open"


def test_a_slip_in_one_stack_is_told_before_any_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def tried(stack: str, *_: object, **__: object) -> Availability:
        raise AssertionError(f"{stack} was tried")

    monkeypatch.setattr(platforms, "availability", tried)
    with pytest.raises(ExperimentError, match="no platform layer 'silly'"):
        describe("platforms", ["bare", "silly"])
