"""NumPy is loaded without threads, and nothing of that reaches measured programs."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

_SCRIPT = """
import os
from tare.host import numpy_loading
before = dict(os.environ)
numpy_loading.load()
import numpy
assert dict(os.environ) == before
print(len(os.listdir("/proc/self/task")))
"""

_COMMAND = """
import os, sys
from tare import wiring
sys.argv = ["tare", "export", "nowhere"]
try:
    wiring.main()
except SystemExit:
    assert "numpy" in sys.modules
    print(len(os.listdir("/proc/self/task")))
"""


@pytest.mark.parametrize("asked", [None, "2"])
def test_linear_algebra_has_one_thread_unless_the_environment_says_otherwise(
    asked: str | None,
) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    environment |= {} if asked is None else {"OPENBLAS_NUM_THREADS": asked}
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True, env=environment
    )
    cpus = len(os.sched_getaffinity(0))
    assert int(done.stdout) == min(int(asked or 1), cpus)


def test_every_command_loads_it_so() -> None:
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", _COMMAND],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    assert done.stdout == "1\n"
