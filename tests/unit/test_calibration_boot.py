"""Settings of the kernel's start, on machines that were written down."""

from __future__ import annotations

from pathlib import Path

import pytest
from trees import grow

from tare.errors import ExperimentError
from tare.features.calibration import boot
from tare.host.kernel_files import KernelFiles

STATUS = "/sys/devices/system/cpu/intel_pstate/status"
DRIVER = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver"


@pytest.fixture
def server(tmp_path: Path) -> KernelFiles:
    return grow("intel_server", tmp_path)


def started(kernel: KernelFiles, *words: str) -> None:
    """Let the kernel have been told something at its start."""
    path = kernel.path("/proc/cmdline")
    path.write_text(f"{path.read_text().strip()} {' '.join(words)}\n")


def test_as_it_is_shipped_the_driver_is_active_with_hwp(server: KernelFiles) -> None:
    assert boot.fits({"driver": "active", "hwp": "on"}, server)
    assert not boot.fits({"hwp": "off"}, server)
    assert not boot.fits({"driver": "passive"}, server)
    assert boot.fits({}, server)


def test_each_mode_has_its_parameter_and_is_known_again(server: KernelFiles) -> None:
    assert boot.parameters({"driver": "passive"}, server) == ("intel_pstate=passive",)
    assert boot.parameters({"driver": "disabled"}, server) == ("intel_pstate=disable",)
    assert boot.parameters({"hwp": "off"}, server) == ("intel_pstate=no_hwp",)
    assert boot.parameters({"driver": "active", "hwp": "off"}, server) == (
        "intel_pstate=active",
        "intel_pstate=no_hwp",
    )
    assert boot.parameters({"hwp": "on"}, server) == ()
    server.write(STATUS, "passive")
    assert boot.fits({"driver": "passive"}, server)
    started(server, "intel_pstate=no_hwp")
    assert boot.fits({"driver": "passive", "hwp": "off"}, server)
    server.path(STATUS).unlink()
    server.write(DRIVER, "acpi-cpufreq")
    assert boot.fits({"driver": "disabled", "hwp": "off"}, server)
    assert boot.mode(server) == "disabled"


def test_the_line_of_grub_keeps_what_is_in_it(server: KernelFiles) -> None:
    grub = server.path(boot.GRUB)
    grub.parent.mkdir(parents=True, exist_ok=True)
    grub.write_text(
        'GRUB_TIMEOUT=0\nGRUB_CMDLINE_LINUX_DEFAULT="quiet intel_pstate=passive splash"\n'
    )
    lines = boot.instructions(("intel_pstate=no_hwp",), server)
    assert 'GRUB_CMDLINE_LINUX_DEFAULT="quiet splash intel_pstate=no_hwp"' in lines[0]
    assert "update-grub" in lines[1]
    assert lines[-1] == "sudo reboot"
    # Without what was there, where nothing is to be told.
    assert 'DEFAULT="quiet splash"' in boot.instructions((), server)[0]


def test_without_grubs_file_the_parameter_is_told(server: KernelFiles) -> None:
    assert (
        'DEFAULT="intel_pstate=disable"' in boot.instructions(("intel_pstate=disable",), server)[0]
    )


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ({"driver": "guided"}, "amd_pstate"),
        ({"driver": "disabled", "hwp": "on"}, "needs intel_pstate"),
        ({"driver": "off"}, "cannot be 'off'"),
        ({"hwp": "yes"}, "cannot be 'yes'"),
    ],
)
def test_what_no_start_gives_is_told(server: KernelFiles, wanted: dict[str, str], why: str) -> None:
    error = boot.obstacle(wanted, server)
    assert error is not None
    assert why in error.message
    assert isinstance(error, ExperimentError) == why.startswith("cannot be")


def test_amds_driver_has_other_words(tmp_path: Path) -> None:
    laptop = grow("amd_laptop", tmp_path)
    assert boot.obstacle({"driver": "guided"}, laptop) is None
    assert boot.parameters({"driver": "guided"}, laptop) == ("amd_pstate=guided",)
    assert boot.fits({"driver": "active"}, laptop)
    error = boot.obstacle({"hwp": "off"}, laptop)
    assert error is not None
    assert "Intel" in error.message


@pytest.mark.parametrize("machine", ["cloud_vm", "arm_board"])
def test_where_there_is_no_such_driver_nothing_waits(machine: str, tmp_path: Path) -> None:
    error = boot.obstacle({"driver": "passive"}, grow(machine, tmp_path))
    assert error is not None
    assert error.exit_code >= 10
