"""The files of an application: which layer shows them, and which roots are refused."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from tare import platforms
from tare.agent import record
from tare.errors import PlatformError
from tare.platforms import bare, nest, root, stack
from tare.platforms.docker import image
from tare.platforms.layer import View

HERE = View(agent="/agent", shared="/shared", host_files=True)
NO_SETTINGS = {"root": None, "show": ""}


@pytest.fixture
def place(tmp_path: Path) -> platforms.Place:
    """A place with a root that has a directory, a link, a file, and what is never shown."""
    base, data = tmp_path / "image", tmp_path / "data"
    for folder in ("etc", "usr/share", "tmp", "proc", "data"):
        (base / folder).mkdir(parents=True)
    data.mkdir()
    (base / "etc/hosts").write_text("127.0.0.1 localhost tare\n")
    (base / "file").write_text("")
    (base / "bin").symlink_to("usr/bin")
    given = platforms.Root(path=str(base), digest="d" * 64, layers=(("/data", str(data)),))
    return platforms.Place(
        name="tare-0123ab-0", shared=str(tmp_path / "shared"), files=("/x",), root=given
    )


def taken(name: str, place: platforms.Place) -> list[str]:
    refusal = platforms.root_refusal(name, place.options)
    if refusal is not None:
        raise refusal
    made = stack._Stacked(name, place)
    assert all(one.files == () for one in made.places)
    pairs = zip(made.layers, made.places, strict=True)
    return [layer.description.name for layer, one in pairs if one.root is not None]


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("bare", "bare"), ("cgroup", "bare"), ("unshare", "bare"), ("runc", "runc"),
        ("cgroup/bubblewrap", "bubblewrap"), ("docker", "docker"), ("vm/unshare", "vm"),
        ("vm/docker", "docker"),
    ],
)  # fmt: skip
def test_one_layer_of_a_stack_has_it(name: str, layer: str, place: platforms.Place) -> None:
    assert taken(name, place) == [layer]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("docker/runc", "docker and runc show"), ("isolate", "isolate shows"),
        ("vm/runc", "vm and runc show"), ("ssh:host", "ssh shows"),
    ],
)  # fmt: skip
def test_other_stacks_are_refused(name: str, words: str, place: platforms.Place) -> None:
    with pytest.raises(PlatformError, match=words) as caught:
        taken(name, place)
    assert "bare" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("platform", "name", "option"),
    [
        ("docker", "docker", "image"), ("runc", "runc", "root"), ("podman", "podman", "show"),
        ("vm/docker", "docker", "image"), ("vm/docker", "vm", "root"),
    ],
)  # fmt: skip
def test_options_of_the_users_name_no_other_files(
    platform: str, name: str, option: str, place: platforms.Place
) -> None:
    given = msgspec.structs.replace(place, options={name: {option: "/some"}})
    with pytest.raises(PlatformError, match="application has files of its own") as caught:
        taken(platform, given)
    assert f"[platforms.{name}] {option} = '/some'" in caught.value.message
    assert option in (caught.value.hint or "")


def test_what_is_shown_of_a_root(place: platforms.Place) -> None:
    assert place.root is not None
    shown = root.shown(HERE, place, NO_SETTINGS)
    base = place.root.path
    assert shown.binds == tuple((f"/{name}", f"{base}/{name}") for name in ("etc", "file", "usr"))
    assert shown.links == (("/bin", "usr/bin"),)
    assert shown.late == place.root.layers


def test_a_container_in_a_guest_shows_what_the_guest_carries(place: platforms.Place) -> None:
    made = stack._Stacked("vm/docker", place)
    words = made.layers[1].wrap(["agent"], made.views[1], made.places[1])
    shown = [word for word in words if word.startswith("--volume=/tare/root/")]
    assert shown == [
        *(f"--volume=/tare/root/{name}:/{name}:ro" for name in ("etc", "file", "usr", "data")),
        "--volume=/tare/root/etc/hosts:/etc/hosts:ro",
    ]
    spec = msgspec.json.decode(words[words.index("--spec") + 1], type=nest.Nest)
    with tarfile.open(fileobj=io.BytesIO(spec.files[0].text.encode())) as archive:
        assert [(one.name, one.linkname) for one in archive] == [("tare", ""), ("bin", "usr/bin")]


def test_a_container_in_a_guest_shares_the_interface_of_the_guest(place: platforms.Place) -> None:
    port = platforms.Port(interface="tap0", address="10.77.0.3", prefix=24, host_file="/hosts")
    for given, network in ((None, "none"), (port, "host")):
        made = stack._Stacked("vm/docker", msgspec.structs.replace(place, port=given))
        words = made.layers[1].wrap(["agent"], made.views[1], made.places[1])
        assert f"--network={network}" in words
    # An engine that is reached from a container is not in the container's network.
    elsewhere = stack._Stacked("docker/docker", msgspec.structs.replace(place, port=port))
    words = elsewhere.layers[1].wrap(["agent"], elsewhere.views[1], elsewhere.places[1])
    assert "--network=host" not in words


def test_the_machine_itself_enters_it(place: platforms.Place) -> None:
    assert place.root is not None
    words = bare._entering(msgspec.structs.replace(place, network="/run/netns/some"))
    assert words[1:5] == ["enter", "--network", "/run/netns/some", "--root"]
    assert words[5:] == [
        place.root.path,
        "--read", f"/tare/shared={place.shared}",
        "--read", "=".join(place.root.layers[0]),
        "--",
    ]  # fmt: skip
    assert "--write" in bare._entering(msgspec.structs.replace(place, writable=True))
    assert bare._entering(msgspec.structs.replace(place, root=None)) == []
    view = bare.UNIT.view(HERE, place)
    assert (view.agent, view.users, view.host_files) == (root.AGENT, True, False)


def test_who_runs_commands_on_the_machine_has_an_account(place: platforms.Place) -> None:
    assert place.root is not None
    user = record.User(uid=4321, gid=1234, groups=())
    given = msgspec.structs.replace(place, user=user)
    Path(place.scratch).mkdir()
    for known in ("", "root:x:0:0::/root:/bin/sh", "a:x:43210:1::/:\nb:x:1:4321::/:\n"):
        accounts = Path(place.root.path, "etc/passwd")
        accounts.write_text(known)
        ((path, made),) = bare._accounts(place.root, given)
        assert path == "/etc/passwd"
        lines = Path(made).read_text().splitlines()
        assert lines == [*known.split(), "user4321:x:4321:1234::/tmp:/bin/sh"]
    accounts.write_text("known:x:4321:1::/:\n")
    assert bare._accounts(place.root, given) == ()
    accounts.unlink()
    accounts.symlink_to("/etc/shadow")
    assert bare._accounts(place.root, given) == ()


def test_namespaces_are_made_by_who_called_sudo(place: platforms.Place) -> None:
    user = record.User(uid=4321, gid=1234, groups=())
    given = msgspec.structs.replace(place, user=user)
    made = stack._Stacked("unshare", given)
    words = made.layers[1].wrap(["agent"], made.views[1], made.places[1])
    # What it is called by is the root's.
    assert words[:2] == ["setpriv", "--reuid=4321"]


@pytest.mark.parametrize(
    ("link", "target", "why"),
    [
        ("data", "../../etc", "symbolic link"), ("etc", "/etc", "symbolic link"),
        ("etc/hosts", "/etc/shadow", "symbolic link"), ("etc/hosts", None, "no file /etc/hosts"),
    ],
)  # fmt: skip
def test_a_link_in_the_way_of_a_mount_is_refused(
    link: str, target: str | None, why: str, place: platforms.Place
) -> None:
    assert place.root is not None
    root.check(place.root)
    path = Path(place.root.path) / link
    path.rename(path.with_name("moved"))
    if target is not None:
        path.symlink_to(target)
    with pytest.raises(PlatformError, match=why) as caught:
        root.check(place.root)
    assert caught.value.hint


@pytest.mark.parametrize("inside", ["/usr/lib/none", "/tmp", "/proc/x", "/file/x", "/"])
def test_a_layer_that_has_no_place_is_refused(inside: str, place: platforms.Place) -> None:
    assert place.root is not None
    given = msgspec.structs.replace(place.root, layers=((inside, "/outside"),))
    with pytest.raises(PlatformError):
        root.check(given)
    root.check(msgspec.structs.replace(place.root, layers=(("/usr/share", "/outside"),)))


def test_images_of_roots_are_bounded_and_made_once(place: platforms.Place) -> None:
    assert place.root is not None
    engine = Engine()
    for number in range(image.MOST + 2):
        given = msgspec.structs.replace(place.root, digest=f"{number}" * 64)
        names = {image.of_root(engine, given) for _ in range(2)}  # type: ignore[arg-type]
        assert len(names) == 1
    assert engine.made == image.MOST + 2
    kept = [int(tag.rpartition(":")[2][0]) for tag in engine.found]
    assert kept == list(range(2, image.MOST + 2))


class Engine:
    """Docker's client, as far as images are concerned."""

    def __init__(self) -> None:
        self.found: dict[str, int] = {}
        self.made = 0
        self.images = self.api = self

    def get(self, name: str) -> None:
        from docker.errors import ImageNotFound

        if name not in self.found:
            raise ImageNotFound(name)

    def list(self, repository: str) -> list[Any]:
        assert repository == image.APPLICATIONS
        return [
            SimpleNamespace(tags=[tag], attrs={"Created": f"2026-01-01T00:00:{made:02}Z"})
            for tag, made in self.found.items()
        ]

    def import_image_from_data(self, data: Any, repository: str, tag: str) -> None:
        assert b"etc/hosts" in b"".join(data)
        self.made += 1
        self.found[f"{repository}:{tag}"] = self.made

    def remove_image(self, tag: str) -> None:
        del self.found[tag]
