"""Region, zone and instance type of a cloud's machine: from the user, cloud-init, or firmware.

No metadata server is asked. cloud-init writes what it was told at boot (instance-data: cloud-init's
documentation, "Instance metadata"). Firmware (SMBIOS) names the instance type on EC2
alone; elsewhere its product is one name for all types, such as "Google Compute Engine".
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tare.decoding import DecodeError, builtins
from tare.errors import TareError
from tare.files import read_input
from tare.host.kernel_files import KernelFiles

#: Facts, with the variables by which a user gives them: these win.
VARIABLES = {
    "region": "TARE_CLOUD_REGION",
    "zone": "TARE_CLOUD_ZONE",
    "instance_type": "TARE_CLOUD_INSTANCE_TYPE",
}
_INSTANCE_DATA = "/run/cloud-init/instance-data.json"
_DMI = "/sys/class/dmi/id"
#: Vendor in the firmware of the cloud whose product is the instance type.
_EC2 = "Amazon EC2"
#: Largest instance data that is read; that of EC2 is some 10 kB.
_MOST_BYTES = 1 << 20
#: A value of a fact, which also excludes cloud-init's "redacted for non-root user".
_VALUE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,63}")
#: Where instance data holds a fact, best first: the keys that all clouds share, then those of EC2
#: and of Azure.
_PATHS: dict[str, tuple[Sequence[str], ...]] = {
    "region": (
        ("v1", "region"),
        ("ds", "dynamic", "instance-identity", "document", "region"),
        ("ds", "meta_data", "imds", "compute", "location"),
    ),
    "zone": (
        ("v1", "availability_zone"),
        ("v1", "availability-zone"),
        ("ds", "dynamic", "instance-identity", "document", "availabilityZone"),
        ("ds", "meta_data", "imds", "compute", "zone"),
    ),
    "instance_type": (
        ("ds", "meta_data", "instance-type"),
        ("ds", "meta_data", "instance_type"),
        ("ds", "dynamic", "instance-identity", "document", "instanceType"),
        ("ds", "meta_data", "imds", "compute", "vmSize"),
    ),
}


def facts(
    files: KernelFiles, environment: Mapping[str, str] = os.environ
) -> dict[str, tuple[str, str]]:
    """Return what is known of the place and type of this machine, and its firmware's product.

    Parameters
    ----------
    files : KernelFiles
    environment : mapping, optional
        Holds :data:`VARIABLES`.

    Returns
    -------
    dict
        Value and source by name of the fact; a fact that nothing reports is left out.
    """
    found: dict[str, tuple[str, str]] = {}
    data = _instance_data(files)
    if product := _product(files):
        found["machine_product"] = (product, "DMI")
    for name, variable in VARIABLES.items():
        if given := environment.get(variable, "").strip():
            found[name] = (given[:100], variable)
        elif name == "instance_type" and product and product.endswith(f" ({_EC2})"):
            found[name] = (product, "DMI")
        elif value := _first(data, _PATHS[name]):
            found[name] = (value, "cloud-init")
    return found


def _instance_data(files: KernelFiles) -> Any:
    """Return cloud-init's instance data; None where there is none that can be read."""
    try:
        return builtins(read_input(files.path(_INSTANCE_DATA), _MOST_BYTES, ""))
    except (TareError, DecodeError, OSError):
        return None


def _first(data: Any, paths: Sequence[Sequence[str]]) -> str | None:
    """Return the first plain text at one of some paths."""
    for path in paths:
        value = data
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, str) and _VALUE.fullmatch(value):
            return value
    return None


def _product(files: KernelFiles) -> str | None:
    """Return product and vendor as the firmware has them."""
    product = files.read(f"{_DMI}/product_name")
    vendor = files.read(f"{_DMI}/sys_vendor") if product else None
    return f"{product} ({vendor})"[:100] if vendor else None
