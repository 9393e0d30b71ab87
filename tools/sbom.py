#!/usr/bin/env python3
"""Print the software bill of materials of a release, as CycloneDX 1.6 in JSON.

It lists what the wheel contains and what it depends on: crates compiled into the programs (as in
``agent/Cargo.lock``, on Linux, with checksums and licences), the scripts in ``vega.js``, and Python
packages (as in ``uv.lock``; those of extras are optional). pip may install other versions of Python
packages within the ranges of ``pyproject.toml``, so they have no checksums here. Not listed: the
standard library of Rust and the C library, both linked statically, which belong to the toolchain.

The same locks give the same bytes; ``SOURCE_DATE_EPOCH`` is the time that the document states.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import vl_convert

ROOT = Path(__file__).parents[1]
PACKAGE = "tare-bench"
PROGRAMS = ("tare-agent", "tare-cql")
TARGETS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")
#: ``vl_convert`` reports the first two numbers of Vega-Lite's version; the bundle has all three.
VEGA_LITE = re.compile(rf'"({re.escape(vl_convert.get_vegalite_versions()[-1])}\.\d+)"')

Component = dict[str, Any]
Dependencies = dict[str, list[str]]


def crates() -> tuple[list[Component], Dependencies]:
    """Return crates that the programs link, and what each depends on, by bom-ref."""
    locked = tomllib.loads((ROOT / "agent/Cargo.lock").read_text(encoding="utf-8"))["package"]
    checksums = {(one["name"], one["version"]): one.get("checksum") for one in locked}
    components: dict[str, Component] = {}
    dependencies: dict[str, set[str]] = {}
    for target in TARGETS:
        command = ["cargo", "metadata", "--locked", "--format-version=1"]
        command += ["--filter-platform", target, "--manifest-path", str(ROOT / "agent/Cargo.toml")]
        text = subprocess.run(command, capture_output=True, check=True, text=True).stdout
        metadata = json.loads(text)
        packages = {one["id"]: one for one in metadata["packages"]}
        nodes = {one["id"]: one for one in metadata["resolve"]["nodes"]}
        waiting = [key for key, one in packages.items() if one["name"] in PROGRAMS]
        seen = set(waiting)
        while waiting:
            key = waiting.pop()
            linked = [
                one["pkg"]
                for one in nodes[key]["deps"]
                if any(kind["kind"] is None for kind in one["dep_kinds"])
                # Macros run in the compiler alone.
                and packages[one["pkg"]]["targets"][0]["kind"] != ["proc-macro"]
            ]
            waiting += [one for one in linked if one not in seen]
            seen.update(linked)
            package = packages[key]
            reference = _crate_reference(package)
            components[reference] = _crate(package, checksums[package["name"], package["version"]])
            dependencies.setdefault(reference, set()).update(
                _crate_reference(packages[one]) for one in linked
            )
    return [*components.values()], {key: sorted(value) for key, value in dependencies.items()}


def _crate_reference(package: dict[str, Any]) -> str:
    return f"pkg:cargo/{package['name']}@{package['version']}"


def _crate(package: dict[str, Any], checksum: str | None) -> Component:
    reference = _crate_reference(package)
    component = {
        "type": "application" if package["name"] in PROGRAMS else "library",
        "bom-ref": reference,
        "name": package["name"],
        "version": package["version"],
        "scope": "required",
    }
    if package.get("license"):
        # Cargo accepts this older form, which SPDX does not.
        expression = re.sub(r"\s*/\s*", " OR ", package["license"])
        component["licenses"] = [{"expression": expression}]
    if checksum:
        component["purl"] = reference
        component["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return component


def scripts() -> list[Component]:
    """Return what ``vega.js`` bundles."""
    vega_lite = VEGA_LITE.search((ROOT / "src/tare/bin/vega.js").read_text(encoding="utf-8"))
    assert vega_lite is not None
    versions = {
        "vega": vl_convert.get_vega_version(),
        "vega-embed": vl_convert.get_vega_embed_version(),
        "vega-lite": vega_lite[1],
    }
    return [
        {
            "type": "library",
            "bom-ref": f"pkg:npm/{name}@{version}",
            "name": name,
            "version": version,
            "scope": "required",
            "licenses": [{"license": {"id": "BSD-3-Clause"}}],
            "purl": f"pkg:npm/{name}@{version}",
        }
        for name, version in versions.items()
    ]


def python_packages() -> tuple[list[Component], Dependencies, list[str]]:
    """Return Python packages, what each depends on, and the bom-refs of direct dependencies."""
    packages = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))["package"]
    by_name: dict[str, list[dict[str, Any]]] = {}
    for package in packages:
        by_name.setdefault(package["name"], []).append(package)

    def find(wanted: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            package
            for one in wanted
            for package in by_name[one["name"]]
            if one.get("version", package["version"]) == package["version"]
        ]

    def closure(direct: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        waiting = list(direct)
        while waiting:
            package = waiting.pop()
            if (reference := _python_reference(package)) not in found:
                found[reference] = package
                waiting += find(package.get("dependencies", ()))
        return found

    (own,) = by_name[PACKAGE]
    core = find(own["dependencies"])
    optional = find(one for extra in own["optional-dependencies"].values() for one in extra)
    required = closure(core)
    everything = closure([*core, *optional])
    components = [
        {
            "type": "library",
            "bom-ref": reference,
            "name": package["name"],
            "version": package["version"],
            "scope": "required" if reference in required else "optional",
            "purl": reference,
        }
        for reference, package in everything.items()
    ]
    dependencies = {
        reference: sorted({_python_reference(one) for one in find(package.get("dependencies", ()))})
        for reference, package in everything.items()
    }
    return components, dependencies, [_python_reference(one) for one in [*core, *optional]]


def _python_reference(package: dict[str, Any]) -> str:
    return f"pkg:pypi/{package['name']}@{package['version']}"


def document() -> dict[str, Any]:
    """Return the bill of materials."""
    version = tomllib.loads((ROOT / "agent/Cargo.toml").read_text(encoding="utf-8"))["workspace"][
        "package"
    ]["version"]
    own = f"pkg:pypi/{PACKAGE}@{version}"
    linked, dependencies = crates()
    packages, of_packages, direct = python_packages()
    bundled = scripts()
    components = sorted([*linked, *bundled, *packages], key=lambda one: one["bom-ref"])
    contained = [one["bom-ref"] for one in [*linked, *bundled] if one["type"] == "application"]
    contained += [one["bom-ref"] for one in bundled]
    dependencies |= of_packages | {own: sorted({*contained, *direct})}
    metadata: dict[str, Any] = {
        "component": {
            "type": "application",
            "bom-ref": own,
            "name": PACKAGE,
            "version": version,
            "licenses": [{"license": {"id": "Apache-2.0"}}],
            "purl": own,
        }
    }
    if "SOURCE_DATE_EPOCH" in os.environ:
        moment = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), UTC)
        metadata["timestamp"] = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    body = {
        "metadata": metadata,
        "components": components,
        "dependencies": [
            {"ref": reference, "dependsOn": on} for reference, on in sorted(dependencies.items())
        ],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(body, sort_keys=True))
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        **body,
    }


if __name__ == "__main__":
    print(json.dumps(document(), indent=1, ensure_ascii=False))
