"""The package: its versions, the wheel's name, contents and bytes, the changelog."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from zipfile import ZipFile

import pytest
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import tare
from tare.workloads.application import PROGRAMS

ROOT = Path(__file__).parents[2]
#: In bytes; an index's default for a whole project is a thousand times as much.
MAX_WHEEL = 8_000_000
#: What a build reads besides ``src`` and the agent, which these tests do not compile.
SOURCES = ("hatch_build.py", "pyproject.toml", "README.md", "LICENSE", "LICENSE-vega")
MACHINE = os.uname().machine
#: A cargo that finds everything compiled, as it does in a checkout where nothing has changed.
CARGO = "#!/bin/sh\nexit 0\n"
RUSTC = f"#!/bin/sh\necho host: {MACHINE}-unknown-linux-gnu\n"
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
HEADING = re.compile(r"^## \[(?:Unreleased|(\d+\.\d+\.\d+))\](?: - \d{4}-\d{2}-\d{2})?$")


def toml(path: str) -> dict:
    return tomllib.loads((ROOT / path).read_text(encoding="utf-8"))


def number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def test_the_wheel_has_the_version_of_the_package() -> None:
    assert WheelBuilder(str(ROOT)).metadata.version == tare.__version__


def test_the_package_installs_the_command_under_both_names() -> None:
    package = WheelBuilder(str(ROOT)).metadata
    assert package.name == "tare-bench"
    assert package.core.scripts == dict.fromkeys(("tare", "tare-bench"), "tare.__main__:main")


def test_the_agent_has_the_version_of_the_package() -> None:
    assert toml("agent/Cargo.toml")["workspace"]["package"]["version"] == tare.__version__
    locked = {one["name"]: one["version"] for one in toml("agent/Cargo.lock")["package"]}
    assert locked["tare-agent"] == tare.__version__


def copy_sources(folder: Path) -> None:
    # Other tests write bytecode meanwhile.
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for source in SOURCES:
        shutil.copy(ROOT / source, folder)


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return what builds a wheel to publish in a copy of the tree, and returns its path."""
    folder = tmp_path_factory.mktemp("package")
    for name, script in (("cargo", CARGO), ("rustc", RUSTC)):
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)

    def run(name: str, machine: str = MACHINE, mode: int = 0o644) -> Path:
        copy = folder / name
        copy.mkdir()
        copy_sources(copy)
        for path in (copy / "src/tare").rglob("*.py"):
            path.chmod(mode)
        target = f"{machine}-unknown-linux-gnu"
        (copy / "agent").mkdir()
        release = copy / "target" / target / "release"
        release.mkdir(parents=True)
        for program in ("tare-agent", *PROGRAMS):
            shutil.copy(ROOT / "src/tare/bin" / program, release)
        environment = os.environ | {
            "PATH": f"{folder}:{os.environ['PATH']}",
            "CARGO_TARGET_DIR": str(copy / "target"),
            "TARE_TARGET": target,
            "SOURCE_DATE_EPOCH": "1700000000",
        }
        environment.pop("TARE_PROGRAMS", None)
        command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
        subprocess.run(command, cwd=copy, env=environment, check=True, capture_output=True)
        (wheel,) = (copy / "dist").iterdir()
        return wheel

    return run


@pytest.fixture(scope="module")
def wheel(build: Callable[..., Path]) -> Path:
    return build("first")


@pytest.fixture(scope="module")
def foreign(build: Callable[..., Path]) -> Path:
    """Build a wheel for another machine than this one."""
    return build("foreign", machine={"x86_64": "aarch64"}.get(MACHINE, "x86_64"))


def test_the_wheel_names_the_oldest_system_that_it_is_for(wheel: Path, foreign: Path) -> None:
    begin = f"tare_bench-{tare.__version__}-py3-none-manylinux_2_28_"
    assert wheel.name == f"{begin}{MACHINE}.whl"
    assert {wheel.name, foreign.name} == {f"{begin}x86_64.whl", f"{begin}aarch64.whl"}


def test_the_tag_asks_for_as_much_as_the_dependencies() -> None:
    """Each package that the core needs has a wheel for the tag's glibc, on both machines."""
    locked = {one["name"]: one for one in toml("uv.lock")["package"]}
    waiting = [one["name"] for one in locked["tare-bench"]["dependencies"]]
    needed = {}
    while waiting:
        name = waiting.pop()
        if name in needed:
            continue
        waiting += [one["name"] for one in locked[name].get("dependencies", ())]
        urls = [one["url"] for one in locked[name].get("wheels", ())]
        found = {
            machine: [
                0 if url.endswith("-none-any.whl") else int(glibc[1])
                for url in urls
                if url.endswith("-none-any.whl")
                or (glibc := re.search(rf"-cp31\d-cp31\d-.*manylinux_2_(\d+)_{machine}", url))
            ]
            for machine in ("x86_64", "aarch64")
        }
        needed[name] = max(min(versions) for versions in found.values())
    assert needed.keys() > {"numpy", "scipy", "google-re2"}
    assert max(needed.values()) <= 28


def test_the_wheel_links_no_library_of_the_system(wheel: Path) -> None:
    command = [sys.executable, "-m", "auditwheel", "show", str(wheel)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "requires no external shared libraries" in said
    assert "references no external versioned symbols" in said


def test_the_wheel_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size <= MAX_WHEEL


def test_the_wheel_has_the_files_of_the_checkout_each_once(wheel: Path, foreign: Path) -> None:
    """An installed tool has the same tree as an editable one, whichever machine it is for."""
    tree = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src/tare").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    }
    for path in (wheel, foreign):
        with ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.startswith("tare/")]
        assert len(names) == len(set(names))
        assert set(names) == tree
    built = {f"tare/bin/{name}" for name in ("vega.js", "tare-agent", *PROGRAMS)}
    assert tree > built | {"tare/py.typed"}


