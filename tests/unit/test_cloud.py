"""Region, zone and instance type: from the user, cloud-init's files, or firmware."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tare.experiment.fingerprints.network.difference import decisive
from tare.host import cloud
from tare.host.kernel_files import KernelFiles

EC2: dict[str, Any] = {
    "v1": {"cloud_name": "aws", "region": "us-east-1", "availability_zone": "us-east-1b"},
    "ds": {"meta_data": {"instance-type": "t2.micro"}},
}
AZURE = {
    "v1": {"cloud_name": "azure", "region": "westus2"},
    "ds": {"meta_data": {"imds": {"compute": {"vmSize": "Standard_D2s_v3", "zone": "1"}}}},
}
GCE = {"v1": {"cloud-name": "gce", "region": "us-east1", "availability-zone": "us-east1-b"}}


def machine(root: Path, data: Any = None, vendor: str = "", product: str = "") -> KernelFiles:
    """Make a machine of files; data that is bytes is what the file holds."""
    files = {"sys/class/dmi/id/sys_vendor": vendor, "sys/class/dmi/id/product_name": product}
    for name, text in files.items():
        if text:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(f"{text}\n")
    if data is not None:
        file = root / "run/cloud-init/instance-data.json"
        file.parent.mkdir(parents=True)
        file.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    return KernelFiles(root)


def values(files: KernelFiles, **environment: str) -> dict[str, str]:
    return {name: value for name, (value, _) in cloud.facts(files, environment).items()}


@pytest.mark.parametrize(
    ("data", "firmware", "expected"),
    [
        (EC2, ("Xen", "HVM domU"), ("t2.micro", "us-east-1", "us-east-1b")),
        (EC2, ("Amazon EC2", "c5.xlarge"), ("c5.xlarge (Amazon EC2)", "us-east-1", "us-east-1b")),
        (AZURE, ("Microsoft Corporation", "Virtual Machine"), ("Standard_D2s_v3", "westus2", "1")),
        (
            GCE, ("Google", "Google Compute Engine"),
            (None, "us-east1", "us-east1-b"),
        ),
        (None, ("Amazon EC2", "c5.large"), ("c5.large (Amazon EC2)", None, None)),
        (None, ("QEMU", "Standard PC (Q35 + ICH9, 2009)"), (None, None, None)),
        (None, ("", ""), (None, None, None)),
    ],
)  # fmt: skip
def test_files_of_clouds(
    tmp_path: Path, data: Any, firmware: tuple[str, str], expected: tuple[str | None, ...]
) -> None:
    found = values(machine(tmp_path, data, *firmware))
    assert tuple(found.get(name) for name in ("instance_type", "region", "zone")) == expected
    vendor, product = firmware
    assert found.get("machine_product") == (f"{product} ({vendor})" if product else None)


def test_what_the_user_says_wins_and_each_fact_names_its_source(tmp_path: Path) -> None:
    files = machine(tmp_path, EC2, "Amazon EC2", "c5.large")
    found = cloud.facts(files, {"TARE_CLOUD_REGION": " rack 7 ", "TARE_CLOUD_ZONE": ""})
    assert found == {
        "region": ("rack 7", "TARE_CLOUD_REGION"),
        "zone": ("us-east-1b", "cloud-init"),
        "instance_type": ("c5.large (Amazon EC2)", "DMI"),
        "machine_product": ("c5.large (Amazon EC2)", "DMI"),
    }


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{", b"[1]", b'"text"', b"[" * 100_000, b"\xff\xfe",
        {"v1": None}, {"v1": ["region"]}, {"v1": {"region": {"a": "b"}}}, {"v1": {"region": 7}},
        {"v1": {"region": "redacted for non-root user"}}, {"v1": {"region": "a" * 65}},
        {"v1": {"region": "us\x1b[31m"}}, {"v1": {"region": ""}},
        json.dumps({**EC2, "more": "x" * (1 << 20)}).encode(),
    ],
    ids=lambda data: repr(data)[:30],
)  # fmt: skip
def test_damaged_and_hostile_files_say_nothing(tmp_path: Path, data: Any) -> None:
    assert values(machine(tmp_path, data)) == {}


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "run/cloud-init/instance-data.json"
    file.parent.mkdir(parents=True)
    os.mkfifo(file)
    assert values(KernelFiles(tmp_path)) == {}


def test_another_region_is_another_network() -> None:
    assert decisive({"here region": ("us-east-1", "eu-west-1"), "here kernel": ("6.1", "6.2")}) == (
        "here region",
    )
