"""The files of an application on every platform: the same inside, and nothing left outside."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from instances import command, started
from outputs import written

from tare import platforms
from tare.errors import PlatformError
from tare.platforms import docker
from tare.platforms.docker import engine
from tare.platforms.docker.image import APPLICATIONS

BUSYBOX = Path("/bin/busybox")

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(not BUSYBOX.exists(), reason="busybox-static is not installed"),
]

STACKS = (
    "bare", "cgroup", "bubblewrap", "runc", "crun", "gvisor", "nspawn", "podman", "docker", "vm",
)  # fmt: skip
APPLETS = ("cat", "grep", "hostname", "ls", "mkdir", "sh", "test")
HOSTS = "127.0.0.1 localhost tare\n::1 localhost\n"
#: What every platform is to say, and nothing else.
LOOK = """\
cat /etc/own /data/file
for path in /x /etc/x /data/x; do (echo >$path) 2>/dev/null && echo wrote $path; done
echo >/tmp/x && echo >/run/x && echo >/dev/shm/tare-x && echo room
/bin/busybox cp /bin/busybox /tmp/echo && /tmp/echo executed
hostname; grep -c 127.0.0.1.*tare /etc/hosts
test -d /proc/self && test -d /sys/devices/system/cpu && test -x /tare/tare-agent && echo kernel
for path in /home /opt /root/.profile /var/lib /etc/passwd HOST; do
    test -e $path && echo has $path
done
ls /
"""
#: Those that a distribution has: systemd-nspawn makes them otherwise.
FOLDERS = ("bin", "etc", "lib", "root", "sbin", "usr", "var")
OWN = ("data", "dev", "proc", "run", "sys", "tare", "tmp")
SEEN = ["image", "data", "room", "executed", "tare", "1", "kernel", *sorted((*FOLDERS, *OWN))]


@pytest.fixture
def root(tmp_path: Path) -> Iterator[platforms.Root]:
    """A small root with a layer; its image of Docker is gone in the end."""
    image, data = tmp_path / "image", tmp_path / "data"
    for folder in FOLDERS:
        (image / folder).mkdir(parents=True)
    shutil.copy(BUSYBOX, image / "bin/busybox")
    for applet in APPLETS:
        (image / "bin" / applet).symlink_to("busybox")
    (image / "etc/hosts").write_text(HOSTS)
    (image / "etc/own").write_text("image\n")
    data.mkdir()
    (data / "file").write_text("data\n")
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(folder.stat().st_mode | 0o011)
    digest = tmp_path.name.replace("_", "")[-16:] + str(os.getpid())
    yield platforms.Root(path=str(image), digest=digest, layers=(("/data", str(data)),))
    with contextlib.suppress(PlatformError):
        engine.remove_image(f"{APPLICATIONS}:{digest[:32]}")
    # Nothing of it is mounted anywhere.
    assert str(tmp_path) not in Path("/proc/self/mounts").read_text()


def link_out(image: Path) -> Path:
    """Make links of an image lead to a folder outside of it, and return that folder."""
    outside = image.parent / "outside"
    outside.mkdir(mode=0o777)
    for name in ("tmp", "run", "tare", "dev"):
        (image / name).symlink_to(outside)
    (image / "sys").symlink_to("../../outside")
    (image / "proc").write_text("no directory")
    return outside


@pytest.mark.parametrize("stack", STACKS)
def test_the_same_is_seen_everywhere(
    stack: str, root: platforms.Root, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # A boot of a guest is expensive, so this one checks the links of the next test as well.
    outside = link_out(Path(root.path)) if stack == "vm" else tmp_path / "data"
    before, own = (
        sorted(path.name for path in one.iterdir()) for one in (outside, Path(root.path))
    )
    look = LOOK.replace("HOST", str(tmp_path))
    with started(stack, root=root, runs_commands=True, files=("/etc/passwd",)) as one:
        records = command(one.speaking, "/bin/sh", "-c", look)
        assert written(records).splitlines() == SEEN, written(records, "err")
        again = command(one.speaking, "/bin/cat", "/data/file")
        assert written(again) == "data\n"
    assert sorted(path.name for path in outside.iterdir()) == before
    assert sorted(path.name for path in Path(root.path).iterdir()) == own
    if stack == "docker":
        # It is made once, and `tare cleanup` finds it.
        made = f"image {APPLICATIONS}:{root.digest}"
        assert [one.what for one in docker.UNIT.remnants()].count(made) == 1
    Path("/dev/shm/tare-x").unlink(missing_ok=True)


@pytest.mark.parametrize(
    "stack",
    [pytest.param(one, marks=pytest.mark.slow) if one == "vm" else one for one in STACKS],
)
def test_no_link_of_an_image_leads_out(
    stack: str, root: platforms.Root, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    outside = link_out(Path(root.path))
    with started(stack, root=root, runs_commands=True) as one:
        script = "echo >/tmp/x; echo >/run/x; test -d /proc/self; ls /bin/busybox"
        assert written(command(one.speaking, "/bin/sh", "-c", script)) == "/bin/busybox\n"
    assert list(outside.iterdir()) == []


SCRIPT = """
import json, sys
from tare import platforms
root = platforms.Root(path=sys.argv[1], digest="nobody", layers=(("/data", sys.argv[2]),))
print(json.dumps({
    stack: [one.works, one.why, one.fix]
    for stack in ("bare", "bubblewrap", "podman", "docker", "nspawn")
    for one in [platforms.availability(stack, runs_commands=True, root=root)]
}))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_an_ordinary_user_has_it_as_well(root: platforms.Root, tmp_path: Path) -> None:
    # Tests' own directories are closed to others.
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        shutil.copytree(tmp_path, folder, symlinks=True, dirs_exist_ok=True)
        Path(folder).chmod(0o755)
        image, data = (Path(folder, name) for name in ("image", "data"))
        _check_ordinary_user(str(image), str(data), tmp_path)


def _check_ordinary_user(image: str, data: str, tmp_path: Path) -> None:
    words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-c"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "no" / "home")}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1"}
    if "PYTHONPATH" in os.environ:
        environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
    if subprocess.run(
        [*words, "import tare.agent.client"], env=environment, check=False
    ).returncode:
        pytest.skip("another user cannot read this Python or this checkout")
    done = subprocess.run(
        [*words, SCRIPT, image, data],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["bare"] == [True, None, None]
    assert told["bubblewrap"][0] or shutil.which("bwrap") is None
    for works, why, fix in told.values():
        assert works or (why and fix)
