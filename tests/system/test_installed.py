"""The installed tool: its programs in an empty root, and its wheels in fresh roots of Debian.

``make test-wheels`` builds the wheels first. A fresh root has neither a compiler nor a network; the
packages that tare depends on come from a folder of it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

import tare

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can enter another root"),
]

ROOT = Path(__file__).parents[2]
BIN = ROOT / "src/tare/bin"
DIST = ROOT / "dist"
MACHINE = os.uname().machine
#: The oldest Debian that is supported, and the newest release.
RELEASES = ("bookworm", "trixie")
#: In a mount and network namespace of its own, which end with it; its loopback is up.
ENTER = """
set -e
ip link set lo up
mount -t proc proc "$1/proc"
mount -t sysfs sysfs "$1/sys"
mount --rbind /dev "$1/dev"
exec chroot "$1" /bin/sh -euc "$2"
"""
Inside = Callable[..., subprocess.CompletedProcess[str]]


def describe(root: Path, *emulator: str) -> dict:
    """Return what the agent of a root that has nothing else describes."""
    command = ["chroot", root, *emulator, "/tare-agent", "describe"]
    found: dict = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return found


def test_the_programs_need_no_other_file(tmp_path: Path) -> None:
    for name in ("tare-agent", "tare-cql"):
        shutil.copy(BIN / name, tmp_path)
    here = subprocess.run([BIN / "tare-agent", "describe"], capture_output=True, check=True)
    assert describe(tmp_path) == json.loads(here.stdout)
    command = ["chroot", tmp_path, "/tare-cql", "--help"]
    assert subprocess.run(command, capture_output=True, check=True).stdout.startswith(b"tare-cql: ")


def wheel(machine: str = MACHINE) -> Path:
    path = DIST / f"tare_bench-{tare.__version__}-py3-none-manylinux_2_28_{machine}.whl"
    if not path.exists():
        pytest.skip(f"there is no {path.relative_to(ROOT)}: make wheels")
    return path


@pytest.mark.wheels
def test_the_programs_of_the_other_machine_need_no_other_file(tmp_path: Path) -> None:
    machine = {"x86_64": "aarch64"}.get(MACHINE, "x86_64")
    emulator = shutil.which(f"qemu-{machine}-static")
    if emulator is None:
        pytest.skip("qemu-user-static is not installed")
    shutil.copy(emulator, tmp_path / "emulator")
    with ZipFile(wheel(machine)) as archive:
        for name in ("tare-agent", "tare-cql"):
            (tmp_path / name).write_bytes(archive.read(f"tare/bin/{name}"))
            (tmp_path / name).chmod(0o755)
    here = subprocess.run([BIN / "tare-agent", "describe"], capture_output=True, check=True)
    assert describe(tmp_path, "/emulator") == json.loads(here.stdout)
    command = ["chroot", tmp_path, "/emulator", "/tare-cql", "--help"]
    assert subprocess.run(command, capture_output=True, check=True).stdout.startswith(b"tare-cql: ")


@pytest.fixture(scope="module", params=RELEASES)
def fresh(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """Make a root of a release with Python, and the packages that tare depends on as files."""
    root = tmp_path_factory.mktemp("fresh") / request.param
    command = ["mmdebstrap", "--quiet", "--variant=minbase", "--include=python3-venv"]
    subprocess.run([*command, request.param, root], check=True)
    (root / "index").mkdir()
    shutil.copy(wheel(), root / "index")
    download(root)
    yield root
    shutil.rmtree(root)


@pytest.fixture(scope="module")
def inside(fresh: Path) -> Inside:
    """Install tare in a fresh root without extras, and return what runs a script there."""
    (fresh / "work").mkdir()
    for example in ("demo.toml", "times.csv"):
        shutil.copy(ROOT / "examples" / example, fresh / "work")

    def run(script: str, *, code: int = 0) -> subprocess.CompletedProcess[str]:
        namespaces = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child"]
        said = subprocess.run(
            [*namespaces, "sh", "-c", ENTER, "sh", fresh, f"cd /work; {script}"],
            env={
                "PATH": f"/venv/bin:{os.environ['PATH']}", "HOME": "/root", "LANG": "C.UTF-8",
                "COLUMNS": "80",
            },
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert said.returncode == code, said.stdout + said.stderr
        return said

    run("! command -v cc gcc cargo rustc && python3 -m venv /venv")
    began = time.monotonic()
    run("pip install --quiet --no-index --find-links /index tare-bench")
    took = time.monotonic() - began
    size = run("du --summarize --block-size=MB /venv").stdout.split()[0]
    print(f"{fresh.name}: pip install took {took:.1f} s; environment {size}")
    return run


def download(root: Path) -> None:
    """Put what tare depends on into a root's index, as its own Python chooses."""
    certificates = os.environ.get("PIP_CERT", "/etc/ssl/certs/ca-certificates.crt")
    shutil.copy(certificates, root / "index.crt")
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    environment = {name: value for name, value in os.environ.items() if "proxy" in name.lower()}
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST"):
        if name in os.environ:
            environment[name] = os.environ[name]
    script = (
        "python3 -m venv /get && /get/bin/pip download --quiet --dest /index --only-binary :all:"
        " /index/*.whl && rm -r /get"
    )
    subprocess.run(
        ["chroot", root, "/bin/sh", "-euc", script],
        env=environment | {"PATH": os.environ["PATH"], "PIP_CERT": "/index.crt"}, check=True,
    )  # fmt: skip


