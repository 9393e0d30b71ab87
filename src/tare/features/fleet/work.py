"""From an address to a fleet's results: the one place where the parts are put together."""

from __future__ import annotations

import contextlib
import logging
import socket
import time
import urllib.request
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
from distributed import Client, Security

from tare.errors import PlatformError, StoreError, Typed, UsageError
from tare.experiment import file as experiment_file
from tare.experiment.catalogue import catalogue
from tare.experiment.session import folder as folders
from tare.experiment.specification import Experiment
from tare.experiment.supplies import Supplies
from tare.features.fleet import check
from tare.features.fleet import folder as own_folders
from tare.features.fleet.check import Check
from tare.features.fleet.engine import Engine, Host, Progress
from tare.features.fleet.folder import HostRecord, Record
from tare.features.fleet.laboratory import Asked, Laboratory, Refusal
from tare.features.fleet.local import MOST, local
from tare.features.fleet.measuring import Measuring
from tare.features.fleet.ssh import ssh

#: Until a scheduler that does not answer is given up.
ANSWER_S = 20.0
#: Until its page is.
_PAGE_S = 2.0
_DOCS = "docs/how-to/fleet.md"
#: Hint for missing certificates: the document that says how to make them.
_CERTIFICATES = f"see {_DOCS}, Certificates"
_LOCAL, _SSH = "local:", "ssh:"


class Connected(NamedTuple):
    """A fleet that is reached: its scheduler, and hosts that were named and are not part of it."""

    client: Client
    refused: dict[str, Refusal]
    #: Ends what plays a host, on this machine.
    drop: Callable[[str], None] | None
    #: Hint for a lost scheduler: what to type before the same command again.
    restart: str


@contextlib.contextmanager
def connected(address: str) -> Iterator[Connected]:
    """Reach the scheduler of a fleet, or start one on this machine.

    Raises
    ------
    UsageError
        If the address is none, or leads elsewhere without encryption.
    PlatformError
        If nobody answers there, or there are no certificates.
    """
    with contextlib.ExitStack() as stack:
        expected, refused = 0, dict[str, Refusal]()
        security: object = None
        drop: Callable[[str], None] | None = None
        restart = ""
        if address.startswith(_LOCAL):
            expected = _count(address)
            address, security, drop = stack.enter_context(local(expected))
        elif address.startswith(_SSH):
            started = stack.enter_context(ssh(address.removeprefix(_SSH)))
            address, security, refused = started.address, started.security, started.refused
        else:
            admit(address)
            restart = "start it and its workers again, then "
        # What it has to say about its own connections, tare says in its own words.
        # Dask's loggers have levels of their own.
        for name in ("asyncio", *logging.root.manager.loggerDict):
            if name.split(".")[0] in ("asyncio", "distributed"):
                logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            parts = urlsplit(address)
            # At once, where nobody listens: Dask's client would go on trying.
            socket.create_connection((parts.hostname, parts.port), ANSWER_S).close()
            reach: Callable[..., Client] = Client
            client = stack.enter_context(
                reach(address, security=security, timeout=ANSWER_S, set_as_default=False)
            )
            if expected:
                wait: Callable[..., None] = client.wait_for_workers
                wait(expected, timeout=ANSWER_S)
        except (OSError, TimeoutError, ValueError) as error:
            raise PlatformError(
                f"no scheduler answers at {address}: {error}",
                Typed(f"dask scheduler   (see {_DOCS})"),
            ) from error
        yield Connected(client, refused, drop, restart)


def _count(address: str) -> int:
    number = address.removeprefix(_LOCAL)
    if not (number.isascii() and number.isdecimal()) or not 1 <= int(number) <= MOST:
        raise UsageError(f"{address!r}: not 1 to {MOST} hosts", "local:4")
    return int(number)


def admit(address: str) -> None:
    """Refuse a scheduler that anybody on the way could be: workers do what they are sent."""
    try:
        parts = urlsplit(address)
        plain = parts.port is not None and address == f"{parts.scheme}://{parts.netloc}"
    except ValueError:
        plain = False
    if not plain or parts.scheme not in ("tcp", "tls") or not parts.hostname or parts.username:
        raise UsageError(
            f"{address!r}: not the address of a scheduler, with its port",
            "tls://HOST:8786, ssh:box1,box2, or local:4",
        )
    if parts.scheme == "tcp":
        raise UsageError(
            f"{address!r}: without TLS, whoever listens there or reaches the scheduler can run "
            "anything here and on all hosts, other users of this machine included",
            f"tls://…, with certificates   {_CERTIFICATES}",
        )
    try:
        # Of the certificates that Dask's configuration names.
        security: Callable[[], Any] = Security
        secured = security().get_connection_args("client")["ssl_context"]
    except OSError as error:
        raise PlatformError(
            f"the certificates of Dask's configuration cannot be used: {error}", _CERTIFICATES
        ) from error
    if secured is None:
        raise PlatformError(
            f"{address!r}: Dask's configuration names no certificate", _CERTIFICATES
        )


