"""Without optional packages, commands work, or end with the line that installs them."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

import tare
from tare import extras, wiring
from tare.errors import TareError

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def without_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in extras.EXTRAS:
        monkeypatch.setitem(sys.modules, module, None)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("extras")
    with tarfile.open(ROOT / "tests/golden/inputs/demo.tar.xz") as archive:
        archive.extractall(folder)
    return folder / "demo"


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ("tables", "export {demo} --file {out}/all.duckdb"),
        ("tables", "export {demo} --file {out}/all.parquet"),
        ("tables", "audit {root}/tests/data/interop/table/c5.parquet"),
        ("images", "experiment report {demo} --report {out}/a.md"),
        ("images", "experiment report {demo} --charts svg --out {out}/charts"),
        ("images", "run -n 3 --report {out}/a.md -- true"),
        ("images", "compare --report {out}/a.md true false"),
        ("images", "audit {out}/none.csv --report {out}/a.md"),
        ("fleet", "fleet check local:2"),
        ("fleet", "fleet node"),
        ("fleet", "experiment run {root}/examples/demo.toml --fleet local:2 --out {out}/fleet"),
    ],
)
def test_a_command_names_the_extra_that_it_needs(
    extra: str,
    words: str,
    demo: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = words.format(demo=demo, out=tmp_path, root=ROOT).split()
    monkeypatch.setattr(sys, "argv", ["tare", *given])
    assert wiring.enter() == TareError.exit_code
    printed = capsys.readouterr()
    assert printed.out == ""
    said = " ".join(printed.err.split())
    assert f"need the extra '{extra}', which is not installed" in said
    assert f"pip install 'tare-bench[{extra}]'" in said
    # A report that cannot be written has the error in its place.
    assert {path.name for path in tmp_path.iterdir()} <= {"a.md"}


def test_data_frames_name_their_extra(demo: Path) -> None:
    results = tare.open(demo)
    for frame in (results.samples, results.trials, results.requests, results.tasks):
        with pytest.raises(TareError, match="Data frames need the extra 'tables'"):
            frame()


def test_every_extra_is_one_of_the_package() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    packages = {extra: set(names) for extra, names in project["optional-dependencies"].items()}
    assert set(packages) == {extra.name for extra in extras.EXTRAS.values()}
    for module, extra in extras.EXTRAS.items():
        package = {"vl_convert": "vl-convert-python"}.get(module, module)
        assert any(name.startswith(package) for name in packages[extra.name])
        assert not any(name.startswith(package) for name in project["dependencies"])


def test_other_modules_load_no_extra(tmp_path: Path) -> None:
    """All of tare but what is for one extra loads without any."""
    script = (
        "import pkgutil, sys\n"
        "from importlib import import_module\n"
        "import tare\n"
        "from tare.extras import EXTRAS\n"
        "sys.modules.update(dict.fromkeys(EXTRAS))\n"
        "for found in pkgutil.walk_packages(tare.__path__, 'tare.'):\n"
        "    if '.library.' in found.name or found.name == 'tare.__main__': continue\n"
        "    try: import_module(found.name)\n"
        "    except ImportError as error: print(found.name, error.name)\n"
    )
    command = [sys.executable, "-c", script]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    fleet = ("certificate", "check", "check_page", "engine", "laboratory", "local", "measuring",
             "node", "processes", "ssh", "work")  # fmt: skip
    expected = [f"tare.features.fleet.{name}" for name in fleet]
    assert {line.split()[0] for line in found.stdout.splitlines()} <= set(expected), found.stdout
