"""Docker's engine when it is not there, refuses, or lacks something: what is said."""

from __future__ import annotations

import io
import socket
import tarfile
import threading
from pathlib import Path

import msgspec
import pytest

from tare.agent import client
from tare.errors import PlatformError
from tare.platforms import Place, root
from tare.platforms.docker import UNIT, engine, image, quota
from tare.platforms.layer import View


@pytest.fixture(autouse=True)
def binary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    path = tmp_path / "tare-agent"
    path.write_bytes(b"\x7fELF and so on")
    monkeypatch.setattr(client, "binary", lambda: path)
    return path


def test_an_engine_that_does_not_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    with pytest.raises(PlatformError, match="Docker does not run") as caught:
        engine.connect()
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("sudo ")
    assert UNIT.remnants() == []


def test_a_socket_that_nobody_listens_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "docker.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    with pytest.raises(PlatformError, match="Connection refused"):
        engine.connect()


def test_a_socket_that_refuses_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: socket.socket, path: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setattr("socket.socket", type("S", (socket.socket,), {"connect": refuse}))
    with pytest.raises(PlatformError, match="refuses this user") as caught:
        engine.connect()
    assert "usermod -aG docker" in (caught.value.hint or "")


def test_an_engine_on_another_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://192.0.2.1:2375")
    with pytest.raises(PlatformError, match="only an engine on this machine"):
        engine.connect()


def test_a_peer_that_is_no_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "docker.sock"
    with socket.socket(socket.AF_UNIX) as closing:
        closing.bind(str(path))
        closing.listen()
        monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")

        def hang_up() -> None:
            while True:
                try:
                    closing.accept()[0].close()
                except OSError:
                    return

        threading.Thread(target=hang_up, daemon=True).start()
        with pytest.raises(PlatformError, match="Docker does not answer"):
            engine.connect()
        closing.shutdown(socket.SHUT_RDWR)


def test_no_path_is_packed_twice(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"")
    packed = io.BytesIO()
    image.pack(packed, [Path("/tmp"), program])
    packed.seek(0)
    with tarfile.open(fileobj=packed) as archive:
        names = archive.getnames()
    assert sorted(names) == sorted({*image.FOLDERS, "tare/tare-agent", str(program).lstrip("/")})


def test_the_image_holds_the_agent_alone(binary: Path) -> None:
    packed = io.BytesIO()
    image.pack(packed)
    packed.seek(0)
    with tarfile.open(fileobj=packed) as archive:
        files = [entry for entry in archive if entry.isfile()]
        assert [f"/{entry.name}" for entry in files] == [root.AGENT]
        assert files[0].mode == 0o755
        taken = archive.extractfile(files[0])
        assert taken is not None
        assert taken.read() == binary.read_bytes()


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("runc create failed: unable to apply caps: operation not permitted", "sys_admin"),
        ('exec: "isolate": executable file not found in $PATH', "image"),
    ],
)
def test_refusals_are_explained(said: str, hint: str) -> None:
    assert hint in (UNIT.mend(said) or "")


def test_what_is_inside_is_at_fixed_places() -> None:
    place = Place(name="tare-0123ab-0", shared="/dev/shm/tare-0123ab")
    view = UNIT.view(View(agent="/anywhere", shared=place.shared), place)
    assert (view.agent, view.shared) == (root.AGENT, root.SHARED)


@pytest.mark.parametrize(
    ("cores", "period_us", "words"),
    [
        (None, 100_000, {}),
        (0.1, 100_000, {"nano_cpus": 100_000_000}),
        (0.7, 20_000, {"cpu_period": 20_000, "cpu_quota": 14_000}),
    ],
)
def test_the_engine_is_told_a_period_only_where_it_is_not_its_own(
    cores: float | None, period_us: int, words: dict[str, int]
) -> None:
    place = Place(name="tare-0123ab-0", shared="/", cores=cores, period_us=period_us)
    assert quota(place) == words


def test_commands_without_an_image_are_nobody_or_who_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(name="tare-0123ab-0", shared="/dev/shm/x", runs_commands=True)
    monkeypatch.setattr("tare.platforms.users.base", lambda outer, name: None)
    monkeypatch.setattr("os.getegid", lambda: 110)
    for caller, seen in ((42, "42:110"), (0, "65534:65534")):
        monkeypatch.setattr("os.geteuid", lambda caller=caller: caller)
        assert UNIT._user(place, ()) == seen
    monkeypatch.setattr("tare.platforms.users.base", lambda outer, name: 1_100_000_000)
    assert UNIT._user(place, ()) == "1100000000:1100000000"
    # Root of an image's own files, and of what tare packs for its kernels.
    image = msgspec.structs.replace(place, options={"docker": {"image": "debian:12"}})
    kernels = msgspec.structs.replace(place, runs_commands=False)
    assert UNIT._user(image, ()) is UNIT._user(kernels, ()) is None


def test_a_layer_that_takes_no_rights_from_programs_is_refused_inside() -> None:
    from tare.platforms import stack

    cgroup, unshare = (stack.layers(f"docker/{name}")[1] for name in ("cgroup", "unshare"))
    image = {"docker": {"image": "debian:12"}}
    place = Place(name="tare-0123ab-0", shared="/dev/shm/x", runs_commands=True, options=image)
    UNIT.check_inner(place, [unshare])
    UNIT.check_inner(place, [cgroup, unshare])
    # Kernels of tare's own may have all rights.
    UNIT.check_inner(msgspec.structs.replace(place, runs_commands=False), [cgroup])
    with pytest.raises(PlatformError, match="all rights over this machine"):
        UNIT.check_inner(place, [cgroup])
