"""An application as it is described: its image, what it runs, its metrics, what makes it valid.

The content of ``application.toml``, read and checked; nothing of it is built or run here.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from tare.registry import Parameter

#: Inside an image, on every platform: files of the application's folder and artefacts; what
#: ``prepare`` made; where commands start and may write.
FILES, DATA, SCRATCH = "/application", "/data", "/tmp"
#: How the machine is called inside, which ``/etc/hosts`` of every image knows.
HOST_NAME = "tare"
#: Programs that come with tare and can be put into an image.
PROGRAMS = ("tare-cql",)

#: What an application uses most, in PINNING's terms: CPU time; network and disk; both.
Intensity = Literal["cpu", "io", "ultra-io"]

Sha256 = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What all parts have in common: they are stored with results, and read back."""


class Artefact(_Strict, frozen=True, kw_only=True, omit_defaults=True):
    """A file of a package registry, put into ``/application``."""

    registry: Literal["maven", "pypi"]
    #: ``group:artifact`` or ``group:artifact:classifier`` of Maven, the project's name of PyPI.
    name: str
    version: str
    sha256: Sha256
    #: Of a source distribution of PyPI: what of it is put there, and with ``!`` what is not. None
    #: of these: it is one file, of PyPI a wheel.
    sdist: tuple[str, ...] = ()


class Image(_Strict, frozen=True, kw_only=True):
    """The files in which it runs: from Debian packages, an engine's image, or a directory."""

    #: Debian packages, with ``=version`` where it matters.
    packages: tuple[str, ...] = ()
    #: Debian's release; None: that of the machine where the image is built, or else the newest
    #: that tare knows.
    suite: str | None = None
    artefacts: tuple[Artefact, ...] = ()
    #: File of the application's folder that lists further ones; they are among ``artefacts``.
    artefact_list: str | None = None
    #: Files and directories of the application's folder that are put into ``/application``.
    files: tuple[str, ...] = ()
    #: Of ``PROGRAMS``: those that are put into ``/application``.
    programs: tuple[str, ...] = ()
    #: Instead of packages: an image that the local Docker or Podman has.
    oci: str | None = None
    #: Instead of packages: a directory of this machine, absolute.
    root: str | None = None


class ApplicationMetric(_Strict, frozen=True, kw_only=True):
    """A number that a trial's output holds."""

    #: With the unit in which it is kept as its end: ``mpi_ns``.
    name: str
    meaning: str
    #: As the program prints it.
    unit: str
    #: What a printed value is multiplied by.
    scale: float
    better: Literal["lower", "higher"]
    stream: Literal["stdout", "stderr"] = "stdout"
    #: One of these: an expression, whose last match's group it is; keys of a JSON document; a
    #: format that ``tare audit`` reads.
    pattern: str | None = None
    json: tuple[str, ...] | None = None
    format: str | None = None
    #: Of a format: what is measured, where several things are, and the quantile; None: the mean.
    series: str | None = None
    quantile: float | None = None
    #: Whether a trial that does not print it is valid.
    optional: bool = False


class OutputCheck(_Strict, frozen=True, kw_only=True):
    """What a trial's output must hold, or must not."""

    stream: Literal["stdout", "stderr"] = "stdout"
    #: An expression that is found there.
    pattern: str | None = None
    #: What the last match's group must be: a text with placeholders, or that of a file in /data.
    equals: str | None = None
    equals_file: str | None = None
    #: What the number there must be at least, and at most.
    minimum: float | None = None
    maximum: float | None = None
    #: An expression that is not found there.
    absent: str | None = None
    #: Of the whole stream.
    sha256: Sha256 | None = None


class Check(_Strict, frozen=True, kw_only=True):
    """What makes a trial valid."""

    #: Exit codes beside 0.
    exit_codes: tuple[int, ...] = ()
    outputs: tuple[OutputCheck, ...] = ()
    #: Runs after the trial where the trial ran, not in its time; must exit with 0.
    command: tuple[str, ...] | None = None


class Ready(_Strict, frozen=True, kw_only=True):
    """What shows that a service is ready: one of these, with placeholders."""

    #: An expression that is found in a line of what it prints.
    log: str | None = None
    #: A TCP connection is accepted there, on the address of its instance.
    port: int | None = None
    #: A page that is answered with 200: ``http://{host1}:8080/``.
    http: str | None = None
    #: Regular expression that the page's body must match; None: the status is enough.
    body: str | None = None
    #: Command that exits with 0 once the service is ready; it is repeated until then.
    command: tuple[str, ...] | None = None
    within_s: float = 60.0


