"""Output files: replaced atomically, and never through a symbolic link of another user."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import cli
import pytest

from tare import files
from tare.errors import StoreError

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of other users")
OTHER = 12345


def of_other(path: Path) -> Path:
    os.chown(path, OTHER, OTHER, follow_symlinks=False)
    return path


def test_a_file_is_replaced_when_the_new_one_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(b"before")
    with pytest.raises(TypeError), files.replacing(file, "") as fresh:
        fresh.writelines([b"half", None])  # type: ignore[list-item]
    assert file.read_bytes() == b"before"
    files.write(file, b"after", "")
    assert file.read_bytes() == b"after"
    assert [*tmp_path.iterdir()] == [file]


def test_a_link_of_this_user_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("results")
    files.write(files.target(tmp_path / "link"), b"x", "")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "results").read_bytes() == b"x"
    # In a folder of results, which others may have filled, none is.
    files.write(tmp_path / "link", b"y", "")
    assert not (tmp_path / "link").is_symlink()
    assert (tmp_path / "results").read_bytes() == b"x"


def test_a_circle_of_links_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("link")
    with pytest.raises(StoreError, match="links"):
        files.target(tmp_path / "link")


@as_root
@pytest.mark.parametrize("write", [files.target,
                                   lambda path: files.open_log(path, "")])  # fmt: skip
def test_a_link_of_another_user_is_refused(write: object, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"secret")
    (tmp_path / "link").symlink_to(victim)
    of_other(tmp_path / "link")
    with pytest.raises(StoreError, match=f"a link that {OTHER} made"):
        write(tmp_path / "link")  # type: ignore[operator]
    assert victim.read_bytes() == b"secret"


def test_nobody_waits_for_a_reader_of_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match="cannot write"):
        files.write(tmp_path / "pipe", b"x", "")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    files.write(tmp_path / "pipe", b"x", "")
    assert os.read(reader, 9) == b"x"
    os.close(reader)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_an_open_file_is_written_to_and_not_replaced(name: str, tmp_path: Path) -> None:
    script = "import sys; from pathlib import Path; from tare import files;"
    script += "files.write(Path(sys.argv[1]), b'x', '')"
    with (tmp_path / "out").open("wb") as out:
        subprocess.run([sys.executable, "-c", script, name], stdout=out, check=True)
    assert (tmp_path / "out").read_bytes() == b"x"
    assert Path("/dev/stdout").is_symlink()


def test_a_log_grows_in_place_of_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"before")
    with files.open_log(tmp_path / "log", "") as log:
        for text in (b"a", b"b"):
            log.write(text)
            log.flush()
        assert (tmp_path / "log").read_bytes() == b"ab"
    assert [*tmp_path.iterdir()] == [tmp_path / "log"]


@as_root
def test_a_folder_of_another_user_is_refused_by_its_link_as_well(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "link").symlink_to("own")
    files.check_owner(tmp_path / "link")
    of_other(tmp_path / "link")
    with pytest.raises(StoreError, match=f"belongs to {OTHER}"):
        files.check_owner(tmp_path / "link")


@as_root
@pytest.mark.parametrize("option", ["--json", "--markdown", "--export-json"])
def test_no_option_follows_a_link_of_another_user(option: str, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"secret")
    (tmp_path / "link").symlink_to(victim)
    of_other(tmp_path / "link")
    done = cli.run("run", "-n", "3", option, str(tmp_path / "link"), "--", "true", cwd=tmp_path)
    assert done.returncode == 14, done.stderr
    assert "a link that" in done.stderr
    assert victim.read_bytes() == b"secret"


@as_root
@pytest.mark.parametrize("kind", ["link", "folder"])
def test_charts_are_written_into_no_folder_that_another_user_chose(
    kind: str, tmp_path: Path
) -> None:
    saved = tmp_path / "saved.json"
    done = cli.run("compare", "-n", "6", "--report", str(saved), "true", "true", cwd=tmp_path)
    assert done.returncode in (0, 2), done.stderr
    shared, elsewhere = tmp_path / "shared", tmp_path / "elsewhere"
    shared.mkdir()
    shared.chmod(0o1777)
    of_other(shared)
    elsewhere.mkdir()
    for name in ("x-charts", "charts"):
        if kind == "link":
            (shared / name).symlink_to(elsewhere)
        else:
            (shared / name).mkdir()
        of_other(shared / name)
    for words in (("--report", "shared/x.md"), ("--charts", "svg", "--out", "shared/charts")):
        done = cli.run("report", str(saved), *words, cwd=tmp_path)
        assert done.returncode == StoreError.exit_code, done.stderr
        assert f"a {kind} that {OTHER} made" in done.stderr
    assert not [*elsewhere.iterdir(), *shared.glob("*/*")]
    # Below a folder that is no link, links of this user are followed.
    (tmp_path / "own-charts").symlink_to("elsewhere")
    assert cli.run("report", str(saved), "--report", "own.md", cwd=tmp_path).returncode == 0
    assert [*elsewhere.iterdir()]


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "--baseline", "pipe", "--", "true"),
        ("fingerprint", "diff", "pipe", "pipe"),
        ("calibrate", "compare", "pipe", "pipe"),
    ],
)
def test_no_reader_waits_for_a_writer_of_a_pipe(words: tuple[str, ...], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = cli.run(*words, cwd=tmp_path, timeout=60)
    assert done.returncode not in (0, 70)
    assert "it is no plain file" in done.stderr
