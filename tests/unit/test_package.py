"""The package: one version, types for who imports it, and a changelog that can be released."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

import tare
from tare.workloads.application import PROGRAMS

ROOT = Path(__file__).parents[2]
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
HEADING = re.compile(r"^## \[(?:Unreleased|(\d+\.\d+\.\d+))\](?: - \d{4}-\d{2}-\d{2})?$")


def toml(path: str) -> dict:
    return tomllib.loads((ROOT / path).read_text(encoding="utf-8"))


def number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def test_the_wheel_has_the_version_of_the_package() -> None:
    assert WheelBuilder(str(ROOT)).metadata.version == tare.__version__


def test_the_package_installs_the_command_under_both_names() -> None:
    metadata = WheelBuilder(str(ROOT)).metadata
    assert metadata.name == "tare-bench"
    assert metadata.core.scripts == dict.fromkeys(("tare", "tare-bench"), "tare.__main__:main")


def test_the_agent_has_the_version_of_the_package() -> None:
    assert toml("agent/Cargo.toml")["workspace"]["package"]["version"] == tare.__version__
    locked = {one["name"]: one["version"] for one in toml("agent/Cargo.lock")["package"]}
    assert locked["tare-agent"] == tare.__version__


@pytest.mark.parametrize(
    "file",
    [
        *("tare/py.typed", "tare/__init__.py", "tare/bin/tare-agent", "tare/bin/vega.js"),
        *(f"tare/bin/{name}" for name in PROGRAMS),
    ],
)
def test_the_wheel_has_what_is_imported_its_types_and_what_is_built(file: str) -> None:
    builder = WheelBuilder(str(ROOT))
    assert file in {one.distribution_path for one in builder.recurse_included_files()}


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