def test_the_same_tree_elsewhere_makes_the_same_wheel(
    build: Callable[..., Path], wheel: Path
) -> None:
    again = build("second", mode=0o600)
    assert again.read_bytes() == wheel.read_bytes()
    with ZipFile(again) as archive:
        modes = {one.filename: one.external_attr >> 16 & 0o777 for one in archive.infolist()}
    assert {modes.pop(f"tare/bin/{name}") for name in ("tare-agent", *PROGRAMS)} == {0o755}
    assert set(modes.values()) == {0o644}


def test_the_wheel_installs_both_commands_and_measures(wheel: Path, tmp_path: Path) -> None:
    pytest.importorskip("ensurepip", reason="Debian: python3-venv")
    venv.create(tmp_path / "venv", symlinks=True, with_pip=True)
    command = [tmp_path / "venv/bin/pip", "install", "--no-deps", "--no-index", "--quiet"]
    subprocess.run([*command, wheel], check=True)
    # Its dependencies are those of this environment; tare is not, which is installed as editable.
    environment = os.environ | {"PYTHONPATH": str(Path(pytest.__file__).parents[1])}
    for name in ("tare", "tare-bench"):
        said = subprocess.run(
            [tmp_path / "venv/bin" / name, "run", "-n", "2", "--json", "-", "--", "true"],
            env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert [one["status"] for one in json.loads(said.stdout)["trials"]] == ["ok", "ok"]


def test_where_cargo_is_missing_a_build_prints_what_it_needs(tmp_path: Path) -> None:
    copy_sources(tmp_path)
    said = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel"],
        check=False, cwd=tmp_path, env={"PATH": "/nonexistent", "HOME": str(tmp_path)},
        capture_output=True, text=True,
    )  # fmt: skip
    assert said.returncode != 0
    assert "install a current cargo" in said.stderr
    assert "apt install cargo-web" in said.stderr


@pytest.fixture(scope="module")
def bill() -> dict:
    """Return the bill of materials, which is the same text twice."""
    cargo = shutil.which("cargo") or Path.home() / ".cargo/bin/cargo"
    environment = os.environ | {"PATH": f"{os.environ['PATH']}:{Path(cargo).parent}"}
    said = [
        subprocess.run(
            [sys.executable, ROOT / "tools/sbom.py"],
            env=environment, capture_output=True, text=True, check=True,
        ).stdout
        for _ in range(2)
    ]  # fmt: skip
    assert said[0] == said[1]
    found: dict = json.loads(said[0])
    return found


def test_the_bill_of_materials_has_what_the_command_needs_in_this_environment(bill: dict) -> None:
    scopes = {one["bom-ref"]: one["scope"] for one in bill["components"]}
    waiting, required = ["tare-bench"], set()
    while waiting:
        for text in metadata.requires(waiting.pop()) or ():
            requirement = Requirement(text)
            if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
                continue
            name = canonicalize_name(requirement.name)
            reference = f"pkg:pypi/{name}@{metadata.version(name)}"
            if reference not in required:
                required.add(reference)
                waiting.append(name)
    assert len(required) > 15
    assert {scopes[reference] for reference in required} == {"required"}
    pandas = f"pkg:pypi/pandas@{metadata.version('pandas')}"
    assert scopes[pandas] == "optional"


def test_the_bill_of_materials_has_the_crates_that_the_programs_link(bill: dict) -> None:
    crates = {one["name"]: one for one in bill["components"] if "pkg:cargo" in one["bom-ref"]}
    locked = {
        (one["name"], one["version"]): one.get("checksum")
        for one in toml("agent/Cargo.lock")["package"]
    }
    for one in crates.values():
        checksum = one["hashes"][0]["content"] if "hashes" in one else None
        assert checksum == locked[one["name"], one["version"]]
    applications = {name for name, one in crates.items() if one["type"] == "application"}
    assert applications == {"tare-agent", *PROGRAMS}
    # A library of each program, one of Windows alone, and one that only tests and macros use.
    assert {"scylla", "kernels"} <= crates.keys()
    assert not {"windows-sys", "syn", "serde_derive"} & crates.keys()


def test_the_bill_of_materials_names_each_dependency_that_it_refers_to(bill: dict) -> None:
    own = bill["metadata"]["component"]["bom-ref"]
    references = [own, *(one["bom-ref"] for one in bill["components"])]
    assert len(references) == len(set(references))
    reached, waiting = {own}, [own]
    on = {one["ref"]: one["dependsOn"] for one in bill["dependencies"]}
    while waiting:
        for reference in on.get(waiting.pop(), ()):
            if reference not in reached:
                reached.add(reference)
                waiting.append(reference)
    assert reached == set(references)


def test_the_changelog_has_a_section_for_what_comes_next() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    headings = [line for line in lines if line.startswith("## ")]
    assert headings[0] == "## [Unreleased]"
    released = []
    for heading in headings:
        found = HEADING.match(heading)
        assert found is not None, heading
        if found[1] is not None:
            released.append(number(found[1]))
    assert released == sorted(released, reverse=True)
    # Between two releases, the version is that of the last one or of the next.
    assert all(one <= number(tare.__version__) for one in released)
    assert {line[4:] for line in lines if line.startswith("### ")} <= KINDS
