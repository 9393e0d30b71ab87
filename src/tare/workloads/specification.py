"""A workload as it is asked for, before any factor has a level."""

from __future__ import annotations

import msgspec

from tare.streams import NULL, PIPE
from tare.units.bounded import Bytes, Count, Positive
from tare.workloads.application import Application


class Enforced(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one execution may take, all of its processes together; what takes more is killed."""

    cpu_s: Positive | None = None
    memory_bytes: Bytes | None = None
    #: Standard output and error together, and each file that it writes.
    output_bytes: Bytes | None = None
    #: Processes and threads at a time.
    processes: Count | None = None


class WorkloadSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One ``[[workload]]``: a kernel, a command, or an application with what it runs."""

    name: str
    kernel: str | None = None
    #: Parameters of the kernel, e.g. {"size": 65536}.
    parameters: dict[str, int] = {}
    #: Executions inside one timed region; None: found once, on bare, then frozen.
    repetitions: Count | None = None
    command: tuple[str, ...] | None = None
    #: What the command is of; it runs in the application's image.
    application: Application | None = None
    #: Values of the application's parameters.
    arguments: dict[str, bool | int | float | str] = {}
    #: The command is arguments of the agent, which every platform has; no file of the user is
    #: needed.
    of_agent: bool = False
    environment: dict[str, str] = {}
    #: Variables that the command gets from who calls tare: names, or patterns with ``*``. Few by
    #: default, since the size of the environment alone shifts a program's times.
    inherit: tuple[str, ...] = ("PATH", "HOME", "USER", "LANG", "TZ")
    #: Working directory; None: the platform's own.
    directory: str | None = None
    #: File to read as standard input; None: nothing.
    input: str | None = None
    #: Standard output and error: ``null``, ``pipe``, or the file in which they are kept.
    output: str = NULL
    #: Exit codes that are no failure besides 0; empty: all, and signals; None: none.
    ignore_failure: tuple[int, ...] | None = None
    #: Runs the lines below.
    shell: tuple[str, ...] = ("sh",)
    #: Lines for it on this machine, once before the first trial and after the last one.
    setup: str | None = None
    cleanup: str | None = None
    #: The same before and after every trial.
    prepare: str | None = None
    conclude: str | None = None
    timeout_s: Positive | None = None
    enforce: Enforced | None = None
    #: Trials of each of its cells, where these are fewer than those of the experiment.
    trials: Count | None = None

    @property
    def keeps_output(self) -> bool:
        """Whether what it writes is kept in a file."""
        return self.output not in (NULL, PIPE)

    @property
    def serves(self) -> bool:
        """Whether it is an application with services, which something drives."""
        return self.application is not None and self.application.driver is not None

    @property
    def spans_hosts(self) -> bool:
        """Whether it is an application with services on the hosts of a network."""
        return self.application is not None and self.application.spans_hosts

    @property
    def needs_network(self) -> bool:
        """Whether it takes place in a network, whether or not anything shapes that."""
        return self.serves or self.spans_hosts
