"""With which right a sweep gives CPU time in steps; tried before anything is measured."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tare import platforms
from tare.errors import PlatformError, Typed
from tare.experiment.specification import Experiment
from tare.features.calibration import sweep
from tare.host import lease
from tare.platforms import Place, groups, scope
from tare.render.words import text
from tare.results.message import Message, message

_LIMITS_TEXTS = {
    "quota": "CPU quotas",
    "cpuset": "sets of CPUs",
    "memory": "CPU quotas and memory",
}

_HINT = Typed("sudo   (or use --platform docker)")


def check(found: Experiment) -> Message:
    """Try the limits of the least step, and say by what they are set.

    Raises
    ------
    PlatformError
        If this user or machine cannot set them, with what would help.
    """
    stack = str(found.factors["platform"][0])
    works = platforms.availability(stack, found.platforms, found.runs_commands)
    if not works.works:
        raise PlatformError(f"{stack} is not available here: {text(works.why or '')}", works.fix)
    return message(
        "{limits} by {means}",
        limits=message(_LIMITS_TEXTS[sweep.by(found)]),
        means=_means(found, stack),
    )


def _means(found: Experiment, stack: str) -> Message:
    if stack.startswith("docker"):
        return message("docker")
    if stack.startswith("vm"):
        return message("virtual machines")
    if sweep.by(found) == "cpuset":
        return message("affinity")
    least = min(sweep.given_cpus(found))
    memory = [limits.memory_bytes for limits in found.sizes.values() if limits.memory_bytes]
    name = lease.new_name()
    place = Place(
        name=f"{name}-0",
        shared="/dev/shm",
        cores=least,
        period_us=round(found.longest_period_s * 1e6),
        memory_bytes=min(memory, default=None),
    )
    if scope.works():
        _try_scope(place)
        return message(
            "scopes of systemd{% if user %} for this user{% endif %}", user=os.geteuid() != 0
        )
    with lease.hold(name):
        try:
            made = groups.limited(place)
        except PlatformError as error:
            raise PlatformError(error.message, _HINT) from error
        finally:
            groups.release(place.name)
    versions = [str(version) for version in _versions(made)]
    return message(
        "control groups v{versions | join(' and v')}{% if root %} as root{% endif %}",
        versions=versions,
        root=os.geteuid() == 0,
    )


def _try_scope(place: Place) -> None:
    done = subprocess.run(
        scope.wrap(["true"], place), stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=10, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise PlatformError(
            "cores and memory of an instance cannot be limited here: "
            f"{done.stderr.strip().removeprefix('tare: ')}",
            _HINT,
        )


def _versions(made: list[Path]) -> list[int]:
    mounted = [h for h in groups.hierarchies() if any(p.is_relative_to(h.path) for p in made)]
    return sorted({h.version for h in mounted})
