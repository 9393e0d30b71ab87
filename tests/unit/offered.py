"""What an experiment file may ask for, without an agent that tells."""

from __future__ import annotations

from tare import registry
from tare.registry import Catalogue, Description, Metric, Parameter

KERNELS = {
    "exp_float": {"size": 65536, "terms": 4096},
    "bsearch": {"queries": 65536, "size": 1048576},
    "null": {},
}
METRICS = ("wall_ns", "cpu_ns", "kernel_cpu_ns")


def catalogue() -> Catalogue:
    return Catalogue(
        kernels={name: _kernel(name, defaults) for name, defaults in KERNELS.items()},
        probes={},
        metrics={
            name: Metric(name=name, unit="ns", meaning="", absence="", sources=())
            for name in METRICS
        },
        platforms={name: unit.description for name, unit in registry.units_of("platform").items()},
        loads={name: unit.description for name, unit in registry.units_of("load").items()},
    )


def _kernel(name: str, defaults: dict[str, int]) -> Description:
    parameters = tuple(
        Parameter(name=key, meaning="", default=default, minimum=1, maximum=2**32)
        for key, default in defaults.items()
    )
    return Description(name=name, title="", question="", parameters=parameters)
