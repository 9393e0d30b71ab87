"""The matrix of settings on machines that were written down, its sweeps made up."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from swept import calibration
from trees import grow

from tare.cli import delivery
from tare.errors import InterruptError, PlatformError, StoreError, TrialError
from tare.experiment.specification import Experiment
from tare.features.calibration import fairness, file, matrix, matrix_command, sweep
from tare.host import lease
from tare.host.kernel_files import KernelFiles
from tare.render.words import sentence
from tare.wiring import SUPPLIES
from tare.workloads.specification import WorkloadSpec

GOVERNOR = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
TURBO = "/sys/devices/system/cpu/intel_pstate/no_turbo"
STATUS = "/sys/devices/system/cpu/intel_pstate/status"

#: What the kernel held during each sweep, by its folder.
Held = dict[str, tuple[str | None, str | None]]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KernelFiles:
    (tmp_path / "leases").mkdir()
    monkeypatch.setattr(lease, "_folders", lambda: [tmp_path / "leases"])
    return grow("intel_server", tmp_path)


@pytest.fixture
def held(server: KernelFiles, monkeypatch: pytest.MonkeyPatch) -> Held:
    found: Held = {}

    def measure(experiment: Experiment, folder: Path, each_s: float, *_: Any, **other: Any) -> None:
        found[folder.name] = (server.read(GOVERNOR), server.read(TURBO))
        folder.mkdir(exist_ok=True)
        slow = 1.0 if "powersave" in folder.name else 0.0
        made = calibration(slow_until=slow, seed=len(found))
        file.write((made,), folder / "calibration.json")

    monkeypatch.setattr(matrix_command, "measure", measure)
    return found


def asked() -> Experiment:
    workload = WorkloadSpec(name="linpack", kernel="linpack")
    return sweep.experiment(by="quota", workloads=(workload,), cpus=(0.5, 1, 1.5, 2), threads=2)


def begin(words: str, folder: Path, kernel: KernelFiles) -> matrix.Matrix:
    values = matrix_command.asked([words])
    report = matrix_command.begin(
        asked(), values, folder, 8.0, SUPPLIES, as_root=False, kernel=kernel
    )
    delivery.deliver(report, {"out": folder})
    return matrix.read(folder, matrix_command.known())


def resumed(folder: Path, kernel: KernelFiles) -> matrix.Matrix:
    report = matrix_command.resume(folder, SUPPLIES, as_root=False, kernel=kernel)
    delivery.deliver(report, {"out": folder})
    return matrix.read(folder, matrix_command.known())


def states(made: matrix.Matrix) -> dict[str, str]:
    return {one.label: one.state for one in made.combinations}


def test_each_combination_is_held_while_it_is_measured(
    server: KernelFiles, held: Held, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = begin("governor=powersave,performance turbo=on,off", tmp_path / "out", server)
    assert held == {
        "governor=powersave,turbo=on": ("powersave", "0"),
        "governor=powersave,turbo=off": ("powersave", "1"),
        "governor=performance,turbo=on": ("performance", "0"),
        "governor=performance,turbo=off": ("performance", "1"),
    }
    assert (server.read(GOVERNOR), server.read(TURBO)) == ("powersave", "0")
    assert set(states(made).values()) == {"measured"}
    assert {row.label for row in made.standings if row.fairest} == {
        "governor=performance,turbo=on",
        "governor=performance,turbo=off",
    }
    said = capsys.readouterr().out
    assert "a tie" in said
    assert "GFLOPS" in said
    assert "tare doctor --fix governor=performance" in said


def test_what_cannot_be_had_is_left_out_and_told(
    server: KernelFiles, held: Held, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = begin("governor=ondemand,performance", tmp_path / "out", server)
    assert states(made) == {"governor=ondemand": "left out", "governor=performance": "measured"}
    assert {"performance", "powersave"} < {*re.findall(r"\w+", capsys.readouterr().err)}


def test_where_nothing_can_be_had_nothing_is_begun(server: KernelFiles, tmp_path: Path) -> None:
    values = matrix_command.asked(["governor=ondemand,userspace"])
    with pytest.raises(PlatformError, match="none of the 2 combinations") as told:
        matrix_command.check(values, server)
    assert told.value.hint
    values = matrix_command.asked(["driver=passive"])
    with pytest.raises(PlatformError, match="no combination can be had here; driver=passive"):
        matrix_command.check(values, grow("cloud_vm", tmp_path / "vm"))


def test_what_needs_a_start_waits_for_it(
    server: KernelFiles, held: Held, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = "driver=active,passive,disabled governor=performance"
    made = begin(words, out, server)
    assert list(states(made).values()) == ["measured", "waiting", "waiting"]
    said = capsys.readouterr().out
    assert 'GRUB_CMDLINE_LINUX_DEFAULT="intel_pstate=passive"' in said
    assert "sudo update-grub" in said
    (following,) = re.findall(r"^Next +(.*)$", said, re.MULTILINE)
    assert following.startswith(f"tare calibrate --resume --out {out}   (after a reboot with ")
    # Nothing has changed yet.
    assert list(states(resumed(out, server)).values()) == ["measured", "waiting", "waiting"]
    assert len(held) == 1
    server.write(STATUS, "passive")
    made = resumed(out, server)
    assert list(states(made).values()) == ["measured", "measured", "waiting"]
    assert made.combinations[2].boot == ("intel_pstate=disable",)
    server.path(STATUS).unlink()
    for cpu in range(4):
        server.write(f"/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_driver", "acpi-cpufreq")
    capsys.readouterr()
    made = resumed(out, server)
    assert set(states(made).values()) == {"measured"}
    assert len(made.standings) == 3
    assert "GRUB" not in capsys.readouterr().out


@pytest.fixture
def failing(server: KernelFiles, monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], None]:
    def fail(error: Exception) -> None:
        def measure(
            experiment: Experiment, folder: Path, each_s: float, *_: Any, **other: Any
        ) -> None:
            raise error

        monkeypatch.setattr(matrix_command, "measure", measure)

    return fail


def test_a_failed_sweep_is_told_and_the_rest_goes_on(
    server: KernelFiles, failing: Callable[[Exception], None], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    failing(TrialError("trial 3 went wrong", "look"))
    with pytest.raises(TrialError, match="trial 3 went wrong"):
        begin("turbo=on,off", tmp_path / "out", server)
    assert set(states(matrix.read(tmp_path / "out", matrix_command.known())).values()) == {"failed"}
    assert server.read(TURBO) == "0"
    assert "trial 3 went wrong" in capsys.readouterr().err


def test_an_interruption_keeps_what_is_to_do(
    server: KernelFiles, failing: Callable[[Exception], None], held: Held, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    whole = matrix_command.measure
    failing(InterruptError("interrupted", "tare calibrate --resume --out x"))
    with pytest.raises(InterruptError):
        begin("turbo=on,off", tmp_path / "out", server)
    assert set(states(matrix.read(tmp_path / "out", matrix_command.known())).values()) == {"to do"}
    assert server.read(TURBO) == "0"
    monkeypatch.setattr(matrix_command, "measure", whole)
    assert set(states(resumed(tmp_path / "out", server)).values()) == {"measured"}
    assert set(held) == {"turbo=on", "turbo=off"}


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        ({"version": 9}, "written by another tare"),
        ({"asked": {}}, "its combinations are not those"),
        ({"asked": {"coffee": ["on"]}}, "settings that there are not"),
        ({"asked": {"turbo": []}}, "settings that there are not"),
        ({"asked": {"turbo": [str(i) for i in range(65)]}}, "more than 64 sweeps"),
        ({"asked": {"turbo": ["on", "on"]}, "twice": True}, "are the same"),
        ({"folder": "../../elsewhere"}, "its combinations are not those"),
        ({"settings": {"swappiness": "10"}}, "its combinations are not those"),
        ({"each_s": 1e300}, "not possible"),
        ({"each_s": -1}, "not possible"),
    ],
)
def test_a_matrix_from_elsewhere_is_read_with_suspicion(
    server: KernelFiles, held: Held, tmp_path: Path, damage: dict[str, Any], complaint: str
) -> None:
    out = tmp_path / "out"
    begin("turbo=on,off", out, server)
    found = msgspec.json.decode((out / matrix.FILE).read_bytes())
    first = found["combinations"][0]
    first |= {name: value for name, value in damage.items() if name in ("folder", "settings")}
    if damage.get("twice"):
        found["combinations"][1] = first
    found |= {name: value for name, value in damage.items() if name in found}
    (out / matrix.FILE).write_bytes(msgspec.json.encode(found))
    with pytest.raises(StoreError, match=complaint) as told:
        resumed(out, server)
    assert told.value.hint
    assert len(held) == 2


@pytest.mark.parametrize(
    "text", [b"", b"[", b"[]", b"{}", b"\xff", b"[" * 100_000, b" " * (5 << 20)]
)
def test_what_is_no_matrix_is_told(server: KernelFiles, tmp_path: Path, text: bytes) -> None:
    (tmp_path / matrix.FILE).write_bytes(text)
    with pytest.raises(StoreError, match="is damaged"):
        resumed(tmp_path, server)


def test_a_sweep_that_is_gone_is_measured_again_and_a_damaged_one_told(
    server: KernelFiles, held: Held, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    begin("turbo=on,off", out, server)
    kept = out / "turbo=on" / "calibration.json"
    kept.unlink()
    held.clear()
    assert set(states(resumed(out, server)).values()) == {"measured"}
    assert set(held) == {"turbo=on"}
    kept.write_text("{}")
    with pytest.raises(StoreError, match="is no calibration"):
        resumed(out, server)


def test_it_is_told_that_combinations_do_not_take_turns(
    server: KernelFiles, held: Held, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    begin("turbo=on,off", out, server)
    note = sentence(fairness.IN_ORDER)
    assert f"Note    {note}" in capsys.readouterr().out
    assert note in " ".join((out / "report.html").read_text().split())
