"""Recorded machines: what the files of /proc and /sys said there, to be read below a root."""

from __future__ import annotations

import struct
from pathlib import Path

CPU0 = "sys/devices/system/cpu/cpu0"


def put(root: Path, files: dict[str, str | bytes]) -> Path:
    """Write files below a root."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def caches(*of: tuple[int, str, str, int, str]) -> dict[str, str | bytes]:
    """Files of caches: level, type, size, ways, CPUs."""
    return {
        f"{CPU0}/cache/index{i}/{name}": f"{value}\n"
        for i, (level, kind, size, ways, cpus) in enumerate(of)
        for name, value in {
            "level": level, "type": kind, "size": size, "ways_of_associativity": ways,
            "shared_cpu_list": cpus, "coherency_line_size": 64,
        }.items()
    }  # fmt: skip


def pci(
    slot: str, kind: str, vendor: str, device: str, speed: str = "Unknown", lanes: str = "255"
) -> dict[str, str | bytes]:
    """Files of a PCI device."""
    values = {"class": kind, "vendor": vendor, "device": device,
              "max_link_speed": speed, "max_link_width": lanes}  # fmt: skip
    return {f"sys/bus/pci/devices/{slot}/{name}": f"{value}\n" for name, value in values.items()}


def module(
    place: str, bank: str, megabytes: int, kind: int, speed: int, configured: int, width: int = 64
) -> bytes:
    """One memory device of SMBIOS; no megabytes: the place is empty."""
    entry = bytearray(0x5C)
    entry[0:4] = bytes([17, len(entry), 0, 0])
    struct.pack_into("<HHH", entry, 0x08, width, width, min(megabytes, 0x7FFF))
    entry[0x10:0x13] = bytes([1, 2 if bank else 0, kind])
    struct.pack_into("<H", entry, 0x15, speed)
    struct.pack_into("<I", entry, 0x1C, megabytes)
    struct.pack_into("<H", entry, 0x20, configured)
    # A text that is empty has no number and no place.
    texts = b"".join(text.encode() + b"\0" for text in (place, bank) if text)
    return bytes(entry) + texts + b"\0"


def table(*modules: bytes) -> bytes:
    """A table of SMBIOS: another structure before, the end behind."""
    return bytes([0, 4, 0, 0]) + b"BIOS\0\0" + b"".join(modules) + bytes([127, 4, 0, 0, 0, 0])


def i7_3770k(root: Path, modules: bool = True) -> Path:
    """SYSMEASURE's machine: Ivy Bridge, 4 × 8 GB of DDR3-1333 on two channels, a disk."""
    places = [("ChannelA-DIMM0", "BANK 0"), ("ChannelA-DIMM1", "BANK 1"),
              ("ChannelB-DIMM0", "BANK 2"), ("ChannelB-DIMM1", "BANK 3")]  # fmt: skip
    files: dict[str, str | bytes] = {
        "proc/cpuinfo": (
            "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 58\n"
            "model name\t: Intel(R) Core(TM) i7-3770K CPU @ 3.50GHz\nstepping\t: 9\n"
            "flags\t\t: fpu tsc constant_tsc nonstop_tsc ht\nbogomips\t: 6996.00\n"
        ),
        "proc/meminfo": "MemTotal:       32871424 kB\n",
        "proc/self/mountinfo": "25 0 8:1 / / rw - ext4 /dev/sda1 rw\n",
        f"{CPU0}/cpufreq/cpuinfo_max_freq": "3500000\n",
        f"{CPU0}/topology/thread_siblings_list": "0,4\n",
        f"{CPU0}/topology/physical_package_id": "0\n",
        "sys/devices/system/cpu/online": "0-7\n",
        "sys/devices/system/node/online": "0\n",
        "sys/devices/system/cpu/vulnerabilities/meltdown": "Mitigation: PTI\n",
        "sys/devices/system/cpu/vulnerabilities/mds": (
            "Mitigation: Clear CPU buffers; SMT vulnerable\n"
        ),
        "sys/devices/system/cpu/vulnerabilities/retbleed": "Not affected\n",
        "sys/block/sda/dev": "8:0\n",
        "sys/block/sda/sda1/dev": "8:1\n",
        "sys/block/sda/device/model": "WDC WD10EZEX-08M\n",
        "sys/block/sda/queue/rotational": "1\n",
        "sys/block/sda/queue/scheduler": "noop deadline [cfq]\n",
        "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
        "sys/kernel/mm/transparent_hugepage/hpage_pmd_size": "2097152\n",
        "sys/class/net/lo/mtu": "16436\n",
        "sys/class/net/eth0/speed": "1000\n",
        "sys/class/net/eth0/device/uevent": (
            "DRIVER=r8169\nPCI_CLASS=20000\nPCI_ID=10EC:8168\nPCI_SUBSYS_ID=1043:8505\n"
            "PCI_SLOT_NAME=0000:03:00.0\n"
            "MODALIAS=pci:v000010ECd00008168sv00001043sd00008505bc02sc00i00\n"
        ),
        **pci("0000:00:00.0", "0x060000", "0x8086", "0x0150"),
        **pci("0000:00:01.0", "0x060400", "0x8086", "0x0151", "8.0 GT/s", "16"),
        **pci("0000:03:00.0", "0x020000", "0x10ec", "0x8168", "2.5 GT/s", "1"),
        "usr/share/misc/pci.ids": (
            "# Names\n10ec  Realtek Semiconductor Co., Ltd.\n\t8139  RTL-8139\n"
            "\t8168  RTL8111/8168/8411 PCI Express Gigabit Ethernet Controller\n"
            "\t\t1043 8505  P8 series motherboard\n8086  Intel Corporation\n"
            "\t0150  Xeon E3-1200 v2/3rd Gen Core processor DRAM Controller\n"
            "C 02  Network controller\n\t00  Ethernet controller\n"
        ),
        **caches(
            (1, "Data", "32K", 8, "0,4"), (1, "Instruction", "32K", 8, "0,4"),
            (2, "Unified", "256K", 8, "0,4"), (3, "Unified", "8192K", 16, "0-7"),
        ),
    }  # fmt: skip
    if modules:
        some = [module(place, bank, 8192, 0x18, 1600, 1333) for place, bank in places]
        files["sys/firmware/dmi/tables/DMI"] = table(*some, module("x", "", 0, 0, 0, 0))
    return put(root, files)


