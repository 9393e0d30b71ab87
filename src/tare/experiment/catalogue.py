"""What an experiment can ask for here: the registry's units, and what the agent has."""

from __future__ import annotations

import subprocess
from functools import cache

import msgspec

from tare import registry
from tare.agent import client
from tare.decoding import DecodeError, decode
from tare.errors import AgentError, Typed
from tare.registry import Catalogue, Description, Metric, Probe


class _Described(msgspec.Struct):
    kernels: tuple[Description, ...]
    metrics: tuple[Metric, ...]
    probes: tuple[Probe, ...]


@cache
def catalogue() -> Catalogue:
    """Ask the agent for its kernels and metrics, the registry for platforms and loads.

    Raises
    ------
    AgentError
        If the agent is missing, or does not describe itself.
    """
    command = [str(client.binary()), "describe"]
    done = subprocess.run(command, capture_output=True, check=False)
    try:
        described = decode(done.stdout, _Described)
    except DecodeError as error:
        said = done.stderr.decode(errors="replace").strip() or str(error)
        raise AgentError(
            f"the agent does not describe itself: {said}", Typed("make setup")
        ) from error
    return Catalogue(
        kernels={kernel.name: kernel for kernel in described.kernels},
        metrics={metric.name: metric for metric in described.metrics},
        probes={probe.name: probe for probe in described.probes},
        platforms={name: unit.description for name, unit in registry.units_of("platform").items()},
        loads={name: unit.description for name, unit in registry.units_of("load").items()},
    )
