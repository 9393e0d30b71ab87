"""isolate built from its source: its times of a kernel against the kernel's own.

pytest -m slow tests/slow/test_isolate_source.py --isolate FOLDER
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from quiet import Quiet

import tare
from tare.experiment import pipeline
from tare.experiment.findings import harness_error
from tare.host import state

pytestmark = [pytest.mark.slow, pytest.mark.system, pytest.mark.machine]

MS = 1_000_000
FILE = """
[experiment]
name = "isolate"
question = "How far off is isolate?"
fresh = "run"
trials = 8
iterations = 5
tail = "stop"
fingerprint = false

[platforms.isolate]
cg = "{cg}"

[[workload]]
kernel = "exp_float"
size = 16384
repetitions = 2

[factors]
platform = ["isolate"]
workers = [1, 2]
"""
CONFIGURATION = """
box_root = {folder}/boxes
cg_root = /sys/fs/cgroup
first_uid = 60000
first_gid = 60000
num_boxes = 1000
"""


@pytest.fixture
def built(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Build a copy of the source, put it on PATH, and return its folder."""
    source = request.config.getoption("--isolate")
    if source is None:
        pytest.skip("--isolate names no folder of isolate's source")
    if os.geteuid() != 0:
        pytest.skip("isolate is started as root")
    # Users of boxes may not enter pytest's folders.
    folder = state.folder() / "isolate-source"
    folder.parent.chmod(0o755)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)
    configuration = CONFIGURATION.format(folder=folder)
    if "lock_root" in (folder / "config.c").read_text():
        configuration += f"lock_root = {folder}/locks\n"
    (folder / "configuration").write_text(configuration)
    subprocess.run(
        ["make", "-C", folder, "isolate", f"CONFIG={folder}/configuration"],
        check=True,
        capture_output=True,
    )
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("cg", ["off", "auto"])
def test_isolates_times_contain_the_programs_own(built: Path, tmp_path: Path, cg: str) -> None:
    file = tmp_path / "isolate.toml"
    file.write_text(FILE.format(cg=cg))
    pipeline.execute(pipeline.prepare(file), tmp_path / "out", Quiet())
    results = tare.open(tmp_path / "out")
    assert set(results.trial_table["status"]) == {"ok"}
    for metric in ("cpu_ns", "wall_ns"):
        own, isolates = (
            results.sample_table.of(metric, source).sorted_by("trial", "worker", "iteration")
            for source in ("self", "isolate")
        )
        # 8 trials of 5 iterations, of 1 and of 2 workers.
        assert len(own) == len(isolates) == 8 * 5 * 3
        # isolate counts from before the program's first instruction, in whole milliseconds; its
        # wall clock starts late where its own process waits for a CPU.
        assert np.all(isolates["value"] % MS == 0)
        errors = isolates["value"] - own["value"]
        assert np.all(errors > -MS) if metric == "cpu_ns" else np.median(errors) > -MS
    found = harness_error.find(results)
    assert found is not None
    cpu = {row["source"]: row for row in found.tables[0].rows if row["workers"] == "1"}
    assert 0 < cpu["isolate"]["mean"] < 20 * MS
    # 1.10 leaves an empty folder where it is asked to clean up a second time.
    assert list((built / "boxes").glob("*/*")) == []
