"""Names of microarchitectures by family and model.

Sources: Linux, ``arch/x86/include/asm/intel-family.h`` and ``arch/x86/kernel/cpu/amd.c``;
Arm, MIDR_EL1 part numbers (``arch/arm64/include/asm/cputype.h``).
"""

from __future__ import annotations

_INTEL = {
    "Nehalem": (0x1A, 0x1E, 0x1F, 0x2E),
    "Westmere": (0x25, 0x2C, 0x2F),
    "Sandy Bridge": (0x2A, 0x2D),
    "Ivy Bridge": (0x3A, 0x3E),
    "Haswell": (0x3C, 0x3F, 0x45, 0x46),
    "Broadwell": (0x3D, 0x47, 0x4F, 0x56),
    "Skylake": (0x4E, 0x5E, 0x8E, 0x9E, 0xA5, 0xA6),
    # Cascade Lake and Cooper Lake have its model; their cores are the same.
    "Skylake-SP": (0x55,),
    "Ice Lake": (0x7D, 0x7E),
    "Ice Lake-SP": (0x6A, 0x6C),
    "Tiger Lake": (0x8C, 0x8D, 0xA7),
    "Alder Lake": (0x97, 0x9A, 0xBE),
    "Raptor Lake": (0xB7, 0xBA, 0xBF),
    "Sapphire Rapids": (0x8F,),
    "Emerald Rapids": (0xCF,),
    "Granite Rapids": (0xAD, 0xAE),
}
#: Family, first and last model.
_AMD = {
    "Zen": ((0x17, 0x00, 0x07), (0x17, 0x10, 0x1F), (0x17, 0x20, 0x2F)),
    "Zen+": ((0x17, 0x08, 0x0F),),
    "Zen 2": ((0x17, 0x30, 0xAF),),
    "Zen 3": ((0x19, 0x00, 0x0F), (0x19, 0x20, 0x5F)),
    "Zen 4": ((0x19, 0x10, 0x1F), (0x19, 0x60, 0xAF)),
    "Zen 5": ((0x1A, 0x00, 0x2F), (0x1A, 0x40, 0x4F), (0x1A, 0x60, 0x7F)),
}
_ARM = {
    0xD0C: "Neoverse N1",
    0xD40: "Neoverse V1",
    0xD49: "Neoverse N2",
    0xD4F: "Neoverse V2",
}


def microarchitecture(vendor: str | None, family: int | None, model: int | None) -> str | None:
    """Name the microarchitecture of a processor; None where it is not in the table."""
    if model is None:
        return None
    if vendor == "Intel" and family == 6:
        return next((name for name, models in _INTEL.items() if model in models), None)
    if vendor == "AMD":
        return next(
            (
                name
                for name, ranges in _AMD.items()
                if any(family == f and first <= model <= last for f, first, last in ranges)
            ),
            None,
        )
    return _ARM.get(model) if vendor == "Arm" else None
