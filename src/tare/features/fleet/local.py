"""A fleet on this machine: hosts in namespaces of a small network, to try one, and for tests."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from time import monotonic

from tare.errors import TareError
from tare.experiment import remnants
from tare.features.fleet import certificate as certificates
from tare.features.fleet.node import orders
from tare.features.fleet.processes import READY_S, NodeProcess, NodeProcesses, command, ready
from tare.host import lease
from tare.networks import namespaces
from tare.networks.emulator import SUBNET, Emulator

#: The scheduler, its workers and this process talk in a network of their own, which no measured
#: program is in.
_CONTROL_SUBNET = "10.78.0"
#: One machine plays no more hosts than this.
MOST = 250


@contextlib.contextmanager
def local(count: int) -> Iterator[tuple[str, object, Callable[[str], None]]]:
    """Start a scheduler and hosts; meanwhile this thread is in the scheduler's network namespace.

    Yields
    ------
    address : str
        The scheduler's.
    security : object
        What Dask's client shows to it.
    drop : callable
        Kills a host by its name: others may wait for one that is frozen.

    Raises
    ------
    PlatformError
        If this user may not create network namespaces, or a node does not start.
    """
    made = certificates.make()
    with contextlib.ExitStack() as stack:
        measured = stack.enter_context(_network(count, SUBNET))
        control = stack.enter_context(_network(count + 1, _CONTROL_SUBNET))
        hosts: dict[str, NodeProcess] = {}
        stack.callback(_clean_up_after, hosts)
        nodes = stack.enter_context(NodeProcesses())
        own = control.hosts[0]
        assert own.namespace is not None
        port = nodes.scheduler(orders(made, address=own.address), control.enter(1))
        scheduler = f"tls://{own.address}:{port}"
        for number, (host, link) in enumerate(zip(measured.hosts, control.hosts[1:], strict=True)):
            name = f"host-{number + 1}"
            asked = orders(
                made, worker=name, address=link.address, scheduler=scheduler,
                namespace=host.namespace, reached_at=host.address,
            )  # fmt: skip
            hosts[name] = nodes.start([*control.enter(number + 2), *command(name)], asked)
        ends = monotonic() + READY_S
        for name, process in hosts.items():
            ready(process, name, ends)
        stack.enter_context(namespaces.inside(own.namespace))

        def drop(name: str) -> None:
            # The scheduler may have hosts that were not started here.
            if name in hosts:
                hosts[name].kill()

        yield scheduler, made.security(), drop


@contextlib.contextmanager
def _network(hosts: int, subnet: str) -> Iterator[Emulator]:
    name = lease.new_name()
    with remnants.lease(name), Emulator(name, hosts=hosts, subnet=subnet) as network:
        yield network


def _clean_up_after(hosts: Mapping[str, NodeProcess]) -> None:
    """Remove what killed hosts left."""
    if any(process.was_killed for process in hosts.values()):
        with contextlib.suppress(TareError):
            remnants.cleanup()
