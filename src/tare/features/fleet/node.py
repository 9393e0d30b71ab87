"""A node of a fleet: the scheduler or a worker of one run.

Its orders come as one line of standard input, the key of the run among them, followed by a
heartbeat every few seconds. A node ends when its input ends or is silent.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import select
import signal
import socket
import ssl
import sys
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

import dask
import msgspec
from distributed import Scheduler, Worker

from tare.decoding import DecodeError, decode
from tare.errors import PlatformError, TareError, UsageError
from tare.features.fleet.certificate import Certificate
from tare.features.fleet.laboratory import private_folder
from tare.host import python
from tare.networks import namespaces
from tare.version import __version__

#: Dask's settings of a node, whatever is configured on its machine for other clusters.
SETTINGS = {
    # A host whose machine or link has failed is noticed after so long.
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "10s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "12s",
    "DASK_DISTRIBUTED__ADMIN__LOG_LENGTH": "0",
    "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "true",
    # Pages over HTTP could be read by everybody who reaches the port.
    "DASK_DISTRIBUTED__SCHEDULER__HTTP__ROUTES": "[]",
    "DASK_DISTRIBUTED__WORKER__HTTP__ROUTES": "[]",
}
LOOPBACK = "127.0.0.1"
#: Seconds between heartbeats, and of silence after which a node ends.
BEAT_S, SILENT_S = 4.0, 20.0
#: Seconds between the request to end and the end of a block that is still being measured.
END_S = 8.0
#: Seconds that an answer over loopback, or a tunnel of ssh, may take.
REACH_S = 10.0
#: A certificate, its key and a few names take a tenth of this.
_MOST_BYTES = 1 << 14

Port = Annotated[int, msgspec.Meta(ge=1024, le=65535)]


class Tunnels(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ports of a worker's machine, and of the one at the other end.

    Attributes
    ----------
    scheduler : int
        By which the scheduler is reached from here.
    own : int
        On which the worker listens.
    there : int
        By which the other end reaches that.
    """

    scheduler: Port
    own: Port
    there: Port


