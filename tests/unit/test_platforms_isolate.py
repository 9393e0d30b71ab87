"""isolate: recorded meta files, hostile ones, and a stand-in for the command itself."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare import platforms
from tare.agent import client
from tare.errors import PlatformError
from tare.platforms import box_file, isolate, stack
from tare.platforms.layer import View

DATA = Path(__file__).parents[1] / "data" / "isolate"
MS = 1_000_000


def values(text: str) -> dict[str, int | float]:
    return {figure.metric: figure.value for figure in box_file.figures(text)}


@pytest.mark.parametrize(
    ("name", "cpu_ms", "wall_ms", "group_kib", "process_kib"),
    [
        ("v1-ok", 220, 231, 256, 1208),
        ("v1-timeout", 389, 400, 256, 1208),
        ("v1-signal", 1, 14, 324, 1372),
        ("v1-missing", 0, 0, 256, 1420),
        ("v1-oom", 21, 30, 20000, 20388),
        ("v2-ok", 222, 222, None, 1420),
        ("v2-timeout", 400, 400, None, 1260),
        ("v2-signal", 1, 1, None, 1268),
        ("v2-missing", 0, 0, None, 1604),
    ],
)
def test_recorded_meta_files(
    name: str, cpu_ms: int, wall_ms: int, group_kib: int | None, process_kib: int
) -> None:
    expected = {
        "instance_cpu_ns": cpu_ms * MS,
        "instance_wall_ns": wall_ms * MS,
        "instance_process_memory_bytes": process_kib * 1024,
    }
    if group_kib is not None:
        expected["instance_memory_bytes"] = group_kib * 1024
    assert values((DATA / f"{name}.meta").read_text()) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "time",
        "time:",
        "time:-1.0",
        "time:nan\ntime-wall:inf",
        "time:1e9",
        "time:1.0 ",
        "time:" + "9" * 1000,
        "max-rss:0x10",
        "time:١.٢",
        "\0\0\0",
    ],
)
def test_what_is_no_figure_is_absent(text: str) -> None:
    assert values(text) == {}


@given(st.text())
def test_no_meta_file_breaks_it(text: str) -> None:
    assert all(value >= 0 for value in values(text).values())


def test_a_meta_file_is_read_as_a_file_only(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "large").write_bytes(b"x" * (box_file.LIMIT + 1))
    assert box_file.read(tmp_path / "pipe") == ""
    assert box_file.read(tmp_path / "link") == ""
    assert box_file.read(tmp_path) == ""
    assert len(box_file.read(tmp_path / "large")) == box_file.LIMIT


def test_versions() -> None:
    assert box_file.version((DATA / "v1.version").read_text()) == "1.10.1"
    assert box_file.version((DATA / "v2.version").read_text()) == "2.6"
    other = "isolate, the npm package"
    assert box_file.version(other) is None


class Stub:
    """The stand-in on PATH, with its boxes and its log."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.boxes, self.claims, self.shared = (
            folder / name for name in ("boxes", "claims", "shared")
        )
        for path in (self.boxes, self.claims, self.shared):
            path.mkdir()
        self._log = folder / "log"
        monkeypatch.setenv("PATH", f"{DATA}:{os.environ['PATH']}")
        monkeypatch.setenv("STUB_LOG", str(self._log))
        monkeypatch.setenv("STUB_BOXES", str(self.boxes))
        monkeypatch.setattr(isolate, "CLAIMS", self.claims)
        monkeypatch.setattr(client, "binary", lambda: DATA / "agent")

    def place(self, number: int = 0, **options: object) -> platforms.Place:
        return platforms.Place(
            name=f"tare-0123ab-{number}", shared=str(self.shared), options={"isolate": options}
        )

    def runs(self) -> list[str]:
        calls = self._log.read_text().splitlines()
        return [call for call in calls if "--run" in call and "--meta" in call]


@pytest.fixture
def stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stub:
    return Stub(tmp_path, monkeypatch)


@pytest.mark.parametrize(("cg", "used"), [("works", True), ("init", False), ("fails", False)])
def test_control_groups_are_used_where_they_work(
    stub: Stub, monkeypatch: pytest.MonkeyPatch, cg: str, used: bool
) -> None:
    monkeypatch.setenv("STUB_CG", cg)
    instance = platforms.start("isolate", stub.place())
    speaking = instance.agent
    assert speaking.hello.version == "stand-in"
    assert {name: value for name, value, *_ in instance.facts} == {
        "isolate_control_groups": used,
        "isolate_version": "9.9",
    }
    assert not instance.users
    figures = {figure.metric: figure.value for figure in instance.close()}
    assert figures["instance_cpu_ns"] == 250 * MS
    assert figures["instance_wall_ns"] == 1500 * MS
    assert ("--cg" in stub.runs()[0].split()) is used
    assert list(stub.boxes.iterdir()) == []
    assert list(stub.claims.iterdir()) == []


