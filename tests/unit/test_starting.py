"""What every command waits for before it begins."""

from __future__ import annotations

import subprocess
import sys


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