class Orders(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a node does.

    Attributes
    ----------
    mark : str
        Begins the line of its answer; a login may print other lines.
    worker : str, optional
        The worker's name; without one, it is the scheduler.
    address : str
        Where it listens.
    scheduler : str, optional
        A worker's scheduler, where that is reached without tunnels.
    tunnels : Tunnels, optional
        By which ssh connects a worker with its scheduler.
    namespace : str, optional
        Network namespace of what a worker measures; Dask's connections are in none that it shares
        with measured programs.
    reached_at : str, optional
        Address of that namespace, at which other hosts measure the network.
    """

    version: str
    mark: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
    certificate: Certificate
    worker: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9._-]{1,64}$")] | None = None
    address: str = LOOPBACK
    scheduler: str | None = None
    tunnels: Tunnels | None = None
    namespace: str | None = None
    reached_at: str | None = None


def orders(certificate: Certificate, **others: Any) -> Orders:
    """Return orders for a node of this version."""
    mark = secrets.token_hex(16)
    return Orders(version=__version__, mark=mark, certificate=certificate, **others)


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """That it is ready, or why it cannot be."""

    why: str | None = None
    hint: str | None = None
    #: Whether other ports may do.
    ports: bool = False
    #: Port of the scheduler; 0: any free one.
    port: int = 0


class PortError(PlatformError):
    """A port is taken, or leads elsewhere."""


def reach(port: int, certificate: Certificate) -> None:
    """See that who answers on a port of this machine has the certificate; raises PortError."""
    context = certificate.security().get_connection_args("client")["ssl_context"]
    try:
        with (
            socket.create_connection((LOOPBACK, port), REACH_S) as plain,
            context.wrap_socket(plain),
        ):
            pass
    except (OSError, ssl.SSLError) as error:
        raise PortError(f"ssh's tunnel does not lead to the other end: {error}") from error


def main() -> None:
    """Be what the standard input says.

    Raises
    ------
    UsageError
        If it says nothing that can be read.
    """
    orders = _read()
    # What is configured here for other clusters holds but for this.
    dask.config.refresh(env={**os.environ, **SETTINGS})
    end = _End()
    try:
        asyncio.run(_be(orders, end))
    except TareError as error:
        answer = Answer(why=error.message, hint=error.hint, ports=isinstance(error, PortError))
        _answer(orders, answer)
    except Exception as error:
        _answer(orders, Answer(why=f"{type(error).__name__}: {error}"))
    finally:
        # A block that is under way in a thread holds the process up no longer than this.
        end.at_most()


def _read() -> Orders:
    # Nothing has been started that would have to be ended otherwise.
    signal.alarm(round(SILENT_S))
    line = sys.stdin.buffer.readline(_MOST_BYTES)
    signal.alarm(0)
    try:
        return decode(line, Orders)
    except DecodeError as error:
        raise UsageError(
            f"no orders on the standard input ({error})",
            "start it with tare experiment run --fleet ssh:HOST, with the same tare on both "
            "machines",
        ) from error


def _answer(orders: Orders, answer: Answer) -> None:
    # Nobody may be there any more.
    with contextlib.suppress(OSError):
        os.write(1, f"{orders.mark} {msgspec.json.encode(answer).decode()}\n".encode())


async def _be(orders: Orders, end: _End) -> None:
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    end.listen(loop, asked)
    loop.add_signal_handler(signal.SIGTERM, asked.set)
    with private_folder() as folder:
        # Dask would keep its files in a folder of a known name in /tmp, and follow links there.
        dask.config.set({"temporary-directory": str(folder)})
        async with _node(orders) as (node, port):
            _answer(orders, Answer(port=port))
            # From here on nobody reads the pipe, and writing to a full one would block.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            waits = [asyncio.ensure_future(one) for one in (asked.wait(), node.finished())]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            end.at_most()


@contextlib.asynccontextmanager
async def _node(orders: Orders) -> AsyncIterator[tuple[Any, int]]:
    """Start the node; yield it, and its port."""
    if orders.version != __version__:
        raise PlatformError(f"it has tare {__version__}, and this is {orders.version}")
    common = {
        "security": orders.certificate.security(),
        "host": orders.address,
        "dashboard": False,
        "dashboard_address": f"{orders.address}:0",
    }
    if orders.worker is None:
        schedule: Callable[..., Any] = Scheduler
        async with schedule(port=0, protocol="tls", **common) as scheduler:
            yield scheduler, scheduler.port
        return
    work: Callable[..., Any] = Worker
    worker = work(
        name=orders.worker, nthreads=1, memory_limit=0, death_timeout=REACH_S,
        executor=_executor(orders), **_connections(orders), **common,
    )  # fmt: skip
    # For the laboratory, which finds it on its worker.
    worker.reached_at = orders.reached_at
    async with worker:
        yield worker, worker.port


def _connections(orders: Orders) -> dict[str, Any]:
    """Return a worker's scheduler, and by which port it is reached itself."""
    ports = orders.tunnels
    if ports is None:
        return {"scheduler_ip": orders.scheduler, "protocol": "tls"}
    reach(ports.scheduler, orders.certificate)
    try:
        socket.create_server((LOOPBACK, ports.own)).close()
    except OSError as error:
        raise PortError(f"port {ports.own} is taken there: {error.strerror}") from error
    return {
        "scheduler_ip": f"tls://{LOOPBACK}:{ports.scheduler}",
        "port": ports.own,
        "contact_address": f"tls://{LOOPBACK}:{ports.there}",
    }


def _executor(orders: Orders) -> ThreadPoolExecutor | None:
    """Return the one thread that measures, in the network of what it measures."""
    if orders.namespace is None:
        return None
    return ThreadPoolExecutor(1, initializer=namespaces.enter, initargs=(orders.namespace,))


class _End:
    """Ends this process."""

    def listen(self, loop: asyncio.AbstractEventLoop, asked: asyncio.Event) -> None:
        """Set an event once the process that started this one has ended, or asks for the end."""

        def listening() -> None:
            while select.select([0], [], [], SILENT_S)[0] and os.read(0, 1024):
                pass
            self.at_most()
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(asked.set)

        threading.Thread(target=listening, daemon=True).start()

    def at_most(self) -> None:
        """End after `END_S`, whatever is still being measured."""
        timer = threading.Timer(END_S, _leave)
        timer.daemon = True
        timer.start()


def _leave() -> None:
    """Replace this process, whose agents end with it, by its clean-up."""
    argv = python.tare("cleanup")
    os.execv(argv[0], argv)