def test_boxes_are_never_shared(stub: Stub) -> None:
    with ThreadPoolExecutor() as threads:
        places = [stub.place(number, cg="off") for number in range(4)]
        instances = list(threads.map(lambda place: platforms.start("isolate", place), places))
    assert len({path.name for path in stub.claims.iterdir()}) == 4
    assert len({path.name for path in stub.boxes.iterdir()}) == 4
    for instance in instances:
        instance.close()
    assert list(stub.boxes.iterdir()) == []


def test_in_a_container_it_finds_what_the_container_shows(stub: Stub) -> None:
    place = stub.place()
    docker, inner = stack.layers("docker/isolate")
    outer = docker.view(View(agent="/host/tare-agent", shared=place.shared), place)
    assert inner.view(outer, place).agent == "/tare/tare-agent"
    shell, _, script = inner.wrap(["/tare/tare-agent", "serve"], outer, place)
    assert shell == "/bin/sh"
    assert "--dir=/tare=/tare --dir=/shared=/tare/shared -" in script
    assert f"--meta=/tare-scratch/{place.name}.meta" in script
    inner.ended(place)


def test_further_options_reach_isolate(stub: Stub) -> None:
    platforms.start("isolate", stub.place(cg="off", extra="--share-net --dir=/srv")).close()
    assert "--share-net --dir=/srv --run" in stub.runs()[0]


@pytest.mark.parametrize("starts_programs", [False, True])
@pytest.mark.parametrize("extra", ["--wait", "--no-such-option"])
def test_further_options_that_prevent_a_start_are_named(
    stub: Stub, monkeypatch: pytest.MonkeyPatch, extra: str, starts_programs: bool
) -> None:
    monkeypatch.setattr(isolate, "TRY_S", 0.5)
    place = stub.place(cg="off", extra=extra)
    place = msgspec.structs.replace(place, starts_programs=starts_programs)
    with pytest.raises(PlatformError, match=rf"\[platforms.isolate\] extra = '{extra}'") as raised:
        platforms.start("isolate", place)
    assert raised.value.hint == "correct extra, or leave it out"
    assert list(stub.boxes.iterdir()) == []
    assert list(stub.claims.iterdir()) == []


def test_shown_folders_reach_isolate(stub: Stub, tmp_path: Path) -> None:
    folder = tmp_path / "classes"
    folder.mkdir()
    place = msgspec.structs.replace(stub.place(cg="off", show=str(folder)), runs_commands=True)
    platforms.start("isolate", place).close()
    assert f"--dir={str(folder)[1:]}={folder} " in stub.runs()[0]


def test_no_box_left_is_told(stub: Stub) -> None:
    (stub.claims / "tare-box-999").write_text("tare-fedcba-0")
    with pytest.raises(PlatformError, match="all boxes of isolate from 999"):
        platforms.start("isolate", stub.place(box=999))
    assert (stub.claims / "tare-box-999").exists()


def test_a_box_that_was_left_is_a_remnant(stub: Stub) -> None:
    (stub.claims / "tare-box-907").write_text("tare-fedcba-1")
    (stub.boxes / "907").touch()
    (remnant,) = isolate.UNIT.remnants()
    assert (remnant.name, remnant.what) == ("tare-fedcba-1", "isolate box 907")
    remnant.remove()
    assert list(stub.boxes.iterdir()) == []
    assert list(stub.claims.iterdir()) == []


