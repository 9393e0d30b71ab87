"""Programs that attack what measures them: nothing of the host is reached from inside a layer."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import cli
import pytest

import tare
from tare import platforms

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root has something to lose to others"),
]

SOURCE = Path(__file__).parent / "attacks" / "attack.c"
#: Who called sudo, as far as tare knows: nobody that this machine has.
CALLER = 54321
SECRET = "what only root may read"
IMAGE = "tare-test-attacked"
KEY = "tare-attacked"
#: Where output is kept, in the folder of results.
KEPT = "output/{trial}.{worker}.{iteration}.out"
#: Numbers of system calls, and of what keyctl does.
ADD_KEY, KEYCTL = {"x86_64": 248, "aarch64": 217}, {"x86_64": 250, "aarch64": 219}
REVOKE, USERS_KEYRING = 3, -4

#: Where a program is the caller's, and where it is root of something of its own.
AS_CALLER = ("bare", "cgroup", "unshare", "bubblewrap")
AS_ROOT = ("bubblewrap", "runc", "crun", "nspawn", "podman", "gvisor", "docker", "isolate", "vm")
CASES = [*((stack, True) for stack in AS_CALLER), *((stack, False) for stack in AS_ROOT)]
#: One of namespaces and one of a container; `make nightly` tries the others.
QUICK = [("unshare", True), ("runc", False)]
#: What is no harm: on the machine itself its loopback is anybody's; systemd-nspawn hands on a
#: hierarchy of control groups that limits and counts nothing; a kernel of gVisor's is the sandbox's
#: own, and keeps nobody from looking into others of the same user; and in a machine of its own root
#: may do all that there is to do in that machine.
OPEN = {
    "bare": {"reach_the_network"},
    "cgroup": {"reach_the_network"},
    "nspawn": {"leave_its_control_groups"},
    "gvisor": {"look_into_the_agent", "change_the_hosts_kernel"},
    "vm": {
        "look_into_the_agent",
        "change_the_hosts_kernel",
        "change_the_agents_program",
        "make_what_is_shown_writable",
        "write_to_what_is_shown",
        "read_what_others_have",
        "leave_its_control_groups",
        "enter_other_namespaces",
        "watch_the_host",
    },
}
#: Where root may stop the first process: tare then waits for its time-out.
STOPPED = ("gvisor", "vm")
#: As many as the program knows.
ATTACKS = SOURCE.read_text().count('    {"')
#: Who may look into the agent may speak for it as well, which is not believed.
SPEAKING = "speak_for_the_agent"


@dataclass
class Host:
    """A program that attacks, and what of the host there is to be reached."""

    folder: Path
    program: Path
    victim: Path
    secrets: Path
    hidden: Path
    port: int

    @property
    def environment(self) -> dict[str, str]:
        disk = Path("/").stat().st_dev
        return {
            "VICTIM": str(self.victim),
            "FOLDER": str(self.secrets),
            "DISK": f"{os.major(disk)}:{os.minor(disk)}",
            "PORT": str(self.port),
            "HIDDEN": str(self.hidden),
            "KEY": KEY,
            "GHOST": self.ghost,
            "MARKER": "TAAAAAAABAAAAAA",
        }

    @property
    def ghost(self) -> str:
        return f"ghost-{os.getpid() % 100_000}"

    def check(self) -> None:
        """See that all of it is as it was."""
        found = self.victim.lstat()
        assert (stat.S_IMODE(found.st_mode), found.st_uid) == (0o600, 0)
        assert self.victim.read_text() == SECRET
        assert sorted(one.name for one in self.secrets.iterdir()) == ["a", "b", "c"]
        for path in ("/usr/attack", "/etc/attack", "/bin/attack", "/tare"):
            assert not Path(path).exists()
        assert socket.gethostname() != "attack"

    def haunted(self) -> list[str]:
        """Return what is left of processes that were to outlive the trial."""
        names = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and (entry / "comm").read_text().strip() == self.ghost:
                    names.append(entry.name)
        return names


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    listening = socket.create_server(("127.0.0.1", 0))
    # Where everybody may execute what is shown to him.
    folder = Path(tempfile.mkdtemp(prefix="attacked-", dir="/var/tmp"))
    folder.chmod(0o755)
    program = folder / "root" / "attack"
    program.parent.mkdir()
    subprocess.run(["gcc", "-O1", "-static", "-w", "-o", program, SOURCE], check=True)
    private = folder / "private"
    private.mkdir(mode=0o700)
    victim, secrets = private / "victim", private / "secrets"
    victim.touch(mode=0o600)
    victim.write_text(SECRET)
    secrets.mkdir(mode=0o700)
    for name in "abc":
        (secrets / name).write_text(SECRET)
    try:
        with for_root_alone() as hidden, a_key_of_root():
            yield Host(folder, program, victim, secrets, hidden, listening.getsockname()[1])
    finally:
        listening.close()
        shutil.rmtree(folder)
        if shutil.which("docker"):
            subprocess.run(["docker", "rmi", "--force", IMAGE], capture_output=True, check=False)


@contextlib.contextmanager
def for_root_alone() -> Iterator[Path]:
    """Make what every sandbox shows, since it is below /usr, and nobody but root may use."""
    folder = Path(tempfile.mkdtemp(prefix="attacked-", dir="/usr/local/lib"))
    folder.chmod(0o755)
    listening = socket.socket(socket.AF_UNIX)
    try:
        (folder / "file").touch(mode=0o600)
        (folder / "file").write_text(SECRET)
        os.mkfifo(folder / "pipe", mode=0o600)
        listening.bind(str(folder / "socket"))
        (folder / "socket").chmod(0o600)
        listening.listen()
        yield folder
    finally:
        listening.close()
        shutil.rmtree(folder)


@contextlib.contextmanager
def a_key_of_root() -> Iterator[None]:
    """Put a key into the keyring of root's user."""
    call = ctypes.CDLL(None, use_errno=True).syscall
    given = (b"user", KEY.encode(), SECRET.encode(), len(SECRET))
    key = call(ADD_KEY[os.uname().machine], *given, USERS_KEYRING)
    assert key > 0, os.strerror(ctypes.get_errno())
    try:
        yield
    finally:
        call(KEYCTL[os.uname().machine], REVOKE, key)


