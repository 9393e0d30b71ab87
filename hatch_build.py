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

#: Tag of wheels to publish. The programs inside need no libc; NumPy's and SciPy's wheels need this
#: glibc. google-re2 has no wheel for musl, so there is no tag for it.
PUBLISHED_TAG = "manylinux_2_28"

#: Packages of `agent/` whose programs the package carries: the agent, and the drivers.
PROGRAMS = ("tare-agent", "tare-cql")
#: Vega calls this by its name; the page has no other way to it.
SNIPPET = "window.vegaEmbed = vegaEmbed;"


class BuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compile `agent/` and bundle Vega's scripts, both into `tare/bin`.

    ``TARE_TARGET`` is rustc's name of the machine that a wheel to publish is for. Without it, the
    wheel is for this machine and its tag is one that package indexes refuse.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Run before files are collected, for wheels and editable installs alike."""
        root = Path(self.root)
        # tools/setup names fewer where not all are needed.
        programs = os.environ.get("TARE_PROGRAMS", " ".join(PROGRAMS)).split()
        cargo = shutil.which("cargo") or str(Path.home() / ".cargo/bin/cargo")
        try:
            host = self._host(cargo)
            target = os.environ.get("TARE_TARGET", host)
            subprocess.run(
                # An explicit target keeps the static flags away from build scripts and macros.
                [cargo, "build", "--release", "--locked", "--target", target,
                 *(f"--package={name}" for name in programs)],
                cwd=root / "agent",
                env={**os.environ, "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(_rustc_flags())},
                check=True,
            )  # fmt: skip
        except (OSError, subprocess.CalledProcessError) as error:
            raise RuntimeError(f"the agent could not be built: {error}. {HINT}") from error
        built = Path(os.environ.get("CARGO_TARGET_DIR", root / "agent/target")) / target / "release"
        folder = root / "src/tare/bin"
        folder.mkdir(exist_ok=True)
        included = {name: built / name for name in programs}
        if target == host:
            # A checkout keeps what runs on this machine.
            for name, path in included.items():
                _replace(folder / name, path.read_bytes(), 0o755)
        # Bundling takes longer than all else that a page needs, and comes to the same each time.
        included["vega.js"] = folder / "vega.js"
        _replace(included["vega.js"], _vega(root).encode(), 0o644)
        build_data["force_include"] = {
            str(path): f"tare/bin/{name}" for name, path in included.items()
        }
        build_data["pure_python"] = False
        build_data["infer_tag"] = False
        system = PUBLISHED_TAG if "TARE_TARGET" in os.environ else "linux"
        build_data["tag"] = f"py3-none-{system}_{target.partition('-')[0]}"

    @staticmethod
    def _host(cargo: str) -> str:
        rustc = Path(cargo).with_name("rustc")
        command = [str(rustc) if rustc.exists() else "rustc", "-vV"]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return next(line.split()[1] for line in lines.splitlines() if line.startswith("host:"))


def _replace(path: Path, content: bytes, mode: int) -> None:
    """Replace a file at once: what runs or reads the old one keeps it."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_bytes(content)
    fresh.chmod(mode)
    fresh.replace(path)


def _vega(root: Path) -> str:
    """Bundle Vega, Vega-Lite and Vega-Embed, with their licence, for an element of a page."""
    import vl_convert

    licence = (root / "LICENSE-vega").read_text(encoding="utf-8")
    script = vl_convert.javascript_bundle(SNIPPET).replace("</script", "<\\/script")
    return f"/*\n{licence}*/\n{script}"


def _rustc_flags() -> list[str]:
    """Return rustc's flags; the Makefile's must be the same, or cargo compiles everything again."""
    libraries = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
    # Messages of panics name source files; two machines must build the same bytes.
    return ["-Ctarget-feature=+crt-static", f"--remap-path-prefix={libraries}=/cargo"]
