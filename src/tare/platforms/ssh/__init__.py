"""Another machine, or a virtual one, that OpenSSH reaches: ``ssh:HOST``."""

from __future__ import annotations

import platform
import pwd
import re
import shutil
from collections.abc import Sequence

from tare.agent import client, record
from tare.agent.client import Channel
from tare.errors import ExperimentError, PlatformError, Typed
from tare.platforms import callers, nest
from tare.platforms.layer import Figure, Ground, Layer, Place, Told, View
from tare.platforms.ssh import connection
from tare.platforms.ssh.connection import Connection, Host
from tare.registry import Description, Parameter

#: What ssh may be given as a host: nothing that it or a shell would read as anything else. Ports,
#: keys and ways through other hosts are the matter of its configuration.
HOST = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}@)?[A-Za-z0-9_:][A-Za-z0-9_.:%-]{0,252}")
FOLDER = re.compile(r"/[A-Za-z0-9_.+/@-]{0,200}")
#: What the script itself uses beyond a shell.
TOOLS = ("head", "sha256sum", "uname")


class Ssh(Ground):
    """The agent, copied to a host, checked there, and removed at the end."""

    description = Description(
        name="ssh",
        title="another machine that OpenSSH reaches, written ssh:HOST",
        question="What does the workload take on another machine, a cloud's or a virtual one?",
        parameters=(
            Parameter(
                name="config",
                meaning="configuration of ssh, such as what `vagrant ssh-config` prints, "
                "in place of ~/.ssh/config",
            ),
            Parameter(
                name="folder",
                meaning="where the agent's directory is made on the host; "
                "programs must be executable there",
                default="/tmp",
            ),
            Parameter(name="options", meaning="further options of ssh", default=""),
        ),
        source="ssh(1), ssh_config(5)",
    )
    argument = "HOST"
    own_files = True
    network_end = "none"
    foreign = True
    shares_memory = False

    def __init__(self, host: str | None = None) -> None:
        self.host = host
        #: What the hosts of instances said of themselves, by the instance's name.
        self._hosts: dict[str, Host] = {}

    def named(self, argument: str) -> Layer:
        """Return a copy for one host."""
        if not HOST.fullmatch(argument):
            raise ExperimentError(
                f"{argument!r} is no host for ssh (a name, an address, or USER@ and either)",
                "give it a name in ~/.ssh/config, and write ssh:NAME",
            )
        return Ssh(argument)

    def check_here(self, place: Place) -> None:
        """See that a host is named, and ssh is there."""
        if self.host is None:
            raise PlatformError(
                "ssh alone names no host to measure on",
                "write ssh:HOST, where `ssh HOST true` asks nothing; or ssh:HOST/docker",
            )
        if shutil.which("ssh") is None:
            raise PlatformError("ssh is not installed", Typed("sudo apt install openssh-client"))
        folder = self.settings(place)["folder"]
        if not FOLDER.fullmatch(folder):
            raise ExperimentError(
                f"[platforms.ssh]: folder = {folder!r} is no plain absolute path",
                '[platforms.ssh] folder = "/tmp"',
            )

    def view(self, outer: View, place: Place) -> View:
        """Show the host's own files, and among them the directory of the instance."""
        here = f"{self.settings(place)['folder'].rstrip('/')}/{place.name}"
        shared = f"{here}/shared"
        return View(agent=f"{here}/tare-agent", shared=shared, scratch=here, users=False)

    def start(self, argv: list[str], place: Place, inner: Sequence[Layer]) -> Channel:
        """Copy the agent there and start it; everything ends with the connection."""
        assert self.host is not None
        if place.limited:
            # No layer inside applies the limits, so a control group around the agent does.
            inside = self.view(View(agent="", shared=""), place)
            argv = nest.around(argv, nest.Nest(group=nest.group(place)), inside, place)
        needs = (*TOOLS, *sorted({need for layer in inner for need in layer.needs}))
        settings = self.settings(place)
        if place.user is not None and str(settings["config"]).startswith("~/"):
            settings |= {"config": _home(place.user) + settings["config"][1:]}
        command = connection.command(self.host, place.name, settings, needs, argv)
        # ssh executes what its configuration and options name: those of who called sudo.
        command = [*callers.as_caller(View(agent="", shared="", host_files=True), place), *command]
        channel = Connection(command, self.host, place.name)
        try:
            host = channel.meet()
            _check(self.host, host)
            channel.copy(client.binary().read_bytes())
        except BaseException:
            channel.close()
            raise
        self._hosts[place.name] = host
        return channel

    def mend(self, said: str) -> str | None:
        """Explain what ssh, or the host, lacks."""
        host = self.host or "HOST"
        if (known := connection.mend(said, host)) is not None:
            return known
        missing = re.search(r"tare: there is no ([A-Za-z0-9_.+/-]+)", said)
        if missing:
            return f"install {missing[1]} on {host}   (`ssh {host} command -v {missing[1]}`)"
        return None

    def facts(self, place: Place) -> tuple[Told, ...]:
        """Tell which machine it was."""
        host = self._hosts[place.name]
        return (
            ("remote_host", host.name, None, "uname"),
            ("remote_kernel", host.kernel, None, "uname"),
        )

    def ended(self, place: Place) -> list[Figure]:
        """Forget its host."""
        self._hosts.pop(place.name, None)
        return []


def _home(user: record.User) -> str:
    try:
        return pwd.getpwuid(user.uid).pw_dir
    except KeyError:
        return "/"


def _check(asked: str, host: Host) -> None:
    """Raise PlatformError where the agent cannot run there."""
    ours = platform.machine()
    if host.system != "Linux":
        raise PlatformError(
            f"{asked} is {host.system}, and the agent needs Linux",
            "name a host with Linux, such as a virtual machine on it",
        )
    if host.machine != ours:
        raise PlatformError(
            f"{asked} is {host.machine}, and the agent that was built here is for {ours}",
            f"name a host with {ours}, or install tare on {asked} and measure there",
        )


UNIT = Ssh()