def measured(
    host: Host, stack: str, out: Path, workloads: dict[str, list[str]], *, as_caller: bool
) -> subprocess.CompletedProcess[str]:
    """Measure the program with some words each, one workload after the other, on one platform."""
    program = f"/{host.program.name}" if stack == "docker" else str(host.program)
    experiment = {
        "name": "attacked",
        "question": "What does it reach?",
        "trials": 1,
        "order": "sequential",
        "fingerprint": False,
        "linger": "100 ms",
        "instances": "own" if platforms.shares_memory(stack) else "shared",
    }
    text = ["[experiment]", *lines(experiment)]
    for name, words in workloads.items():
        workload = {"name": name, "command": [program, *words], "output": KEPT, "timeout": "30 s"}
        text += ["[[workload]]", *lines(workload)]
        text += ["[workload.environment]", *lines(host.environment)]
    text += ["[factors]", *lines({"platform": [stack], "workers": [2]})]
    if "docker" in stack:
        text += ["[platforms.docker]", *lines({"image": imported(host.program.parent)})]
    text += ["[platforms.isolate]", *lines({"extra": f"--dir={host.program.parent}"})]
    file = out.with_suffix(".toml")
    file.write_text("\n".join(text) + "\n")
    caller = {"SUDO_UID": str(CALLER), "SUDO_GID": str(CALLER)} if as_caller else {}
    done = cli.run(
        *["experiment", "run", str(file), "--out", str(out)],
        env={**os.environ, **caller},
        timeout=280,
        constants=cli.FAIL_ONCE,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def imported(folder: Path) -> str:
    """Make an image of a folder, and return its name."""
    archive = subprocess.run(["tar", "-C", folder, "-c", "."], check=True, capture_output=True)
    making = ["docker", "import", "-", IMAGE]
    subprocess.run(making, input=archive.stdout, check=True, capture_output=True)
    return IMAGE


def lines(table: Mapping[str, object]) -> list[str]:
    return [f"{key} = {json.dumps(value)}" for key, value in table.items()]


def has(stack: str) -> None:
    found = platforms.availability(stack)
    if not found.works:
        pytest.skip(f"{stack}: {found.why}")


@pytest.mark.parametrize(
    ("stack", "as_caller"),
    [pytest.param(*one, marks=[] if one in QUICK else pytest.mark.layers) for one in CASES],
)
def test_nothing_is_reached_from_inside(
    host: Host, stack: str, as_caller: bool, tmp_path: Path
) -> None:
    has(stack)
    out = tmp_path / "out"
    known = OPEN.get(stack, set())
    left_out = [SPEAKING] if "look_into_the_agent" in known else []
    workloads = {"all": ["all", *left_out], "kill": ["kill"], "multiply": ["multiply"]}
    if stack not in STOPPED:
        workloads |= {what: [what] for what in ("stop", "hold", "freeze")}
    workloads["after"] = ["nothing"]
    done = measured(host, stack, out, workloads, as_caller=as_caller)
    assert host.haunted() == []
    host.check()
    left = [path for path in Path("/sys/fs/cgroup").rglob("litter*") if path.is_dir()]
    assert left == []
    results = tare.open(out)
    attacks, kills, stops, after = (
        results.trials()[results.trials()["workload"] == name]
        for name in ("all", "kill", "stop", "after")
    )
    text = "".join(
        path.read_text(errors="replace")
        for number in attacks["trial"]
        for path in sorted(out.glob(f"output/{number}.*.out"))
    )
    tried = {line.partition(" ")[2] for line in text.splitlines() if line.startswith("tried ")}
    assert len(tried) == ATTACKS - len(left_out), (done.stderr, text)
    reached = [line for line in text.splitlines() if line.startswith("reached ")]
    assert [line for line in reached if line.split()[1].rstrip(":") not in known] == []
    # A sandbox's own kernel may not survive all that.
    assert set(attacks["status"]) == {"ok"} or stack in STOPPED, done.stderr
    # What it said for the agent was not heard: times are those of a program that tries all that.
    samples = results.samples()
    # While the other worker still runs, what goes on beside it may be cut at any time.
    samples = samples[samples["phase"] == "measured"]
    times = samples[samples["trial"].isin(attacks["trial"]) & (samples["metric"] == "wall_ns")]
    assert times["value"].min() > 1_000_000
    # Where it is the same user it may end the worker beside it. Then that trial fails, and the next
    # is good.
    if stack in ("bare", "cgroup"):
        assert set(kills["status"]) == set(stops["status"]) == {"ok"}
    assert set(after["status"]) == {"ok"}


@pytest.mark.parametrize("stack", ["gvisor", pytest.param("vm", marks=pytest.mark.layers)])
def test_who_speaks_for_the_agent_is_not_believed(host: Host, stack: str, tmp_path: Path) -> None:
    has(stack)
    out = tmp_path / "out"
    done = measured(host, stack, out, {"speak": [SPEAKING]}, as_caller=False)
    assert done.returncode == 15
    # In a guest it hits the stream, the memory in which the agent counts, or what the agent needs.
    assert stack != "gvisor" or "answers no job" in done.stderr
    samples = tare.open(out).samples()
    assert not ((samples["metric"] == "wall_ns") & (samples["value"] == 1)).any()


#: What another user of the machine does meanwhile: lays links wherever a session could make a file,
#: takes away and replaces what is there, and asks for what is handed out.
NEIGHBOUR = """
import os, socket, sys, time
memory, victim, secrets, user = "/dev/shm", *sys.argv[1:3], int(sys.argv[3])
os.setgroups([])
os.setresgid(user, user, user)
os.setresuid(user, user, user)
print("ready", flush=True)
while True:
    time.sleep(0.0005)
    for name in os.listdir(memory):
        if not name.startswith("tare-"):
            continue
        top = os.path.join(memory, name)
        for folder in (top, top + "/shared", top + "/output"):
            for number in range(1, 5):
                for old in ("rendezvous-%d", "meeting-%d", "%d.0.0.out"):
                    try:
                        os.symlink(victim, os.path.join(folder, old % number))
                        print("linked", folder, flush=True)
                    except OSError:
                        pass
            try:
                os.rename(folder, folder + ".away")
                os.symlink(secrets, folder)
                print("replaced", folder, flush=True)
            except OSError:
                pass
            try:
                found = os.listdir(folder)
            except OSError:
                continue
            for one in found:
                with socket.socket(socket.AF_UNIX) as asking:
                    try:
                        asking.settimeout(0.1)
                        asking.connect(os.path.join(folder, one))
                        asking.sendall(b"0" * 32 + b"\\n")
                        if asking.recv(1):
                            print("was handed", one, flush=True)
                    except OSError:
                        pass
"""


@pytest.mark.parametrize("as_caller", [pytest.param(False, marks=pytest.mark.layers), True])
def test_another_user_of_the_machine_is_in_nobodys_way(
    host: Host, as_caller: bool, tmp_path: Path
) -> None:
    given = [str(host.victim), str(host.secrets), str(CALLER + 1)]
    neighbour = subprocess.Popen(
        [sys.executable, "-c", NEIGHBOUR, *given], stdout=subprocess.PIPE, text=True
    )
    assert neighbour.stdout is not None
    try:
        assert neighbour.stdout.readline() == "ready\n"
        out = tmp_path / "out"
        done = measured(host, "bare", out, {"nothing": ["nothing"]}, as_caller=as_caller)
    finally:
        neighbour.kill()
        said = neighbour.stdout.read()
        neighbour.wait()
    # Others measure here, too: what concerns this session names it.
    (own,) = tare.open(out).sessions["name"]
    assert [line for line in said.splitlines() if own in line] == []
    assert done.returncode == 0, done.stderr
    host.check()
