"""What sandboxes are told to show and to hold, without starting any."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tare.errors import PlatformError, TareError
from tare.platforms import Place, gvisor, oci, root, users, versions
from tare.platforms.bubblewrap import UNIT as BUBBLEWRAP
from tare.platforms.crun import UNIT as CRUN
from tare.platforms.gvisor import UNIT as GVISOR
from tare.platforms.layer import Layer, View
from tare.platforms.nspawn import UNIT as NSPAWN
from tare.platforms.podman import UNIT as PODMAN
from tare.platforms.runc import UNIT as RUNC

HOST = View(agent="/opt/tare-agent", shared="/dev/shm/tare-0123ab", host_files=True)
GUEST = View(agent="/tare/tare-agent", shared="/tare/shared", users=False)
PLACE = Place(name="tare-0123ab-0", shared="/dev/shm/tare-0123ab")
DEFAULTS: dict[str, Any] = {"root": None, "show": ""}
ARGV = ["/tare/tare-agent", "serve", "--name", PLACE.name]


@pytest.fixture(autouse=True)
def is_root(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Be root of this machine, whoever runs this."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(users, "OWN", tmp_path_factory.mktemp("own") / "uid_map")
    users.OWN.write_text("         0          0 4294967295\n")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for folder in ("usr", "proc", "tmp", "data"):
        (tmp_path / folder).mkdir()
    (tmp_path / "bin").symlink_to("usr/bin")
    return tmp_path


def bundle(words: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what is made around a runtime, and the container's configuration."""
    made = json.loads(words[words.index("--spec") + 1])
    (config,) = (file["text"] for file in made["files"])
    return made, json.loads(config)


def test_of_a_directory_everything_is_shown_but_what_a_sandbox_makes(tree: Path) -> None:
    shown = root.shown(HOST, PLACE, {"root": str(tree), "show": ""})
    assert shown.binds == (("/data", f"{tree}/data"), ("/usr", f"{tree}/usr"))
    assert shown.links == (("/bin", "usr/bin"),)
    assert shown.late == ()


def test_of_this_machine_only_what_belongs_to_the_system_is_shown() -> None:
    shown = root.shown(HOST, PLACE, DEFAULTS)
    names = {path[1:] for path, _ in (*shown.binds, *shown.links)}
    assert "usr" in names
    assert names <= set(root.SYSTEM)


def test_files_that_commands_need_are_shown_where_they_are() -> None:
    place = msgspec.structs.replace(PLACE, files=("/usr/bin/env", "/home/me/judge", "/tmp/in put"))
    shown = root.shown(HOST, place, {"root": None, "show": "/srv/more '/srv/with blank'"})
    files = ["/home/me/judge", "/tmp/in put", "/srv/more", "/srv/with blank"]
    assert shown.late == tuple((file, file) for file in files)


def test_elsewhere_links_lead_to_what_there_may_be() -> None:
    place = msgspec.structs.replace(PLACE, files=("/home/me/judge", "/tmp/input"))
    shown = root.shown(GUEST, place, DEFAULTS)
    assert shown.binds == (("/outer", "/"),)
    assert ("/lib64", "outer/lib64") in shown.links
    assert ("/home", "outer/home") in shown.links
    # A sandbox's /tmp is its own: what is to be seen there is put into it.
    assert shown.late == (("/tmp/input", "/tmp/input"),)


@pytest.mark.parametrize(
    ("show", "why"), [("more", "no absolute path"), ("/", "no absolute path"), ("'/srv", "quot")]
)
def test_what_is_to_be_shown_is_named_in_full(show: str, why: str) -> None:
    for outer in (HOST, GUEST):
        with pytest.raises(TareError, match=why):
            root.shown(outer, PLACE, {"root": None, "show": show})


def test_a_layer_inside_itself_has_a_folder_of_its_own() -> None:
    inner = msgspec.structs.replace(GUEST, shared=HOST.shared, depth=1)
    outer, own = (bundle(RUNC.wrap(ARGV, view, PLACE))[0]["folders"] for view in (HOST, inner))
    assert not set(outer) & set(own)


@pytest.mark.parametrize(
    ("unit", "name", "option"),
    [
        pytest.param(
            NSPAWN, "co:lon", r"--bind-ro=/tmp/co\:lon:/tmp/co\:lon", id="nspawn, colon"
        ),
        pytest.param(
            NSPAWN, r"back\slash", r"--bind-ro=/tmp/back\\slash:/tmp/back\\slash",
            id="nspawn, backslash",
        ),
        pytest.param(
            PODMAN, 'com,ma "quoted"',
            '--mount="type=bind","source=/tmp/com,ma ""quoted""",'
            '"destination=/tmp/com,ma ""quoted""","ro=true"',
            id="podman, quotes",
        ),
    ],
)  # fmt: skip
def test_special_characters_of_a_path_are_escaped_in_options(
    unit: Layer, name: str, option: str
) -> None:
    place = msgspec.structs.replace(PLACE, files=(f"/tmp/{name}",))
    assert option in unit.wrap(ARGV, GUEST, place)