def test_what_others_made_of_a_claim_is_neither_waited_for_nor_believed(
    stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(stub.claims / "tare-box-908")
    (tmp_path / "theirs").write_text("tare-fedcba-1")
    (stub.claims / "tare-box-909").symlink_to(tmp_path / "theirs")
    assert isolate.UNIT.remnants() == []
    (stub.claims / "tare-box-907").write_text("tare-fedcba-1")
    assert len(isolate.UNIT.remnants()) == 1
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    assert isolate.UNIT.remnants() == []


def script_of(place: platforms.Place, outer: View | None = None) -> str:
    outer = outer or View(agent="/host/tare-agent", shared=place.shared, scratch="/scratch")
    *_, script = isolate.UNIT.wrap(["/tare/tare-agent", "serve"], outer, place)
    isolate.UNIT.ended(place)
    return script


def test_what_is_around_holds_a_box_to_a_size(stub: Stub) -> None:
    place = stub.place()
    assert "# if isolate" not in script_of(place)
    held = msgspec.structs.replace(place, cores=0.5, memory_bytes=1 << 28).unlimited
    assert held.held
    # Groups of its own would lead out of those that hold it.
    assert "# if isolate" in script_of(held)


def test_folders_of_commands_files_are_shown(stub: Stub) -> None:
    place = msgspec.structs.replace(
        stub.place(),
        runs_commands=True,
        files=("/usr/bin/sort", "/home/me/in/../wc2", "/home/me/in/1.txt", "/tmp/my own/nums.txt"),
    )
    script = script_of(place)
    assert "--dir=home/me=/home/me" in script
    assert "in=/home/me/in" not in script
    assert "usr/bin" not in script
    assert "--dir=etc:maybe" in script
    # Nothing can be mounted below the /tmp of a box, so it is given another.
    made, rest = script.split("cg=\n", 1)
    assert "mkdir -p '/scratch/tare-0123ab-0.tmp/my own' && chmod 1777 " in made
    assert "--dir=tmp=/scratch/tare-0123ab-0.tmp:rw " in rest
    assert "'--dir=tmp/my own=/tmp/my own'" in rest
    assert "--dir=home" not in script_of(stub.place())
    for name in ("/at-the-top", "/srv/a:b/prog", "/tmp/prog", "/run/me/x", "/dev/shm/x"):
        with pytest.raises(PlatformError, match=r"isolate (cannot show|shows folders)"):
            script_of(msgspec.structs.replace(place, files=(name,)))
    # A box has its own of these.
    own = script_of(msgspec.structs.replace(place, files=("/proc/meminfo", "/sys/power/state")))
    assert "dir=proc" not in own
    assert "dir=sys" not in own


def test_a_folder_that_a_box_may_not_use_is_told(stub: Stub, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    place = msgspec.structs.replace(stub.place(), runs_commands=True, files=(f"{closed}/prog",))
    with pytest.raises(PlatformError, match="user of its own") as caught:
        script_of(place)
    assert caught.value.hint == f"chmod o+x {closed}"
    closed.chmod(0o711)
    assert "closed" in script_of(place)


def test_without_isolate_it_is_told_where_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(client, "binary", lambda: DATA / "agent")
    with pytest.raises(PlatformError, match="not on PATH") as caught:
        platforms.start("isolate", platforms.Place(name="tare-0123ab-0", shared=str(tmp_path)))
    assert "ioi/isolate" in (caught.value.hint or "")


def test_programs_are_started_in_a_box_with_the_agent_outside(stub: Stub) -> None:
    place = msgspec.structs.replace(stub.place(extra="--share-net"), starts_programs=True)
    instance = platforms.start("isolate", place)
    assert stub.runs() == []
    assert instance.agent.hello.version == "stand-in"
    (box,) = stub.boxes.iterdir()
    starter = instance.starter
    assert starter is not None
    name, number, *options, meta = starter.words
    assert (name, number, meta) == ("isolate", f"--box-id={box.name}", "--meta=-")
    assert {"--cg", "--share-net", f"--dir=/shared={stub.shared}"} <= {*options}
    assert (starter.agent, starter.shared) == ("/tare/agent", "/shared")
    assert {figure.metric for figure in instance.close()} == set()
    assert list(stub.boxes.iterdir()) == []
    assert list(stub.claims.iterdir()) == []


def test_of_several_figures_in_the_output_of_a_program_the_last_is_isolates() -> None:
    forged = "time:0.001\ntime-wall:9\nhello\n"
    assert box_file.program(forged + (DATA / "v2-ok.meta").read_text()) == {
        "cpu_ns": 222 * MS,
        "wall_ns": 222 * MS,
        "memory_bytes": 1420 * 1024,
    }
    assert box_file.program("time:x\n") == {}


@pytest.mark.parametrize("extra", ["--meta=/tmp/mine", "-o out.txt", "--cg"])
def test_options_that_tare_sets_are_refused(stub: Stub, extra: str) -> None:
    with pytest.raises(PlatformError, match="tare sets this option"):
        platforms.start("isolate", stub.place(extra=extra))
    assert list(stub.boxes.iterdir()) == []
