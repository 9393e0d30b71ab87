"""Which programs can read expected outputs, and copies of inputs for sandboxes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tare.agent.record import User
from tare.errors import ExperimentError, PlatformError
from tare.experiment.catalogue import catalogue
from tare.experiment.specification import Cell
from tare.features.tasks import hiding
from tare.features.tasks.file import parse
from tare.features.tasks.specification import Task

OTHER = User(uid=54321, gid=54321, groups=())


def cells(*platforms: str) -> list[Cell]:
    text = '[tasks]\nfiles = "*.in"\ntimeout = "1 s"\n[[workload]]\ncommand = ["/bin/true"]\n'
    [workload] = parse(text, "set.toml", catalogue())[0].workloads
    return [
        Cell(cell=number, workload=workload, platform=one, others={"task": "/1.in"})
        for number, one in enumerate(platforms)
    ]


def tasks(folder: Path, expected: str = "{}.out") -> list[Task]:
    found = []
    for name in ("a/1", "b/1"):
        path, answer = folder / f"{name}.in", folder / expected.format(name)
        for file in (path, answer):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{name} {file.suffix}")
        found.append(Task(name=name, input=str(path), expected=str(answer), digest=""))
    return found


@pytest.fixture
def public() -> Iterator[Path]:
    """Make a folder that all users can enter."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_platforms_that_hide_nothing_are_named_where_the_user_can_read(public: Path) -> None:
    given = cells("bare", "cgroup", "unshare", "bubblewrap")
    beside = tasks(public)
    assert hiding.readable(given, beside, {}, OTHER) == ("bare", "cgroup")
    for task in beside:
        assert task.expected is not None
        Path(task.expected).chmod(0o600)
    nobody = hiding.readable(given, beside, {}, OTHER)
    owner = User(uid=os.geteuid(), gid=0, groups=())
    assert (nobody, hiding.readable(given, beside, {}, owner)) == ((), ("bare", "cgroup"))
    without = [Task(name="1", input=beside[0].input, digest="")]
    assert hiding.readable(given, without, {}, None) == ()


def test_links_to_what_the_caller_of_sudo_cannot_read_are_refused(public: Path) -> None:
    secret, [task, _] = public / "secret", tasks(public)
    secret.write_text("root's")
    linked = Task(name="1", input=task.input, expected=str(public / "link"), digest="")
    (public / "link").symlink_to(secret)
    hiding.check_links([linked, task], OTHER)
    secret.chmod(0o600)
    hiding.check_links([linked], None)
    with pytest.raises(ExperimentError, match=r"link leads to .*secret"):
        hiding.check_links([linked], OTHER)
    # Root's own, which is no link, is what the guide recommends.
    hiding.check_links([Task(name="1", input=task.input, expected=str(secret), digest="")], OTHER)


def test_inputs_are_copied_where_answers_lie_beside_them(tmp_path: Path) -> None:
    beside, apart = tasks(tmp_path / "x"), tasks(tmp_path / "y", "answers/{}.out")
    assert hiding.copied(cells("bubblewrap"), beside)
    assert not hiding.copied(cells("bubblewrap"), apart)
    assert not hiding.copied(cells("bare", "unshare"), beside)
    assert hiding.copied(cells("bubblewrap"), tasks(tmp_path / "z", "a/answers/{}.out"))
    (tmp_path / "link").symlink_to(tmp_path / "z/a")
    linked = [
        Task(name="1", input=f"{tmp_path}/link/1.in", expected=f"{tmp_path}/z/a/1.in", digest="")
    ]
    assert hiding.copied(cells("bubblewrap"), linked)


def test_what_sandboxes_show_anyway_is_readable(tmp_path: Path) -> None:
    apart = tasks(tmp_path, "answers/{}.out")
    given = cells("bubblewrap", "docker")
    assert hiding.readable(given, apart, {}, OTHER) == ()
    shown = {"bubblewrap": {"show": f"/var {tmp_path}/answers"}}
    assert hiding.readable(given, apart, shown, OTHER) == ("bubblewrap",)
    system = [Task(name="1", input=apart[0].input, expected="/etc/hosts", digest="")]
    assert hiding.readable(given, system, {}, OTHER) == ("bubblewrap", "docker")


def test_results_are_private_while_programs_run(tmp_path: Path) -> None:
    given, results = tasks(tmp_path / "tasks"), tmp_path / "results"
    (results / "journal").mkdir(parents=True)
    (results / "tasks.json").touch()
    (results / "link").symlink_to(tmp_path / "tasks/a/1.in")
    named = [results / "journal", results / "tasks.json"]
    before = [path.stat().st_mode & 0o777 for path in named]
    with hiding.private(results, given):
        assert [path.stat().st_mode & 0o777 for path in named] == [0o700, 0o600]
    assert [path.stat().st_mode & 0o777 for path in named] == before
    assert (tmp_path / "tasks/a/1.in").stat().st_mode & 0o777 == 0o644


def test_modes_are_put_back_of_the_same_files_alone(tmp_path: Path) -> None:
    given, results, other = tasks(tmp_path / "tasks"), tmp_path / "results", tmp_path / "other"
    for folder in (results, other):
        folder.mkdir()
        (folder / "tasks.json").touch()
    (other / "tasks.json").chmod(0o600)
    linked = other / "linked"
    linked.touch(mode=0o644)
    (results / "linked").hardlink_to(linked)
    with hiding.private(results, given):
        assert linked.stat().st_mode & 0o777 == 0o644
        # As a program may do that the folder above belongs to.
        results.rename(tmp_path / "moved")
        results.symlink_to(other)
    assert (other / "tasks.json").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "moved/tasks.json").stat().st_mode & 0o777 == 0o644


def test_larger_sets_are_shown_and_said_to_be_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hiding, "MOST_COPIED_BYTES", 3)
    beside = tasks(tmp_path)
    assert not hiding.copied(cells("bubblewrap"), beside)
    assert hiding.readable(cells("bubblewrap"), beside, {}, OTHER) == ("bubblewrap",)


def test_copies_have_the_names_and_rights_of_their_inputs(tmp_path: Path) -> None:
    given = tasks(tmp_path)
    Path(given[0].input).chmod(0o640)
    shared = tmp_path / "shared"
    shared.mkdir()
    copies = {task: Path(hiding.copy(given, shared)[task.input]) for task in given[:1]}
    [(task, copy)] = copies.items()
    assert copy.name == "1.in"
    assert copy.read_text() == "a/1 .in"
    about, source = copy.stat(), Path(task.input).stat()
    assert about.st_mode & 0o777 == 0o440
    assert (about.st_uid, about.st_gid) == (source.st_uid, source.st_gid)
    assert sorted(path.read_text() for path in shared.glob("inputs/*/*")) == ["a/1 .in", "b/1 .in"]


def test_an_input_that_is_gone_is_named(tmp_path: Path) -> None:
    given = tasks(tmp_path)
    Path(given[1].input).unlink()
    (tmp_path / "shared").mkdir()
    with pytest.raises(PlatformError, match=r"cannot copy .*b/1\.in"):
        hiding.copy(given, tmp_path / "shared")
