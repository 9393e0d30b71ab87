"""The steps of a sweep: quotas from one to another, whole CPUs, memory sizes with their CPU time.

Fractions, so that the third step of 0.1 is 0.3 and not a rounding error beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from tare.errors import ExperimentError, Typed
from tare.experiment.specification import LEAST_PERIOD_S, LEAST_QUOTA_S, MOST_PERIOD_S

#: Between quotas, by default.
STEP = Fraction(1, 10)
#: A sweep with more steps than this is a slip of the finger.
MOST = 1000
#: AWS Lambda: so many MB come with one vCPU; sizes are counted in MiB, whatever they are called.
LAMBDA_MB = 1769
#: Sizes that people choose on AWS Lambda, and whole vCPUs.
LAMBDA_SIZES = (128, 256, 512, 1024, 1769, 2048, 3008, 3538, 5307, 7076, 8845, 10240)
MIB = 1 << 20


def quotas(cpus: int, step: Fraction = STEP) -> tuple[float, ...]:
    """Return quotas of CPU time from one step to all CPUs.

    Parameters
    ----------
    cpus : int
        Of the machine.
    step : Fraction

    Raises
    ------
    ExperimentError
        If it is above the machine, or there are too many steps.
    """
    _check_within(step, cpus, "--step")
    count = math.floor(cpus / step)
    if count > MOST:
        raise ExperimentError(
            f"--step {_text(step)} makes {count} quotas, more than {MOST}",
            Typed(f"--step {_text(Fraction(cpus, 20))}"),
        )
    return tuple(float(number * step) for number in range(1, count + 1))


def listed(found: Sequence[Fraction], cpus: int) -> tuple[float, ...]:
    """Return quotas in order of size.

    Raises
    ------
    ExperimentError
        If one is above the machine, or named twice.
    """
    for quota in found:
        _check_within(quota, cpus, "--quotas")
    twice = next((quota for quota in found if found.count(quota) > 1), None)
    if twice is not None:
        raise ExperimentError(f"--quotas names {_text(twice)} twice", "leave one of them out")
    return tuple(float(quota) for quota in sorted(found))


def whole_cpus(cpus: int) -> tuple[int, ...]:
    """Return 1, 2, … all CPUs.

    Raises
    ------
    ExperimentError
        If there is only one, and nothing to be seen.
    """
    if cpus < 2:
        raise ExperimentError(
            "this machine has one CPU, so that whole CPUs are no steps", Typed("--by quota")
        )
    return tuple(range(1, cpus + 1))


def memory_sizes(cpus: int, memory_bytes: int) -> tuple[int, ...]:
    """Return the sizes of AWS Lambda that a machine has the CPUs and the memory for, in MiB."""
    most = min(memory_bytes // MIB, cpus * LAMBDA_MB)
    return tuple(size for size in LAMBDA_SIZES if size <= most)


def check_period(cpus: Sequence[float], period_s: float, platform: str) -> None:
    """Refuse periods that the kernel does not know, and quotas below its least.

    Raises
    ------
    ExperimentError
        With a period, or a step, that would do.
    """
    if not LEAST_PERIOD_S <= period_s <= MOST_PERIOD_S:
        raise ExperimentError(
            f"--period: the kernel has periods from 1 ms to 1 s, not {1000 * period_s:g} ms",
            Typed("--period '100 ms'"),
        )
    least = min(cpus)
    if platform.startswith("docker") and least < 0.01:
        raise ExperimentError(
            f"docker gives no less than 0.01 CPUs, not {least:g}",
            "begin with 0.01: --quotas 0.01,…",
        )
    if round(least * period_s * 1e6) < LEAST_QUOTA_S * 1e6:
        enough = math.ceil(LEAST_QUOTA_S * 1000 / least)
        hint = (
            Typed(f"--period '{enough} ms'")
            if enough <= 1000
            else f"begin with {(first := LEAST_QUOTA_S / period_s):g}: --quotas {first:g},…"
        )
        raise ExperimentError(
            f"{least:g} CPUs are {least * period_s * 1000:g} ms of each period of "
            f"{1000 * period_s:g} ms; the kernel hands out no less than 1 ms",
            hint,
        )


def _check_within(quota: Fraction, cpus: int, option: str) -> None:
    if quota > cpus:
        raise ExperimentError(
            f"{option}: {_text(quota)} CPUs are more than this machine has: {cpus}",
            Typed(f"{option} {_text(Fraction(cpus, 20)) if option == '--step' else cpus}"),
        )


def _text(number: Fraction) -> str:
    return f"{float(number):.4g}"