def epyc_guest(root: Path) -> Path:
    """A guest of KVM on Zen 5: two CPUs, no cpufreq, no firmware, a virtual disk."""
    return put(
        root,
        {
            "proc/cpuinfo": (
                "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\n"
                "model name\t: AMD EPYC\nstepping\t: 1\nmicrocode\t: 0x1000065\n"
                "flags\t\t: fpu tsc constant_tsc hypervisor\nbogomips\t: 5192.20\n"
            ),
            "proc/meminfo": "MemTotal:       24684092 kB\n",
            "proc/self/mountinfo": (
                "27 1 254:0 / / rw - ext4 /dev/vda rw\n25 27 0:23 / /dev/shm rw - tmpfs tmpfs rw\n"
                "30 27 0:50 / /mnt/far\\040away rw - nfs4 server:/files rw\n"
            ),
            "sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc kvm-clock\n",
            "sys/devices/system/cpu/online": "0-1\n",
            "sys/devices/system/cpu/vulnerabilities/meltdown": "Not affected\n",
            "sys/block/vda/dev": "254:0\n",
            "sys/block/vda/queue/rotational": "1\n",
            "sys/block/vda/queue/scheduler": "none [mq-deadline]\n",
            "sys/class/net/lo/mtu": "65536\n",
            **caches(
                (1, "Data", "48K", 12, "0"), (2, "Unified", "1024K", 16, "0"),
                (3, "Unified", "32768K", 16, "0-1"),
            ),
        },
    )  # fmt: skip


def xeon_server(root: Path) -> Path:
    """Two sockets of Sapphire Rapids on bare metal, 16 modules of DDR5-4800, NVMe beneath LVM."""
    modules = [
        module(f"CPU{cpu}_DIMM_{letter}1", f"NODE {cpu}", 0x8000, 0x22, 4800, 4800)
        for cpu in (1, 2)
        for letter in "ABCDEFGH"
    ]
    return put(
        root,
        {
            "proc/cpuinfo": (
                "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
                "model name\t: Intel(R) Xeon(R) Platinum 8480+\nstepping\t: 8\n"
                "flags\t\t: fpu tsc constant_tsc\nbogomips\t: 4000.00\n"
            ),
            "proc/self/mountinfo": "31 1 253:0 / / rw - xfs /dev/mapper/root rw\n",
            f"{CPU0}/cpufreq/base_frequency": "2000000\n",
            f"{CPU0}/cpufreq/cpuinfo_max_freq": "3800000\n",
            "sys/devices/system/cpu/online": "0-223\n",
            "sys/devices/system/node/online": "0-1\n",
            "sys/firmware/dmi/tables/DMI": table(*modules),
            "sys/block/dm-0/dev": "253:0\n",
            "sys/block/dm-0/slaves/nvme0n1p3/dev": "259:3\n",
            "sys/block/nvme0n1/dev": "259:0\n",
            "sys/block/nvme0n1/nvme0n1p3/dev": "259:3\n",
            "sys/block/nvme0n1/device/model": "SAMSUNG MZQL2\n",
            "sys/block/nvme0n1/queue/rotational": "0\n",
            **caches((1, "Data", "48K", 12, "0,112"), (3, "Unified", "107520K", 15, "0-55")),
        },
    )


def graviton(root: Path) -> Path:
    """A guest on Neoverse V1: nothing of the clock, nothing of the caches."""
    return put(
        root,
        {
            "proc/cpuinfo": (
                "processor\t: 0\nBogoMIPS\t: 2100.00\nFeatures\t: fp asimd sve\n"
                "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x1\n"
                "CPU part\t: 0xd40\nCPU revision\t: 1\n"
            ),
            "sys/class/dmi/id/sys_vendor": "Amazon EC2\n",
            "proc/self/mountinfo": "31 1 259:0 / / rw - xfs /dev/nvme0n1p1 rw\n",
            "sys/block/nvme0n1/dev": "259:9\n",
            "sys/block/nvme0n1/nvme0n1p1/dev": "259:0\n",
            "sys/block/nvme0n1/device/model": "Amazon Elastic Block Store              \n",
        },
    )
