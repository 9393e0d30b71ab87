"""Frequencies that only last while the processor is cool and few cores are busy."""

from __future__ import annotations

from tare.features.machine.doctor.check import Check
from tare.features.machine.doctor.diagnosis import Diagnosis, fail, ok, unknown
from tare.features.machine.doctor.view import View
from tare.host.settings import units
from tare.host.settings.frequency import FOLDER, absence
from tare.host.settings.turbo import INTEL
from tare.registry import Description
from tare.results.message import Amount, Message, message


def examine(view: View) -> Diagnosis:
    """Read the switch; say by how much the highest frequency is above the base."""
    kernel = view.kernel
    now = units()["turbo"].read(kernel)
    if now is None:
        return unknown(message(f"doctor.no_frequency.{absence(kernel)}"))
    if now == "off":
        return ok(message("doctor.turbo.value", state=now))
    folder = FOLDER.replace("*", "0")
    base, most = (
        kernel.number(f"{folder}/base_frequency"),
        kernel.number(f"{folder}/cpuinfo_max_freq"),
    )
    intel = kernel.exists(INTEL)
    higher = _range(base, most) if base and most and most > base else None
    return fail(
        message("doctor.turbo.value", state=now),
        "speed",
        "parallel",
        why=message("doctor.turbo.depends"),
        change=message(f"doctor.turbo.{'intel' if intel else 'boost'}", file=INTEL),
        fix={"turbo": "off"},
        effect=higher,
        source="cpuinfo_max_freq and base_frequency of this machine" if higher else None,
        base_khz=base,
        highest_khz=most,
    )  # fmt: skip


def _range(base_khz: float, most_khz: float) -> Message:
    return message(
        "doctor.turbo.range",
        share=Amount(most_khz / base_khz - 1, "share"),
        highest=Amount(1e3 * most_khz, "Hz"),
        base=Amount(1e3 * base_khz, "Hz"),
    )


UNIT = Check(
    description=Description(
        name="turbo",
        title="turbo",
        question="Does the speed depend on what the other cores do?",
        source="Documentation/admin-guide/pm/intel_pstate.rst, cpufreq.rst",
    ),
    order=22,
    examine=examine,
)
