"""Build what the package carries: the agent and drivers, static, and what draws its charts."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HINT = (
    "tare's agent is written in Rust: install a current cargo (https://rustup.rs; "
    "on Debian 12: apt install cargo-web) and a C linker (apt install gcc libc6-dev)."
)


#: Packages of `agent/` whose programs the package carries: the agent, and the drivers.
PROGRAMS = ("tare-agent", "tare-cql")
#: Vega calls this by its name; the page has no other way to it.
SNIPPET = "window.vegaEmbed = vegaEmbed;"


class BuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compile `agent/` for this machine and bundle Vega's scripts, both into `tare/bin`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Run before files are collected, for wheels and editable installs alike."""
        root = Path(self.root)
        # tools/setup names fewer where not all are needed.
        programs = os.environ.get("TARE_PROGRAMS", " ".join(PROGRAMS)).split()
        cargo = shutil.which("cargo") or str(Path.home() / ".cargo/bin/cargo")
        try:
            host = self._host(cargo)
            subprocess.run(
                # An explicit target keeps the static flags away from build scripts and macros.
                [cargo, "build", "--release", "--locked", "--target", host,
                 *(f"--package={name}" for name in programs)],
                cwd=root / "agent",
                env={**os.environ, "RUSTFLAGS": "-C target-feature=+crt-static"},
                check=True,
            )  # fmt: skip
        except (OSError, subprocess.CalledProcessError) as error:
            raise RuntimeError(f"the agent could not be built: {error}. {HINT}") from error
        target = Path(os.environ.get("CARGO_TARGET_DIR", root / "agent/target"))
        folder = root / "src/tare/bin"
        folder.mkdir(exist_ok=True)
        for name in programs:
            # A running program must not see its file change under it: replace, never overwrite.
            fresh = folder / f"{name}.new"
            shutil.copy2(target / host / "release" / name, fresh)
            fresh.replace(folder / name)
        # Bundling takes longer than all else that a page needs, and comes to the same each time.
        (folder / "vega.js").write_text(_vega(root), encoding="utf-8")
        build_data["pure_python"] = False
        build_data["infer_tag"] = False
        build_data["tag"] = f"py3-none-{_platform_tag()}"

    @staticmethod
    def _host(cargo: str) -> str:
        rustc = Path(cargo).with_name("rustc")
        command = [str(rustc) if rustc.exists() else "rustc", "-vV"]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return next(line.split()[1] for line in lines.splitlines() if line.startswith("host:"))


def _vega(root: Path) -> str:
    """Bundle Vega, Vega-Lite and Vega-Embed, with their licence, for an element of a page."""
    import vl_convert

    licence = (root / "LICENSE-vega").read_text(encoding="utf-8")
    script = vl_convert.javascript_bundle(SNIPPET).replace("</script", "<\\/script")
    return f"/*\n{licence}*/\n{script}"


def _platform_tag() -> str:
    machine = os.uname().machine
    return f"linux_{machine}"
