"""What holds before a command begins: open streams, a silent Ctrl-C, no modules of the folder."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import cli
import pytest

import tare
from tare import __main__ as entry
from tare.host import python, state

SOURCES = Path(tare.__file__).parent


@pytest.mark.parametrize("closed", ["2>&-", ">&-", "<&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_fault(closed: str, tmp_path: Path) -> None:
    words = [*cli.TARE, "describe", "kernels"]
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh", *words]
    done = subprocess.run(shell, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0
    assert "Traceback" not in done.stdout + done.stderr
    assert bool(done.stdout) == (">&-" not in closed.replace("2>&-", ""))


def test_ctrl_c_while_modules_are_imported_is_silent() -> None:
    script = """
import signal, sys
class Interrupts:
    def find_spec(self, name, *others):
        if name == "tare.wiring":
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Interrupts())
from tare.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, b"", b"")


def test_no_module_of_the_current_folder_is_imported(tmp_path: Path) -> None:
    for name in ("dask", "yaml", "msgspec", "distributed", "tare"):
        (tmp_path / f"{name}.py").write_text("open('ran', 'w')")
    done = subprocess.run(
        python.tare("describe", "kernels"), capture_output=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0
    assert not (tmp_path / "ran").exists()


@pytest.mark.skipif(
    os.geteuid() != 0, reason="an ordinary user has only rights of their own to lose"
)
@pytest.mark.parametrize("path", ["", ".", "bin:/usr/bin", ":/usr/bin:/bin", "/usr/bin:"])
def test_root_executes_no_program_of_the_current_folder(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", path)
    entry._keep_to_absolute_paths()
    folders = os.environ["PATH"].split(":")
    assert folders
    assert all(folder.startswith("/") for folder in folders)


def test_interpreters_are_started_in_one_way() -> None:
    elsewhere = [
        str(file.relative_to(SOURCES))
        for file in SOURCES.rglob("*.py")
        if re.search(r"sys\.executable|[\"']python3?[\"']", file.read_text())
        and file.name != "python.py"
        # Programs of applications run in images; readers name fields of other tools' files.
        and not {"library", "readers"} & {*file.parts}
    ]
    assert elsewhere == []


def test_what_unprotected_programs_can_reach_is_said_once(tmp_path: Path) -> None:
    state.remove(state.WARNED)
    said = [
        cli.run("run", "-n", "1", "--no-fingerprint", "--", "true", cwd=tmp_path).stderr
        for _ in range(2)
    ]
    assert "On bare, programs run as" in said[0]
    assert "bubblewrap" in said[0]
    assert "programs run as" not in said[1]