def test_the_monitor_of_podman_starts_in_what_is_removed() -> None:
    inner = msgspec.structs.replace(GUEST, depth=1)
    words = PODMAN.wrap(ARGV, inner, PLACE)
    made = json.loads(words[words.index("--spec") + 1])
    assert made["directory"] in made["folders"]


def test_a_root_that_is_not_there_is_told() -> None:
    with pytest.raises(PlatformError, match="/no/such, to be shown") as caught:
        root.shown(HOST, PLACE, {"root": "/no/such", "show": ""})
    assert caught.value.hint == "ls -d /no/such"


@pytest.mark.parametrize("writable", [False, True])
def test_nothing_that_is_shown_is_writable_but_for_probes(writable: bool) -> None:
    place = msgspec.structs.replace(PLACE, writable=writable)
    words = BUBBLEWRAP.wrap(ARGV, HOST, place)
    assert words[-len(ARGV) :] == ARGV
    found = [words[n + 1 : n + 3] for n, word in enumerate(words) if word == "--bind"]
    assert found == ([["/dev/shm/tare-0123ab", "/tare/shared"]] if writable else [])
    _, config = bundle(RUNC.wrap(ARGV, HOST, place))
    binds = [mount for mount in config["mounts"] if mount["type"] == "bind"]
    assert len(binds) > 2
    open_to_it = [one["destination"] for one in binds if "ro" not in one["options"]]
    assert open_to_it == (["/tare/shared"] if writable else [])
    assert config["root"] == {"path": "root", "readonly": True}
    assert config["process"]["args"] == ARGV


def test_its_root_is_nobody_on_this_machine() -> None:
    user = users.base(HOST, PLACE.name)
    assert user is not None
    mapped = [{"containerID": 0, "hostID": user, "size": users.COUNT}]
    for unit in (RUNC, CRUN, GVISOR):
        made, config = bundle(unit.wrap(ARGV, HOST, PLACE))
        linux = config["linux"]
        assert linux["uidMappings"] == linux["gidMappings"] == mapped
        assert {"type": "user"} in linux["namespaces"]
        assert made["owners"] == [[f"{made['folders'][0]}/root", user]]
        # It may not be able to reach what it is shown.
        sources = {one["source"] for one in config["mounts"] if one["type"] == "bind"}
        assert sources == {seen for _, seen in made["binds"]}
        assert HOST.agent in {source for source, _ in made["binds"]}
        # In a guest, root is the guest's own.
        inside = bundle(unit.wrap(ARGV, GUEST, PLACE))
        assert "uidMappings" not in inside[1]["linux"]
        assert "owners" not in inside[0]
    assert f"--private-users={user}:{users.COUNT}" in NSPAWN.wrap(ARGV, HOST, PLACE)
    words = BUBBLEWRAP.wrap(ARGV, HOST, PLACE)
    assert json.loads(words[words.index("--spec") + 1])["users"]["first"] == user
    assert words[-len(ARGV) - 3 :] == [root.AGENT, "shed", "--", *ARGV]


def test_in_a_network_of_another_it_sees_the_machines_own_description() -> None:
    place = msgspec.structs.replace(PLACE, network="/run/netns/x")
    _, config = bundle(RUNC.wrap(ARGV, HOST, place))
    assert {"type": "network"} not in config["linux"]["namespaces"]
    (system,) = (one for one in config["mounts"] if one["destination"] == "/sys")
    assert system["source"] == "/sys"


def test_users_of_a_sandbox_have_no_account_and_overlap_nobodys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [users.base(HOST, f"tare-{i:06x}-0") for i in range(100)]
    assert len(set(found)) > 90
    assert all(one is not None and one % users.COUNT == 0 for one in found)
    assert all(users.FIRST <= one <= users.LAST - users.COUNT for one in found if one is not None)
    known = found[0]

    def account(user: int) -> None:
        if user != known:
            raise KeyError(user)

    monkeypatch.setattr(users.pwd, "getpwuid", account)
    assert users.base(HOST, "tare-000000-0") not in (None, known)


@pytest.mark.parametrize("own", ["0 100000 65536\n", "0 0 65536\n", "0 1000 1\n1 100000 65536\n"])
def test_who_is_not_root_of_the_machine_gives_nobody_away(own: str) -> None:
    users.OWN.write_text(own)
    assert users.base(HOST, PLACE.name) is None