class Service(_Strict, frozen=True, kw_only=True):
    """A program that serves for the time of a trial, or of a session."""

    name: str
    #: Of an application that a command runs: on the first host, or one on each host.
    hosts: Literal["first", "each"] = "first"
    command: tuple[str, ...]
    environment: dict[str, str] = {}
    ready: Ready
    #: The name of a signal, without SIG.
    stop_signal: str = "TERM"
    #: How long it may take to end before it is killed.
    stop_s: float = 10.0


class Driver(_Strict, frozen=True, kw_only=True):
    """The load generator, on another host of the network: it is not what is measured."""

    command: tuple[str, ...]
    environment: dict[str, str] = {}
    #: CPUs of its own, where the machine has as many beyond those of the services.
    cpus: int = 1
    #: A load generator that others use for these services; None: it is this one.
    stands_for: str | None = None
    #: ``open``: requests come at a rate, however long answers take. ``closed``: each of a number
    #: of users waits for an answer before the next request.
    load: Literal["open", "closed"]
    #: Requests per second (open) and number of users (closed), with placeholders.
    rate: str | None = None
    users: str | None = None
    #: File that the load generator writes, with a row per request.
    results: str
    format: Literal["requests", "jmeter"] = "requests"
    #: An expression in its standard output, whose last match's group is how many requests it
    #: counted itself.
    count: str | None = None
    #: The largest share of failed requests, with placeholders.
    errors: str = "1 %"
    #: Of an open load: the least share of the rate.
    reached: float = 0.99
    within_s: float = 600.0


class Tasks(_Strict, frozen=True, kw_only=True):
    """What a distributed job leaves of its tasks."""

    #: A file or directory, with placeholders.
    results: str
    format: Literal["tasks", "spark"] = "tasks"


class Needs(_Strict, frozen=True, kw_only=True):
    """The least that a size must give, and whether the CPU must be a real one."""

    cores: float | None = None
    memory_bytes: int | None = None
    #: Why it cannot be measured on an emulated CPU; None: it can.
    native: str | None = None
    #: Whether each instance has a writable folder on a disk.
    disk: bool = False


class Application(_Strict, frozen=True, kw_only=True):
    """What an ``application.toml`` says."""

    name: str
    question: str
    source: str | None = None
    #: What it uses most; None: it declares nothing.
    intensive: Intensity | None = None
    #: Absolute path of its folder.
    folder: str
    #: SHA-256 of ``application.toml`` and of the files that it names.
    digest: Sha256
    image: Image
    #: Commands that run once, in order, in the image; what they leave in ``/data`` is a layer.
    prepare: tuple[tuple[str, ...], ...] = ()
    #: What a trial executes, with the services if there are any; None: something drives these.
    command: tuple[str, ...] | None = None
    environment: dict[str, str] = {}
    #: Of a command that runs tasks on several hosts; None: it leaves nothing of them.
    tasks: Tasks | None = None
    needs: Needs = Needs()
    #: Commands that run before the services of each trial, in none of its times.
    reset: tuple[tuple[str, ...], ...] = ()
    #: In the order in which they start.
    services: tuple[Service, ...] = ()
    driver: Driver | None = None
    metrics: tuple[ApplicationMetric, ...] = ()
    check: Check = Check()
    parameters: tuple[Parameter, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts that may hold placeholders, but for those of the command."""
        driver = () if self.driver is None else (self.driver,)
        programs: tuple[Service | Driver, ...] = (*self.services, *driver)
        return (
            *(word for command in self.reset for word in command),
            *(word for one in programs for word in one.command),
            *(text for one in programs for text in one.environment.values()),
            *(one.ready.http or "" for one in self.services),
            *(word for one in self.services for word in one.ready.command or ()),
            *(text for one in driver for text in (one.rate or "", one.users or "", one.errors)),
            "" if self.tasks is None else self.tasks.results,
        )

    @property
    def spans_hosts(self) -> bool:
        """Whether services on the hosts of a network do what its command asks of them."""
        return bool(self.services) and self.driver is None
