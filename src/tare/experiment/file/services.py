"""The parts of an ``application.toml`` with services: what it needs, these, and their driver."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tare import units
from tare.experiment.file import file_kinds
from tare.experiment.file.table import Table, shown
from tare.options import kinds
from tare.options.option import Key
from tare.workloads.application import SCRATCH, Driver, Needs, Ready, Service

TABLES = ("reset", "services", "driver")
#: Those that stand in the place of ``[run]``; what runs may have services as well.
DRIVEN = ("driver", "reset")
#: More than any application has, or any machine stands.
MOST_SERVICES, MOST_CPUS = 16, 256

#: Those by which programs are asked to end.
_SIGNAL = kinds.choice(("TERM", "INT", "QUIT", "HUP", "USR1", "USR2", "WINCH", "PWR", "KILL"))
#: A value, or a placeholder of a parameter.
_TEXT_OR_NUMBER = kinds.Kind(
    'a number, or a placeholder such as "{rate}"',
    lambda value: (
        kinds.NAME.read(value) if isinstance(value, str) else f"{kinds.NUMBER.read(value):g}"
    ),
)


def _http(value: Any) -> str:
    text = str(kinds.NAME.read(value))
    parts = urlsplit(text)
    if parts.scheme != "http" or not parts.netloc or parts.query or parts.fragment:
        raise ValueError
    host, _, port = parts.netloc.partition(":")
    # There is no name server in the network of a trial.
    if not re.fullmatch(r"\{\w+\}|localhost|[0-9.]+", host, re.ASCII):
        raise ValueError
    if port and not re.fullmatch(r"\{\w+\}|[0-9]{1,5}", port, re.ASCII):
        raise ValueError
    return text


def _results(value: Any) -> str:
    text = str(kinds.NAME.read(value)).removeprefix(f"{SCRATCH}/")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", text, re.ASCII):
        raise ValueError
    return f"{SCRATCH}/{text}"


NEEDS = (
    Key("cores", kinds.CPUS, "CPUs that a size must give at least"),
    Key("memory", kinds.SIZE, "memory that a size must give at least", field="memory_bytes"),
    Key(
        "native",
        kinds.TEXT,
        "why it cannot be measured where the CPU of a platform is emulated; absent: it can",
    ),
    Key(
        "disk",
        kinds.FLAG,
        "`true`: every instance has a folder of its own on a disk of this machine, writable, at "
        "`/disk`; it is removed with the instance",
    ),
)
RESET = (
    Key(
        "commands",
        kinds.COMMANDS,
        "commands that run in the instance before the services of each trial, in none of its times",
        required=True,
    ),
)
SERVICE = (
    Key(
        "name",
        kinds.matching("small letters, digits, - and _", r"[a-z0-9][a-z0-9_-]{0,60}"),
        "what it is called",
        required=True,
    ),
    Key("command", kinds.COMMAND, "the program, which stays in the foreground", required=True),
    Key("environment", kinds.TEXTS, "variables that it gets, with placeholders"),
    Key(
        "hosts",
        kinds.choice(("first", "each")),
        "with `[run]`: `each` for one on each host of the network; by default on the first",
    ),
)
READY = (
    Key("log", file_kinds.PATTERN, "expression in a line of its standard output or error"),
    Key("port", kinds.whole(1, 65535), "TCP port that accepts a connection"),
    Key(
        "http",
        kinds.Kind('a page such as "http://{host1}:8080/"', _http),
        "page that is answered with 200",
    ),
    Key("body", file_kinds.PATTERN, "with `http`: expression in that page"),
    Key("command", kinds.COMMAND, "command that exits with 0; tried again every 50 ms"),
    Key(
        "within",
        kinds.seconds(positive=True),
        "how long it may take, 60 s by default",
        field="within_s",
    ),
)
STOP = (
    Key("signal", _SIGNAL, "signal that ends it, TERM by default", field="stop_signal"),
    Key(
        "within",
        kinds.seconds(positive=True),
        "how long it may take before it is killed, 10 s by default",
        field="stop_s",
    ),
)
DRIVER = (
    Key(
        "command",
        kinds.COMMAND,
        "load generator, on another host of the network, in `/tmp`",
        required=True,
    ),
    Key("environment", kinds.TEXTS, "variables that it gets, with placeholders"),
    Key(
        "cpus",
        kinds.whole(1, MOST_CPUS),
        "CPUs of its own, where the size leaves as many; 1 by default",
    ),
    Key(
        "stands_for",
        kinds.NAME,
        "load generator that others use for these services, with whose figures those of this one "
        "are not comparable: results say so",
    ),
    Key(
        "load",
        kinds.choice(("open", "closed")),
        "`open`: requests come at a rate; `closed`: users wait for an answer before the next",
        required=True,
    ),
    Key("rate", _TEXT_OR_NUMBER, "of an open load: requests a second, all labels together"),
    Key("users", _TEXT_OR_NUMBER, "of a closed load: how many users"),
    Key(
        "results",
        kinds.Kind("a file in /tmp", _results),
        "file that it leaves, with a row for each request",
        required=True,
    ),
    Key(
        "format",
        kinds.choice(("requests", "jmeter")),
        "of that file: `requests` (default), or JMeter's JTL as CSV",
    ),
    Key(
        "count",
        file_kinds.NUMBER_PATTERN,
        "expression in its standard output whose last match's group is how many requests it "
        "counts itself: the rows must be as many",
    ),
    Key(
        "errors",
        kinds.NAME,
        'largest share of failed requests in a valid trial, "1 %" by default; or a placeholder',
    ),
    Key(
        "reached",
        kinds.share(0, 1),
        "of an open load: least share of the rate in a valid trial, 99 % by default",
    ),
    Key(
        "within",
        kinds.seconds(positive=True),
        "how long it may take, 10 min by default",
        field="within_s",
    ),
)


#: What may hold placeholders: tables, and texts by key.
Texts = list[tuple[Table, Mapping[str, Iterable[str]]]]


class Serving(NamedTuple):
    """What these tables say."""

    reset: tuple[tuple[str, ...], ...]
    services: tuple[Service, ...]
    #: None: a command runs with them.
    driver: Driver | None
    texts: Texts


def needs(table: Table) -> Needs:
    """Read what a size must give."""
    return Needs(**table.read(NEEDS))


def read(file: Table) -> Serving:
    """Read what serves, and what it is driven by, if it is.

    Raises
    ------
    ExperimentError
        Names the key, and what was expected.
    """
    texts: Texts = []
    runs = "run" in file.values
    for needed in ("services",) if runs else ("services", "driver"):
        if needed not in file.values:
            one = "[[services]]" if needed == "services" else "[driver]"
            raise file.error(needed, "is missing", f"{one}: services and a driver go together")
    reset: tuple[tuple[str, ...], ...] = ()
    if "reset" in file.values:
        table = file.table("reset")
        reset = table.read(RESET)["commands"]
        texts.append((table, {"commands": [word for one in reset for word in one]}))
    tables = file.tables("services")
    if not 0 < len(tables) <= MOST_SERVICES:
        raise file.error("services", f"expected 1 to {MOST_SERVICES} of them")
    services = tuple(_service(one, texts) for one in tables)
    names = [service.name for service in services]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise file.error("services", f"two are called {twice}", "give one of them another name")
    if runs:
        return Serving(reset, services, None, texts)
    each = next((number for number, one in enumerate(services) if one.hosts == "each"), None)
    if each is not None:
        raise tables[each].error("hosts", 'is "first" for services that a driver drives')
    return Serving(reset, services, _driver(file.table("driver"), texts), texts)


def _service(table: Table, texts: Texts) -> Service:
    table.only([*(key.name for key in SERVICE), "ready", "stop"])
    given = table.part(key.name for key in SERVICE).read(SERVICE)
    below = table.table("ready")
    ready = Ready(**below.read(READY))
    ways = [way for way in ("log", "port", "http", "command") if getattr(ready, way) is not None]
    if len(ways) != 1:
        raise below.error(
            ways[1] if ways else None,
            f"excludes {ways[0]}" if ways else "expected log, port, http or command",
            'log = "ready", port = 80, http = "http://{host1}:80/", or command = ["true"]',
        )
    if ready.body is not None and ready.http is None:
        raise below.error("body", "needs http")
    texts.append((table, {
        "command": given["command"], "environment": given.get("environment", {}).values(),
    }))  # fmt: skip
    texts.append((below, {"http": [ready.http or ""], "command": ready.command or ()}))
    return Service(**given, ready=ready, **table.table("stop").read(STOP))


def _driver(table: Table, texts: Texts) -> Driver:
    driver = Driver(**table.read(DRIVER))
    own, other = ("rate", "users") if driver.load == "open" else ("users", "rate")
    if getattr(driver, own) is None:
        raise table.error(own, f"is missing: the load is {driver.load}", f'{own} = "{{{own}}}"')
    if getattr(driver, other) is not None:
        raise table.error(other, f"excludes load = {shown(driver.load)}", f"{own} = …")
    if driver.load == "closed" and "reached" in table.values:
        raise table.error("reached", "is the share of a rate, which a closed load has not")
    if "{" not in driver.errors:
        try:
            units.share(driver.errors, 0, 1)
        except ValueError:
            raise table.error(
                "errors", f"{shown(driver.errors)} is no share", 'errors = "1 %"'
            ) from None
    texts.append((table, {
        "command": driver.command, "environment": driver.environment.values(),
        "rate": [driver.rate or ""], "users": [driver.users or ""], "errors": [driver.errors],
    }))  # fmt: skip
    return driver
