"""What differs between two experiments is told as their files write it, and nothing else is."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tare.errors import ExperimentError
from tare.experiment import plan, plan_file
from tare.experiment.catalogue import catalogue
from tare.experiment.file import changes, parse
from tare.experiment.placement import Machine

MACHINE = Machine(
    spread=(0, 1), compact=(0, 1), steps=(1, 2), cores=2, packages=1, memory_bytes=1 << 30
)
FILE = """
[experiment]
name = "judge"
question = "Which sandbox?"
rest = "2 s"
trials = 5
[[workload]]
name = "sort"
command = ["sort", "in.txt"]
timeout = "10 s"
[[workload]]
kernel = "exp_float"
[factors]
platform = ["bare", "isolate"]
workers = [1, 2]
size = ["small"]
[sizes.small]
memory = "256 MiB"
[platforms.isolate]
extra = "--dir=/etc"
"""


def told(then: str, now: str) -> list[str]:
    some = (parse(text, "a.toml", catalogue()) for text in (then, now))
    return [*map(changes.sentence, changes.edited(then, now))] if changes.changes(*some) else []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"--dir=/etc"', '"--dir=box=/x"',
         '[platforms.isolate] extra was "--dir=/etc" and is "--dir=box=/x"'),
        ('"2 s"', '"500 ms"', '[experiment] rest was "2 s" and is "500 ms"'),
        ('rest = "2 s"', "", '[experiment] rest was "2 s" and is not given'),
        ('"10 s"', '"11 s"', '[workload.sort] timeout was "10 s" and is "11 s"'),
        ('timeout = "10 s"', "", '[workload.sort] timeout was "10 s" and is not given'),
        ('"in.txt"', '"a b"', '[workload.sort] command was ["sort", "in.txt"] and is '
         '["sort", "a b"]'),
        ("[1, 2]", "[1]", "[factors] workers was [1, 2] and is [1]"),
        ('"256 MiB"', '"1 GiB"', '[sizes.small] memory was "256 MiB" and is "1 GiB"'),
        ('[platforms.isolate]\nextra = "--dir=/etc"', "", "[platforms] is gone"),
        ('[[workload]]\nkernel = "exp_float"', "", "[workload.2] is gone"),
        ('kernel = "exp_float"', 'kernel = "exp_float"\nsize = 7',
         "[workload.2] size was not given and is 7"),
        ("[platforms.isolate]", '[platforms.docker]\nimage = "a"\n[platforms.isolate]',
         "[platforms.docker] is new"),
        ('"10 s"', '"10 s"\nignore_failure = true',
         "[workload.sort] ignore_failure was not given and is true"),
    ],
)  # fmt: skip
def test_a_change_is_told_as_the_file_writes_it(old: str, new: str, words: str) -> None:
    assert old in FILE
    assert told(FILE, FILE.replace(old, new)) == [words]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"2 s"', '"2000 ms"'),
        ("trials = 5", "trials = 9"),
        ("Which", "What"),
        ("[sizes", "\n[sizes"),
    ],
)
def test_what_decides_about_no_trial_is_no_change(old: str, new: str) -> None:
    assert told(FILE, FILE.replace(old, new)) == []


def test_without_a_file_the_fields_that_differ_are_told() -> None:
    was, is_ = (
        parse(text, "a.toml", catalogue()) for text in (FILE, FILE.replace('"2 s"', '"3 s"'))
    )
    assert [*map(changes.sentence, changes.changes(was, is_))] == ["rest_s was 2.0 and is 3.0"]


def refusal(then: str, now: str, **differing: Any) -> str:
    """What a session is told that goes on with another file, or on another machine."""
    was, is_ = (parse(text, "a.toml", catalogue()) for text in (then, now))
    is_ = msgspec.structs.replace(is_, **differing)
    stored, asked = (plan.make(some, plan.cells(some, MACHINE)) for some in (was, is_))
    with pytest.raises(ExperimentError) as caught:
        plan_file.resume(asked, stored, (then, now))
    assert "--out" in (caught.value.hint or "")
    return caught.value.message


def test_what_follows_from_an_edit_is_not_told() -> None:
    """A platform that its new options break is left out; nobody took it out of the file."""
    now = FILE.replace('"--dir=/etc"', '"--dir=/none"')
    without = {"platform": ("bare",), "workers": (1, 2), "size": ("small",)}
    [edit] = told(FILE, now)
    message = refusal(FILE, now, factors=without)
    assert message.endswith(f": {edit}")
    assert "[factors]" not in message


def test_a_machine_that_has_less_is_told_apart_from_an_edit() -> None:
    without = {"platform": ("bare",), "workers": (1, 2), "size": ("small",)}
    less = changes.sentence((("factors", "platform"), ["bare", "isolate"], ["bare"]))
    message = refusal(FILE, FILE, factors=without)
    assert message.endswith(f": {less}")
    edited = refusal(FILE, FILE.replace('["bare", "isolate"]', '["bare"]'))
    assert edited.endswith(f": {less}")
    assert message != edited


def test_all_that_was_edited_is_told() -> None:
    now = FILE.replace('"2 s"', '"3 s"').replace('"10 s"', '"20 s"')
    edits = told(FILE, now)
    assert len(edits) == 2
    assert refusal(FILE, now).endswith(f": {'; '.join(edits)}")
