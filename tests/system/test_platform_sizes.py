"""The same sizes on real platforms, pinned and not: what is given, and what is seen inside."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import tare
from tare import conclude, platforms
from tare.cli.progress import Bar

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
platform = [{stacks}]
size = ["0.5c", "1c256m", "16xlarge"]
pinning = ["none", "pinned"]
"""


def test_a_size_is_the_same_on_every_platform(tmp_path: Path) -> None:
    stacks = [s for s in ("bare", "docker", "runc", "vm") if platforms.availability(s).works]
    if os.geteuid() != 0 or len(stacks) < 2:
        pytest.skip("limits need root, and a platform beside bare")
    cpus = len(os.sched_getaffinity(0))
    file = tmp_path / "sizes.toml"
    file.write_text(FILE.format(stacks=", ".join(f'"{stack}"' for stack in stacks)))
    prepared = conclude.prepare(file)
    told = " ".join(note.message for note in prepared.notes)
    assert "16xlarge was left out" in told
    assert "0.5 cores cannot be pinned" in told
    with Bar() as bar:
        conclude.execute(prepared, tmp_path / "sizes", bar)
    found = tare.open(tmp_path / "sizes")
    assert set(found.trials()["status"]) == {"ok"}
    table = found.instances
    assert len(table) == 3 * len(stacks)
    assert table.groupby("platform")["cold"].sum().eq(1).all()
    assert table["stop_ns"].notna().all()
    for row in table.to_dict("records"):
        pinned, own = row["pinning"] == "pinned", row["platform"] == "vm"
        assert row["cpus_affinity"] == (1 if pinned or own else cpus), row
        assert (row["cpus"] is not None) == pinned
        assert row["size"] != "1c256m" or row["memory_bytes"] == 256 * MIB
        if own and row["size"] == "1c256m":
            assert 150 * MIB < row["memory_total_bytes"] < 256 * MIB
    assert found.clocks.groupby("instance").size().eq(2).all()
    same_kernel = set(table.loc[table["platform"] != "vm", "instance"])
    clocks = found.clocks[found.clocks["instance"].isin(same_kernel)]
    assert (clocks["monotonic_offset_ns"].abs() <= clocks["within_ns"]).all()
