"""Processes of the tests have leases and state of their own, and tare has no switch for that."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import private_state
import pytest

from tare.experiment import remnants
from tare.host import lease, state

SOURCES = Path(lease.__file__).parents[1]

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(not private_state.is_possible(), reason="mount namespaces need root"),
]

#: Holds a lease, and is killed while it does.
DIES = """
import os, signal, sys
from tare.host import lease
with lease.hold(sys.argv[1]):
    os.kill(os.getpid(), signal.SIGKILL)
"""
#: Cleans up as another process of the tests does.
CLEANS = """
import private_state
from tare.experiment import remnants
with private_state.entered():
    remnants.cleanup()
"""


@pytest.fixture
def left() -> Iterator[Path]:
    """Yield a folder that a killed session left."""
    name = lease.new_name()
    subprocess.run([sys.executable, "-c", DIES, name], check=False)
    assert lease.sessions()[name] is False
    folder = Path(tempfile.gettempdir(), name)
    folder.mkdir()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def test_cleanup_removes_what_sessions_of_the_same_process_left_alone(left: Path) -> None:
    path = os.pathsep.join(filter(None, sys.path))
    subprocess.run(
        [sys.executable, "-c", CLEANS], env={**os.environ, "PYTHONPATH": path}, check=True
    )
    assert left.is_dir()
    assert f"directory {left}" in remnants.cleanup()
    assert not left.exists()


def test_nothing_that_a_caller_of_sudo_sets_moves_the_folders_of_root(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = "".join(Path(module.__file__ or "").read_text() for module in (lease, state))
    variables = set(re.findall(r"environ(?:\.get\(|\[)\"(\w+)\"", text))
    assert variables == {"XDG_RUNTIME_DIR", "XDG_STATE_HOME"}
    for name in (*variables, "HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    assert lease.writable() == private_state.FOLDERS[0]
    assert lease.places() == [private_state.FOLDERS[0]]
    assert state.folder() == private_state.FOLDERS[1]


def test_the_folders_are_named_at_one_place() -> None:
    for folder in private_state.FOLDERS:
        naming = [path for path in SOURCES.rglob("*.py") if f'"{folder}"' in path.read_text()]
        allowed = {SOURCES / "host/lease.py", SOURCES / "host/state.py"}
        # It only hints that root has leftovers, too.
        assert {*naming} - {SOURCES / "features/machine/cleanup.py"} <= allowed
