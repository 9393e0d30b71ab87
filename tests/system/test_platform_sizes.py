"""The same sizes on real platforms, pinned and not: what is given, and what is seen inside."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import tare
from tare import platforms
from tare.cli.progress import Bar
from tare.experiment import pipeline
from tare.render.words import text
from tare.results.message import message

pytestmark = pytest.mark.system

MIB = 1 << 20
FILE = """
[experiment]
name = "sizes"
question = "What does a program see?"
trials = 2
fingerprint = false

[[workload]]
kernel = "null"

[factors]
platform = {stacks}
size = {sizes}
pinning = {pinnings}
"""


def measured(
    folder: Path, stacks: list[str], sizes: list[str], pinnings: list[str]
) -> tuple[tare.Results, str]:
    """Measure an experiment, and return it with what was told beforehand."""
    file = folder / "sizes.toml"
    file.write_text(
        FILE.format(
            stacks=json.dumps(stacks), sizes=json.dumps(sizes), pinnings=json.dumps(pinnings)
        )
    )
    prepared = pipeline.prepare(file)
    with Bar() as bar:
        pipeline.execute(prepared, folder / "sizes", bar)
    found = tare.open(folder / "sizes")
    assert set(found.trials()["status"]) == {"ok"}
    assert not np.isnan(found.instances["stop_ns"]).any()
    assert {len(rows) for _, rows in found.clocks.groups("instance")} == {2}
    return found, " ".join(note.message for note in prepared.notes)


def test_a_size_is_the_same_on_every_platform(tmp_path: Path) -> None:
    stacks = [s for s in ("bare", "docker", "runc") if platforms.availability(s).works]
    if os.geteuid() != 0 or len(stacks) < 2:
        pytest.skip("limits need root, and a platform beside bare")
    cpus = len(os.sched_getaffinity(0))
    found, told = measured(tmp_path, stacks, ["0.5c", "1c256m", "16xlarge"], ["none", "pinned"])
    assert "16xlarge was left out" in told
    assert (
        text(message("fractions of a core cannot be pinned, whole ones can", cores="0.5")) in told
    )
    table = found.instances
    assert len(table) == 3 * len(stacks)
    assert set(table.reduced("platform", "cold", sum).values()) == {1}
    for row in table.records():
        pinned = row["pinning"] == "pinned"
        assert row["cpus_affinity"] == (1 if pinned else cpus), row
        assert (row["cpus"] is not None) == pinned
        assert row["size"] != "1c256m" or row["memory_bytes"] == 256 * MIB
    assert (abs(found.clocks["monotonic_offset_ns"]) <= found.clocks["within_ns"]).all()


def test_a_machine_that_is_made_has_processors_and_memory_of_its_size(tmp_path: Path) -> None:
    if not platforms.availability("vm").works:
        pytest.skip("no virtual machines")
    found, _ = measured(tmp_path, ["vm"], ["1c256m"], ["pinned"])
    (row,) = found.instances.records()
    assert (row["cpus_affinity"], row["memory_bytes"]) == (1, 256 * MIB)
    assert len(row["cpus"]) == 1
    assert 150 * MIB < row["memory_total_bytes"] < 256 * MIB
