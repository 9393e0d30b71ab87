"""What every command waits for before it begins."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

GOLDEN = Path(__file__).parents[1] / "golden" / "inputs"


def test_a_page_loads_no_library_that_draws_pictures_or_that_takes_long(tmp_path: Path) -> None:
    with tarfile.open(GOLDEN / "demo.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    heavy = ("scipy.stats", "scipy.optimize", "vl_convert", "altair", "statsmodels", "docker")
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
        "import sys; from tare import wiring; wiring.command_line()\n"
        f"print(*[name for name in {heavy!r} if name in sys.modules])\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert said.stdout.split() == []