def execute(
    file: Path,
    address: str,
    folder: Path,
    progress: Progress,
    *,
    skip_missing: bool = False,
    as_root: bool = False,
    resume: bool = False,
    supplies: Supplies | None = None,
    plugin: Laboratory | None = None,
) -> Record:
    """Measure on all hosts into a folder, and return what became of each.

    ``plugin`` takes the place of what measures on a host.

    Raises
    ------
    StoreError
        If the folder is not empty, or another session writes to it.
    PlatformError
        If there is no fleet, or no host can measure what is asked.
    """
    text = experiment_file.read(file)
    experiment = experiment_file.parse(text, str(file), catalogue())
    asked = Asked(text, str(file), skip_missing, as_root, supplies)
    before: Record | None = None
    asked_s = time.monotonic()
    with _none_left_empty(folder), folders.held(folder):
        if own_folders.has_begun(folder):
            if not resume:
                raise StoreError(
                    f"{folder} is not empty: it holds a fleet's results, so nothing was measured",
                    Typed("--resume   (goes on with them; or choose another --out)"),
                )
            before = own_folders.before(folder)
        else:
            folders.check_free(folder, resume=resume)
        with connected(address) as fleet:
            if not address.startswith((_LOCAL, _SSH)):
                _link(fleet.client, progress)
            wanted = experiment.fleet.hosts
            engine = Engine(
                fleet.client, progress, wanted, fleet.refused, fleet.drop, fleet.restart
            )
            engine.asked_s = asked_s
            try:
                with engine.reached(plugin):
                    # Whoever reaches nobody has begun nothing.
                    folders.write_text(text, folder)
                    own_folders.write(_recorded(experiment, engine, before), folder)
                    Measuring(engine, asked, folder, experiment.fleet).conduct()
                if all(host.ended == "complete" for host in engine.hosts.values()):
                    progress.note("all hosts have what the file asks for; nothing was measured")
            finally:
                record = _recorded(experiment, engine, before)
                if own_folders.has_begun(folder):
                    own_folders.write(record, folder)
    if record.hosts and all(host.ended == "refused" for host in record.hosts):
        first = record.hosts[0]
        raise PlatformError(f"no host can measure this; {first.name}: {first.why}")
    return record


@contextlib.contextmanager
def _none_left_empty(folder: Path) -> Iterator[None]:
    """Have a folder that was made for results, and got none, be gone."""
    there = folder.exists()
    try:
        yield
    finally:
        if not there:
            with contextlib.suppress(OSError):
                folder.rmdir()


def look(
    address: str, progress: Progress, supplies: Supplies, *, network: bool, search_s: float | None
) -> Check:
    """Look at all hosts; raises PlatformError where there is no fleet, or none can be looked at."""
    with connected(address) as fleet:
        engine = Engine(fleet.client, progress, refused=fleet.refused, drop=fleet.drop)
        with engine.reached():
            found = check.take(engine, supplies, network=network, search_s=search_s)
    if all(host.why is not None for host in found.hosts):
        first = found.hosts[0]
        raise PlatformError(f"no host can be looked at; {first.name}: {first.why}")
    return found


def _link(client: Client, progress: Progress) -> None:
    """Say where the scheduler shows what its workers do, where it does."""
    services: dict[str, Any] = client.scheduler_info(n_workers=0)["services"]
    if services.get("dashboard") and _answers(str(client.dashboard_link)):
        progress.note(f"Dask's dashboard: {client.dashboard_link}")


def _answers(link: str) -> bool:
    """Tell whether there is a page: a scheduler without dashboard says that it has one."""
    try:
        with urllib.request.urlopen(link, timeout=_PAGE_S) as page:
            return bool(page.status == HTTPStatus.OK)
    except (OSError, ValueError):
        return False


def _recorded(experiment: Experiment, engine: Engine, before: Record | None) -> Record:
    """Return what became of all hosts; of one that had all before, also what was known of that."""
    known = {} if before is None else {host.name: host for host in before.hosts}
    hosts = []
    for name, host in engine.hosts.items():
        own = _record(host)
        if host.ended == "complete" and name in known:
            own = msgspec.structs.replace(known[name], ended="complete", why=None)
        hosts.append(own)
    return Record(name=experiment.name, question=experiment.question, hosts=tuple(hosts))


def _record(host: Host) -> HostRecord:
    return HostRecord(
        name=host.name,
        ended=host.ended or "interrupted",
        why=None if host.why is None else host.why.why,
        machine=host.hello.machine,
        system=host.hello.system,
        cpus=host.hello.cpus,
        joined_s=round(host.joined_s, 3),
        blocks=host.blocks,
        measured_s=round(host.measured_ns / 1e9, 3),
        block_s=host.plain_ns / 1e9 / host.plain_blocks if host.plain_blocks else None,
        session_s=None if host.session_ns is None else round(host.session_ns / 1e9, 3),
        own_cpu_share=host.own_cpu_ns / host.plain_ns if host.plain_ns else None,
    )
