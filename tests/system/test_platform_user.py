"""An ordinary user: what needs no rights works, the rest says what it needs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user"),
]

NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]

SCRIPT = """
import json, os
from pathlib import Path
from tare import platforms
from tare.experiment import remnants
from tare.host import lease
from tare.errors import PlatformError

found = {stack: platforms.availability(stack) for stack in platforms.offered()}
told = {name: [one.works, one.why, one.fix] for name, one in found.items()}
name = lease.new_name()
with lease.hold(name):
    shared = Path("/dev/shm") / name
    shared.mkdir()
    for what, given in (("size", {"memory_bytes": 1 << 26}), ("quota", {"cores": 0.5})):
        try:
            place = platforms.Place(name=f"{name}-0", shared=str(shared), **given)
            platforms.start("bare", place).close()
            told[what] = [True, None, None]
        except PlatformError as error:
            told[what] = [False, error.message, error.hint]
    shared.rmdir()
print(json.dumps({"uid": os.geteuid(), "told": told, "cleaned": remnants.cleanup()}))
"""


def as_nobody(home: Path) -> dict[str, Any]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    if "PYTHONPATH" in os.environ:
        environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
    python = [*AS_NOBODY, sys.executable]
    try:
        subprocess.run([*python, "-c", "import tare.agent.client"], env=environment, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("another user cannot read this Python or this checkout")
    done = subprocess.run(
        [*python, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def test_an_ordinary_user_has_bare_and_is_told_the_rest(tmp_path: Path) -> None:
    said = as_nobody(tmp_path / "no" / "home")
    assert said["uid"] == NOBODY
    assert said["cleaned"] == []
    told = said["told"]
    assert told["bare"] == [True, None, None]
    for works, why, fix in told.values():
        assert works or (why and fix)
    docker_works, why, fix = told["docker"]
    assert not docker_works
    assert "Docker" in why
    assert fix.startswith("sudo ")