def test_a_container_is_held_to_its_place() -> None:
    place = msgspec.structs.replace(PLACE, cores=0.5, cpus=(1, 3), memory_bytes=1 << 26)
    _, config = bundle(RUNC.wrap(ARGV, HOST, place))
    assert config["linux"]["resources"] == {
        "devices": [{"allow": False, "access": "rwm"}],
        "cpu": {"quota": 50_000, "period": 100_000, "cpus": "1,3"},
        "memory": {"limit": 1 << 26, "swap": 1 << 26},
    }
    # Relative: below whatever holds who starts it.
    assert config["linux"]["cgroupsPath"] == PLACE.name


def test_gvisor_is_held_by_a_group_around_all_of_it() -> None:
    place = msgspec.structs.replace(PLACE, cores=0.5, memory_bytes=1 << 26)
    made, config = bundle(GVISOR.wrap(ARGV, HOST, place))
    assert made["group"] == {
        "name": PLACE.name,
        "quota_us": 50_000,
        "period_us": 100_000,
        "memory_bytes": 1 << 26,
    }
    assert "resources" not in config["linux"]
    assert "group" not in bundle(GVISOR.wrap(ARGV, HOST, PLACE))[0]


def test_an_ordinary_user_is_root_of_a_namespace_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "getegid", lambda: 100)
    _, config = bundle(RUNC.wrap(ARGV, HOST, PLACE))
    assert {"type": "user"} in config["linux"]["namespaces"]
    assert config["linux"]["gidMappings"] == [{"containerID": 0, "hostID": 100, "size": 1}]
    # Control groups that it cannot make are passed over where none is named.
    assert "cgroupsPath" not in config["linux"]
    limited = msgspec.structs.replace(PLACE, cores=0.5)
    assert "cgroupsPath" in bundle(RUNC.wrap(ARGV, HOST, limited))[1]["linux"]
    words = GVISOR.wrap(ARGV, HOST, PLACE)
    assert "--rootless" in words
    assert {"type": "user"} not in bundle(words)[1]["linux"]["namespaces"]
    # In a guest it is root, whoever asks.
    assert "--rootless" not in GVISOR.wrap(ARGV, GUEST, PLACE)
    with pytest.raises(PlatformError, match="needs root"):
        NSPAWN.check_here(PLACE)


@pytest.mark.parametrize("name", ["bwrap", "runc", "crun", "runsc", "systemd-nspawn"])
def test_what_is_not_installed_is_told(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(oci.programs, "MORE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    units: list[Layer] = [BUBBLEWRAP, RUNC, CRUN, GVISOR, NSPAWN]
    (unit,) = (unit for unit in units if name in unit.needs)
    with pytest.raises(PlatformError, match="is not on this machine") as caught:
        unit.check_here(PLACE)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("unit", "said", "hint"),
    [
        (CRUN, "cgroups in hybrid mode not supported, drop all", "vm/crun"),
        (RUNC, "runc run failed: apply cgroup configuration: Permission denied", "as root"),
        (RUNC, 'runc run failed: error mounting "proc": operation not permitted', "/proc is whole"),
        (RUNC, "runc run failed: mount /x: no such file or directory", "[platforms.runc]"),
        (BUBBLEWRAP, "bwrap: Can't find source path /x: No such file", "platforms.bubblewrap"),
        (BUBBLEWRAP, "bwrap: Creating new namespace failed: refused", "namespaces"),
        (BUBBLEWRAP, "cannot make a user namespace: No space left on device", "user.max_user"),
        (NSPAWN, "Failed to mount /usr/lib/os-release (type n/a)", "os-release"),
        (GVISOR, "creating platform: kvm: opening /dev/kvm", 'platform = "ptrace"'),
    ],
)
def test_what_is_said_is_mended(unit: Layer, said: str, hint: str) -> None:
    assert hint in (unit.mend(said) or "")


@pytest.mark.parametrize(
    ("known", "taken"), [({"systrap", "ptrace", "kvm"}, "systrap"), ({"ptrace", "kvm"}, "ptrace")]
)
def test_gvisor_takes_the_best_way_that_it_has(
    known: set[str], taken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gvisor, "_known", lambda: frozenset(known))
    assert f"--platform={taken}" in GVISOR.wrap(ARGV, HOST, PLACE)


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("bubblewrap 0.8.0\n", "0.8.0"),
        ("runc version 1.1.5+ds1\ncommit: 1\n", "1.1.5+ds1"),
        ("runsc version release-20240101.0\n", "20240101.0"),
        ("systemd 252 (252.39-1~deb12u2)\n+PAM", "252"),
    ],
)
def test_versions(said: str, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "said", lambda _: said)
    assert versions.told("one_version", "one") == (("one_version", version, None, "one"),)
    monkeypatch.setattr(versions, "said", lambda _: "")
    assert versions.told("one_version", "one") == ()
