"""What every command waits for before it begins."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[1] / "golden" / "inputs"
INTEROP = Path(__file__).parents[1] / "data" / "interop"


def test_a_page_loads_no_library_that_draws_pictures_or_that_takes_long(tmp_path: Path) -> None:
    with tarfile.open(GOLDEN / "demo.tar.xz") as archive:
        archive.extractall(tmp_path)
    heavy = ("scipy.stats", "scipy.optimize", "vl_convert", "altair", "pandas", "docker")
    script = (
        "import sys; from tare import wiring\n"
        f"sys.argv = ['tare', 'experiment', 'report', {str(tmp_path / 'demo')!r}]\n"
        "try: wiring.main()\n"
        f"finally: print('loaded:', *[name for name in {heavy!r} if name in sys.modules])\n"
    )
    command = [sys.executable, "-c", script]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.stdout.splitlines()[-1] == "loaded:"
    assert (tmp_path / "demo" / "report.html").exists()


def test_no_command_loads_what_another_needs() -> None:
    heavy = ("numpy", "scipy", "pandas", "duckdb", "docker", "vl_convert")
    script = (
        "import sys; from tare import wiring\n"
        "for one in wiring.ROOT.commands.values(): one.load()\n"
        f"print(*[name for name in {heavy!r} if name in sys.modules])\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert said.stdout.split() == []


#: What no command loads that does not need it: libraries, and what of tare takes long.
HEAVY = (
    "typer", "pydantic", "rich", "numpy", "scipy", "scipy.stats", "scipy.optimize", "pandas",
    "pyarrow",
    "duckdb", "docker", "vl_convert", "statsmodels", "distributed", "jinja2",
    "tare.experiment.session",
    "tare.networks.emulator", "tare.applications.image", "tare.features.audit",
    "tare.features.experiment", "tare.experiment.findings.cells",
)  # fmt: skip


@pytest.mark.system
@pytest.mark.parametrize(
    ("words", "loaded"),
    [
        ("--version", ()),
        ("run --help", ("rich",)),
        ("run -n 8 -- true", ("rich", "numpy", "jinja2", "tare.experiment.session")),
        (
            "compare -n 8 true true",
            (
                "rich", "numpy", "scipy", "jinja2", "tare.experiment.session",
                "tare.experiment.findings.cells",
            ),
        ),
        *[
            (
                f"audit {file}",
                (
                    "rich", "numpy", "scipy", "jinja2", "tare.features.audit",
                    "tare.experiment.findings.cells",
                ),
            )
            for file in (
                f"{GOLDEN / 'cloud.csv'} --value bandwidth_gbps --group region",
                INTEROP / "hyperfine" / "runs.json",
                INTEROP / "jmeter" / "log.jtl",
                INTEROP / "jmeter" / "log_xml.jtl",
            )
        ],
    ],
)  # fmt: skip
def test_a_command_loads_what_it_needs(words: str, loaded: tuple[str, ...]) -> None:
    script = (
        f"import sys; sys.argv = ['tare', *{words.split()!r}]\n"
        "from tare.__main__ import main\n"
        "try: main()\n"
        "finally: print(*[one for one in "
        f"{HEAVY!r} if one in sys.modules], file=sys.stderr)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert set(said.stderr.splitlines()[-1].split()) <= set(loaded)


def test_help_and_completion_take_little_more_cpu_time_than_a_library() -> None:
    sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
    try:
        import start
    finally:
        sys.path.pop(0)
    found = start.ratios(5)
    assert {name: ratio for name, ratio in found.items() if ratio > 1.5} == {}
