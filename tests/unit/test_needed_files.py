"""Files that commands need where a platform has none of this machine's."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import typed

from tare.agent import record
from tare.errors import Typed
from tare.experiment import availability_filter, machine_facts
from tare.experiment.placement import Machine
from tare.experiment.session import files as session_files
from tare.experiment.session.files import Missing, from_here, missing, needed
from tare.experiment.specification import Cell, Experiment
from tare.workloads.specification import WorkloadSpec


def cell(*command: str, **given: object) -> Cell:
    spec = WorkloadSpec(name="a", command=command, **given)  # type: ignore[arg-type]
    return Cell(cell=0, workload=spec, others={"x": "in.txt"})


def test_where_the_files_are_this_machine_s_they_are_not_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        pytest.fail("it looked for the files of every cell")

    monkeypatch.setattr("tare.experiment.session.needed", fail)
    spec = WorkloadSpec(name="a", command=("true",))
    asked = Experiment(name="a", question="b?", workloads=(spec,), factors={})
    found = availability_filter.fitted(asked, Machine.parse(machine_facts.topology()), skip=False)
    assert (found.experiment, found.notes) == (asked, [])


def test_programs_arguments_and_inputs_are_found(tmp_path: Path) -> None:
    for name in ("prog", "in.txt", "std"):
        (tmp_path / name).write_text("a")
    made = cell("./prog", "{x}", "--file=in.txt", "-v", "", directory=str(tmp_path), input="std")
    assert set(needed([made], {})) == {str(tmp_path / n) for n in ("prog", "in.txt", "std")}


def test_programs_are_looked_for_along_the_path_that_the_command_gets() -> None:
    assert needed([cell("sh"), cell("sh", "-c", "true")], os.environ) == (shutil.which("sh"),)
    assert needed([cell("sh")], {"PATH": "/nowhere"}) == ()
    assert needed([cell("tare-no-such-program")], os.environ) == ()


def refused(path: Path) -> bool:
    raise PermissionError(13, "Permission denied", str(path))


def test_what_this_user_may_not_look_at_is_for_the_agent_to_refuse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Path, "is_file", refused)
    assert needed([cell("/hidden/prog", "/hidden/in.txt")], {}) == ()


def test_a_program_given_as_a_word_is_no_file() -> None:
    assert needed([cell("sh", "-c", "true; " * 100)], {}) == needed([cell("sh")], {})
    assert needed([cell("sh", "-c", "true; " * 10_000)], {}) == needed([cell("sh")], {})


def test_kernels_and_what_the_agent_brings_need_none() -> None:
    assert needed([Cell(cell=0, workload=WorkloadSpec(name="a", kernel="null"))], {}) == ()
    assert needed([cell("nothing", of_agent=True)], os.environ) == ()


def test_a_program_that_is_not_there_is_not_needed(tmp_path: Path) -> None:
    assert needed([cell("./no-such", directory=str(tmp_path))], {}) == ()


def test_a_command_of_files_starts_among_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog").touch()
    (tmp_path / "in.txt").touch()
    made = from_here(record.Command(argv=("./prog", "in.txt"), environment={}, input="in.txt"))
    assert (made.directory, made.input) == (str(tmp_path), str(tmp_path / "in.txt"))
    # What names none of them starts where the platform says: the directory need not be there.
    other = record.Command(argv=("/bin/sh", "-c", "true"), environment=dict(os.environ))
    assert from_here(other) == other


def test_a_program_is_the_one_that_this_machine_finds(tmp_path: Path) -> None:
    program = tmp_path / "sh"
    program.touch(0o755)
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    made = from_here(record.Command(argv=("sh", "-c", "true"), environment=path))
    assert made.argv == (str(program), "-c", "true")
    absent = record.Command(argv=("no-such-program",), environment=path)
    assert from_here(absent) == absent


def test_a_way_that_goes_up_becomes_a_whole_path(tmp_path: Path) -> None:
    for name in ("prog", "in.txt"):
        (tmp_path / name).write_text("a")
    (tmp_path / "sub").mkdir()
    words = ("../prog", "--file=../in.txt", "sub/../../in.txt", "../nothing", "..")
    made = cell(*words, directory=str(tmp_path / "sub"))
    (tmp_path / "sub" / "sub").mkdir()
    assert set(needed([made], {})) == {str(tmp_path / "prog"), str(tmp_path / "in.txt")}
    job = record.Command(argv=words, environment={}, directory=str(tmp_path / "sub"))
    found = from_here(job)
    assert found.argv == (
        str(tmp_path / "prog"), f"--file={tmp_path}/in.txt", str(tmp_path / "in.txt"),
        "../nothing", "..",
    )  # fmt: skip


def test_what_cannot_be_run_is_known_beforehand(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("a")
    folder = str(tmp_path)
    for command, name, why in (
        (("./nothing",), "./nothing", "not found"),
        (("./plain",), "./plain", "not executable"),
        ((folder,), folder, "a directory"),
        (("tare-no-such-program",), "tare-no-such-program", "not found"),
    ):
        (found,) = missing([cell(*command, directory=folder)] * 2, os.environ)
        assert (found.name, found.why) == (name, why)
        typed.check_hint(found.fix)
    assert missing([cell("sh", input="no.txt")], os.environ) == (Missing("no.txt", "not found"),)
    there = cell("sh", directory=f"{folder}/plain")
    assert missing([there], os.environ) == (Missing(f"{folder}/plain", "no directory"),)
    assert missing([cell("sh", "no.txt")], os.environ) == ()


@pytest.mark.parametrize(
    ("first", "why", "fix"),
    [
        ("#!/bin/sh\r", "carriage return", "sed -i 's/\\r$//' './a b'"),
        ("#!/usr/bin/env sh\r", "carriage return", "sed -i 's/\\r$//' './a b'"),
        ("#!/no/such/sh -e", "/no/such/sh as its interpreter", "sed -i '1s|/no/such/sh|"),
        ("#! /no/such/interpreter", "/no/such/interpreter as its interpreter", "head -1 './a b'"),
        ("#!/x';touch${IFS}there;'/sh", "as its interpreter", "head -1 './a b'"),
        ("#!/x&/sh", "/x&/sh as its interpreter", "head -1 './a b'"),
        ("echo 1", "neither a binary nor a script", "sed -i '1i #!/bin/sh' './a b'"),
        ("", "empty", "ls -l './a b'"),
        ("#!/bin/sh", None, None),
        ("#! /usr/bin/env sh", None, None),
        ("#!/bin/sh -e\r", None, None),
        ("\x7fELF of another machine", None, None),
    ],
)
def test_why_the_kernel_refuses_a_file_is_known_beforehand(
    first: str, why: str | None, fix: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_files, "_OTHER_FORMATS", tmp_path / "none")
    file = tmp_path / "a b"
    file.write_text(f"{first}\nexit 0\n" if first else "", newline="")
    file.chmod(0o755)
    found = missing([cell("./a b", directory=str(tmp_path))], os.environ)
    assert len(found) == (why is not None)
    if why is not None and fix is not None:
        assert found[0].name == "./a b"
        assert why in found[0].why
        assert isinstance(found[0].fix, Typed)
        typed.check_hint(found[0].fix)
        assert found[0].fix.startswith(fix)
        # What is to be typed does it.
        if fix.startswith("sed"):
            line = found[0].fix.partition("   (")[0]
            subprocess.run(["sh", "-c", line], cwd=tmp_path, check=True)
            assert missing([cell("./a b", directory=str(tmp_path))], os.environ) == ()
            subprocess.run([file], check=True, stdout=subprocess.DEVNULL)


def test_of_what_is_made_first_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing([cell("./built", setup="make built")], os.environ) == ()
    assert missing([cell("./built", prepare="make built")], os.environ) == ()
    monkeypatch.setattr(Path, "exists", refused)
    assert missing([cell("/hidden/prog")], os.environ) == ()
