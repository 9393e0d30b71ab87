"""What hardware says of itself, read from recorded machines."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import recorded

from tare.features.machine.fingerprint.microarchitectures import TABLE
from tare.host import hardware
from tare.host.hardware import names

HOME = Path("/srv/files")


def test_the_machine_of_sysmeasure(tmp_path):
    found = hardware.read(HOME, recorded.i7_3770k(tmp_path))
    assert (found.processor.vendor, found.processor.family, found.processor.model) == (
        "Intel", 6, 0x3A,
    )  # fmt: skip
    assert found.microarchitecture == "Ivy Bridge"
    assert found.clock == hardware.Clock(
        base_hz=3_500_000_000, maximum_hz=3_500_000_000, tsc_hz=3_498_000_000
    )
    assert [(c.level, c.size_bytes >> 10, c.ways) for c in found.caches] == [
        (1, 32, 8), (2, 256, 8), (3, 8192, 16),
    ]  # fmt: skip
    assert found.caches[2].cpus == tuple(range(8))
    assert (found.cpus, found.threads_per_core, found.nodes) == (8, 2, 1)
    assert found.hypervisor == "none"
    assert found.virtual is False
    assert found.disk == hardware.Disk(
        name="sda", kind="rotating", model="WDC WD10EZEX-08M", scheduler="cfq", file_system="ext4"
    )


def test_modules_by_smbios(tmp_path):
    modules = hardware.read(root=recorded.i7_3770k(tmp_path)).modules
    assert modules == hardware.Modules(
        count=4, kind="DDR3", transfers_hz=1_333_000_000, width_bits=64, channels=2,
        size_bytes=32 << 30,
    )  # fmt: skip
    # What SYSMEASURE computes for its modules: 21,328 MB/s.
    assert modules.bandwidth == 21_328e6


def test_channels_of_two_sockets_are_apart(tmp_path):
    found = hardware.read(HOME, recorded.xeon_server(tmp_path))
    assert found.modules.channels == 16
    assert found.modules.size_bytes == 16 * (32 << 30)
    assert found.modules.bandwidth == 16 * 4800e6 * 8
    assert found.clock.base_hz == 2_000_000_000


def test_the_disk_beneath_volumes_and_partitions(tmp_path):
    found = hardware.read(HOME, recorded.xeon_server(tmp_path)).disk
    assert (found.name, found.kind, found.model) == ("nvme0n1", "NVMe", "SAMSUNG MZQL2")


@pytest.mark.parametrize(
    ("places", "channels"),
    [
        ([("DIMM_A1", ""), ("DIMM_B1", "")], 2),
        ([("DIMM 0", "P0 CHANNEL A"), ("DIMM 0", "P0 CHANNEL B"), ("DIMM 1", "P0 CHANNEL B")], 2),
        ([("A1", ""), ("A2", ""), ("B1", "")], 2),
        ([("DIMM 0", ""), ("DIMM 1", "")], None),
        ([("DIMM_A1", ""), ("on board", "")], None),
    ],
)
def test_channels_by_the_names_of_places(tmp_path, places, channels):
    some = [recorded.module(*place, 4096, 0x1A, 3200, 2933) for place in places]
    root = recorded.put(tmp_path, {"sys/firmware/dmi/tables/DMI": recorded.table(*some)})
    found = hardware.read(root=root).modules
    assert found.channels == channels
    assert (found.bandwidth is None) == (channels is None)


def test_a_guest_says_little_and_nothing_is_made_up(tmp_path):
    found = hardware.read(HOME, recorded.epyc_guest(tmp_path))
    assert found.microarchitecture == "Zen 5"
    assert found.hypervisor == "KVM"
    assert found.clock == hardware.Clock(base_hz=None, maximum_hz=None, tsc_hz=2_596_100_000)
    assert found.modules is None
    # It claims to rotate.
    assert found.disk.kind == "virtual"
    told = hardware.facts(found)
    assert told["tsc_hz"] == 2_596_100_000
    assert told["l3_shared_by"] == 2
    assert "base_hz" not in told
    assert "memory_modules" not in told
    assert not any(name.startswith("mitigation_") for name in told)


def test_directories_without_a_disk(tmp_path):
    root = recorded.epyc_guest(tmp_path)
    # Not what this machine calls so: links of its own are resolved there.
    assert hardware.read(Path("/dev/shm/x"), root).disk.kind == "memory"
    far = hardware.read(Path("/mnt/far away/x"), root).disk
    assert (far.name, far.kind, far.file_system) == ("server:/files", "remote", "nfs4")


def test_arm_and_a_disk_of_a_cloud(tmp_path):
    found = hardware.read(HOME, recorded.graviton(tmp_path))
    assert found.processor.architecture == "aarch64"
    assert found.microarchitecture == "Neoverse V1"
    assert found.hypervisor == "Amazon EC2"
    assert found.clock.tsc_hz is None
    assert found.disk.kind == "virtual"


def test_network_controller_and_bus_as_sysmeasure_lists_them(tmp_path):
    found = hardware.read(root=recorded.i7_3770k(tmp_path))
    assert found.network == (
        hardware.NetworkController(
            interface="eth0", driver="r8169", bus="pci", pci_id="10ec:8168", pci_class="020000",
            model="Realtek Semiconductor Co., Ltd. RTL8111/8168/8411 PCI Express Gigabit Ethernet "
            "Controller", link_mbit_per_s=1000,
        ),
    )  # fmt: skip
    assert found.io_bus == hardware.IoBus(
        kind="PCI Express",
        host_bridge="8086:0150 Intel Corporation Xeon E3-1200 v2/3rd Gen Core processor DRAM "
        "Controller",
        link_transfers_hz=8_000_000_000,
        link_lanes=16,
    )
    told = hardware.facts(found)
    assert told["network_eth0_driver"] == "r8169"
    assert told["network_eth0_link_mbit_per_s"] == 1000
    assert told["io_bus"] == "PCI Express"


def guest_network(root):
    """A paravirtual controller below a PCI device without a link, whose speed is unknown."""
    pci = "sys/devices/pci0/0000:00:03.0"
    files = {
        f"{pci}/uevent": "DRIVER=virtio-pci\nPCI_CLASS=20000\nPCI_ID=1AF4:1041\n",
        f"{pci}/virtio2/uevent": "DRIVER=virtio_net\nMODALIAS=virtio:d00000001v00001AF4\n",
        "sys/class/net/eth0/speed": "-1\n",
        "sys/class/net/docker0/speed": "10000\n",
        "sys/bus/pci/devices/0000:00:03.0/class": "0x020000\n",
    }
    recorded.put(root, files)
    device = root / "sys/class/net/eth0/device"
    device.symlink_to("../../../devices/pci0/0000:00:03.0/virtio2")
    return root


def test_a_paravirtual_controller_is_named_by_the_device_beneath(tmp_path):
    found = hardware.read(root=guest_network(tmp_path))
    assert found.network == (
        hardware.NetworkController(
            interface="eth0", driver="virtio_net", bus="virtio on pci", pci_id="1af4:1041",
            pci_class="020000", model=None, link_mbit_per_s=None,
        ),
    )  # fmt: skip
    assert found.io_bus == hardware.IoBus(
        kind="PCI", host_bridge=None, link_transfers_hz=None, link_lanes=None
    )
    told = hardware.facts(found)
    assert told["network_eth0_bus"] == "virtio on pci"
    assert "network_eth0_model" not in told
    assert "io_bus_link_lanes" not in told


def test_a_machine_without_pci(tmp_path):
    root = recorded.put(tmp_path, {"sys/bus/virtio/devices/virtio0/uevent": "DRIVER=virtio_net\n"})
    found = hardware.read(root=root)
    assert found.network == ()
    assert found.io_bus.kind == "virtio-mmio"
    assert not any(name.startswith(("network_", "io_bus_")) for name in hardware.facts(found))


@pytest.mark.parametrize(
    "text", ["", "\0\xff", "=\n=", "PCI_ID=\nPCI_CLASS=", "PCI_ID=10EC", "0x0600", ". GT/s"]
)
def test_malformed_device_files_raise_nothing(tmp_path, text):
    names = ("sys/class/net/eth0/device/uevent", "sys/class/net/eth0/speed",
             "sys/bus/pci/devices/0/class", "sys/bus/pci/devices/0/vendor",
             "sys/bus/pci/devices/0/max_link_speed", "usr/share/misc/pci.ids")  # fmt: skip
    found = hardware.read(root=recorded.put(tmp_path, dict.fromkeys(names, text)))
    hardware.facts(found)


def test_without_proc_and_sys_everything_is_unknown(tmp_path):
    found = hardware.read(HOME, tmp_path)
    assert found.hypervisor is None
    assert found.virtual is None
    assert found.caches == ()
    assert hardware.facts(found) == {}


def test_damaged_tables_are_no_reason_to_fail(tmp_path):
    whole = recorded.table(
        recorded.module("DIMM_A1", "", 4096, 0x1A, 3200, 2933),
        recorded.module("DIMM_B1", "", 4096, 0x1A, 3200, 2933),
    )
    lots = random.Random(1)
    for _ in range(300):
        bad = bytearray(whole[: lots.randrange(len(whole))])
        for _ in range(lots.randrange(4)):
            if bad:
                bad[lots.randrange(len(bad))] = lots.randrange(256)
        root = recorded.put(tmp_path, {"sys/firmware/dmi/tables/DMI": bytes(bad)})
        found = hardware.read(root=root).modules
        assert found is None or found.count >= 1


@pytest.mark.parametrize(
    ("identity", "name"),
    [
        (("Intel", 6, 0x55), "Skylake-SP"),
        (("AMD", 0x17, 0x31), "Zen 2"),
        (("AMD", 0x19, 0x01), "Zen 3"),
        (("AMD", 0x19, 0x11), "Zen 4"),
        (("AMD", 0x19, 0x61), "Zen 4"),
        (("AMD", 0x1A, 0x44), "Zen 5"),
        (("Arm", None, 0xD4F), "Neoverse V2"),
        (("Apple", None, 0x22), None),
        (("Intel", 15, 4), None),
        ((None, None, None), None),
    ],
)
def test_names_of_microarchitectures(identity, name):
    assert names.microarchitecture(*identity) == name


def test_every_name_has_its_figures():
    known = {*names._INTEL, *names._AMD, *names._ARM.values()}
    assert known == TABLE.keys()


def test_this_machine_can_be_read():
    found = hardware.read(Path.cwd())
    told = hardware.facts(found)
    assert all(value is not None for value in told.values())