@pytest.mark.wheels
@pytest.mark.timeout(1800)
@pytest.mark.skipif(shutil.which("docker") is None, reason="docker is not installed")
def test_the_image_measures_as_an_ordinary_user(fresh: Path, tmp_path: Path) -> None:
    """The image of a base that has Python alone, built without a network."""
    if subprocess.run(["docker", "info"], capture_output=True, check=False).returncode:
        pytest.skip("Docker's engine does not answer")
    name = f"tare-test-{os.getpid()}"
    (tmp_path / "dist").mkdir()
    for path in (fresh / "index").iterdir():
        shutil.copy(path, tmp_path / "dist")
    for source in ("Dockerfile", ".dockerignore"):
        shutil.copy(ROOT / source, tmp_path)
    command = ["docker", "run", "--rm", "--network", "none"]
    try:
        with subprocess.Popen(
            ["tar", "--create", "--directory", fresh, "--exclude", "./index", "."],
            stdout=subprocess.PIPE,
        ) as archive:
            subprocess.run(
                ["docker", "import", "-", f"{name}-base"], stdin=archive.stdout, check=True
            )
        subprocess.run(
            ["docker", "build", "--quiet", "--network", "none", "--tag", name,
             "--build-arg", f"BASE={name}-base", "--build-arg", "PIP_NO_INDEX=1", tmp_path],
            env=os.environ | {"DOCKER_BUILDKIT": "0"}, check=True,
        )  # fmt: skip
        said = subprocess.run([*command, name, "run", "-n", "10", "--json", "-", "--", "true"],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        assert [one["status"] for one in json.loads(said.stdout)["trials"]] == ["ok"] * 10
        said = subprocess.run(
            [*command, "--entrypoint", "id", name, "--user"],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        assert said.stdout == "1000\n"
    finally:
        for image in (name, f"{name}-base"):
            subprocess.run(["docker", "image", "rm", "--force", image], check=False)


@pytest.mark.wheels
@pytest.mark.timeout(1800)
class TestFreshRoot:
    """Each test has the installed tool of the release before it."""

    def test_run(self, inside: Inside) -> None:
        for name in ("tare", "tare-bench"):
            result = json.loads(inside(f"{name} run -n 10 --json - -- true").stdout)
            assert [one["status"] for one in result["trials"]] == ["ok"] * 10

    def test_run_as_an_ordinary_user(self, inside: Inside) -> None:
        said = inside(
            "mkdir -m 0777 /home/user; export HOME=/home/user;"
            " setpriv --reuid 1000 --regid 1000 --clear-groups tare run -n 3 --json - -- true"
        )
        assert [one["status"] for one in json.loads(said.stdout)["trials"]] == ["ok"] * 3

    def test_compare(self, inside: Inside) -> None:
        said = inside("tare compare -n 10 'sleep 0.01' 'sleep 0.03'")
        assert "sleep 0.03 is slower than sleep 0.01: × " in said.stdout

    def test_audit(self, inside: Inside) -> None:
        said = inside(
            "tare audit times.csv --value seconds --compare program --block run --trial row", code=1
        )
        assert said.stdout.startswith("DOUBT ")
        assert "gzip -7 vs. gzip -6 by seconds: slower, +9.7 % [+5.9, +12.0]" in said.stdout

    def test_experiment_with_its_page(self, inside: Inside) -> None:
        # Where a busy machine reached the end of the budget first, the code is 18.
        inside("tare experiment run demo.toml --out demo || [ $? -eq 18 ]")
        page = inside("cat demo/report.html").stdout
        assert "vegaEmbed" in page
        assert "unshare" in page

    def test_network(self, inside: Inside) -> None:
        said = inside(
            "tare net serve --new-key lab.key;"
            " tare net emulate rate 100Mbit --serve 'tare net serve --bind {host} --key lab.key'"
            " -- tare net measure {host2} --key lab.key --duration 10s"
        )
        row = re.search(r"^full-speed .*Mbit/s.*$", said.stdout, re.MULTILINE)
        assert row is not None, said.stdout
        *_, median = re.findall(r"([\d.]+) Mbit/s", row[0])
        # Payload of full segments in a rate that includes headers.
        assert 90 < float(median) < 97

    def test_doctor(self, inside: Inside) -> None:
        said = inside("tare doctor --json - || [ $? -eq 1 ]")
        verdicts = {one["verdict"] for one in json.loads(said.stdout)["checks"].values()}
        assert "ok" in verdicts
        assert verdicts <= {"ok", "warn", "fail", "unknown"}
