"""The network of an experiment, and how its levels shape it."""

from __future__ import annotations

from tare.errors import TareError
from tare.experiment.file import keys
from tare.experiment.file.table import Table
from tare.experiment.specification import NO_NETWORK, Experiment, NetworkSpec
from tare.networks.shaping import specification
from tare.networks.shaping.specification import Bucket


def network(table: Table) -> NetworkSpec:
    """Read ``[network]``: the hosts, what they serve, what becomes of their budgets."""
    return NetworkSpec(**table.read(keys.NETWORK))


def named(table: Table) -> dict[str, str]:
    """Read the specifications that have a short name."""
    found: dict[str, str] = {}
    for name, value in table.values.items():
        if name == NO_NETWORK:
            raise table.error(name, "is unshaped by definition", "choose another name")
        if isinstance(value, str):
            raise table.error(name, "is a table of its own", f'[networks.{name}] with spec = "…"')
        found[name] = table.table(name).read(keys.NETWORKS)["spec"]
    return found


def check(file: Table, experiment: Experiment) -> None:
    """Refuse levels that are no specification, and what says nothing.

    Raises
    ------
    ExperimentError
        Names the key, the level, and what was expected.
    """
    factors, table = file.table("factors"), file.table("network")
    levels = experiment.factors.get("network", ())
    for given in ("network", "networks"):
        if not levels and file.values.get(given):
            raise file.error(
                given,
                "says nothing without the factor network",
                'network = ["none", "rate 200Mbit"] in [factors]',
            )
    for name in experiment.networks:
        if name not in levels:
            raise file.error(
                f"networks.{name}",
                "is no level of the factor network, so it would never be used",
                "add it to network in [factors], or remove it",
            )
    for level in levels:
        _check_level(factors, experiment, level)
    _check_rest(table, experiment)
    if experiment.network.serve and experiment.network.hosts < 2:
        raise table.error(
            "serve",
            "runs on every host but the first, and there is one",
            table.setting("hosts", 2),
        )


def _check_level(table: Table, experiment: Experiment, level: str) -> None:
    try:
        shaping = specification.parse(experiment.shaped(level))
    except TareError as error:
        raise table.error("network", f"{level!r}: {error.message}", error.hint) from error
    hosts = dict(shaping.hosts_bits) if isinstance(shaping, Bucket) else {}
    beyond = max(hosts, default=0)
    if beyond > experiment.network.hosts:
        raise table.error(
            "network",
            f"{level!r}: there is no host {beyond}",
            table.setting("hosts", beyond, "network"),
        )
    refills = experiment.network.rest == "refill"
    if refills and isinstance(shaping, Bucket) and not shaping.refill_bps:
        raise table.error(
            "network", f"{level!r} is never full again, as nothing refills it", 'rest = "none"'
        )


def _check_rest(table: Table, experiment: Experiment) -> None:
    network = experiment.network
    if network.rest != "none" and network.budget == "reset":
        raise table.error(
            "rest",
            "says nothing where every trial begins with the budget of its level",
            'budget = "carry", or rest = "1 min" in [experiment], which is no matter of buckets',
        )
