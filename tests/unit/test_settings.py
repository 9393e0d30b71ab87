"""Settings as a lease: saved first, verified, put back to what they were, whatever happens."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from said import args
from trees import grow

from tare.errors import ExperimentError, PlatformError
from tare.host import lease, settings
from tare.host.kernel_files import KernelFiles, cpu_list, cpus
from tare.host.settings import restore
from tare.render import words
from tare.results.message import message

FREQUENCY = "/sys/devices/system/cpu/cpu{}/cpufreq/{}"
TURBO = "/sys/devices/system/cpu/intel_pstate/no_turbo"
BOOT = "/proc/sys/kernel/random/boot_id"
SWAPPINESS = "/proc/sys/vm/swappiness"

#: Holds settings of a machine that was written down, as a process that can be killed.
HOLDER = """
import sys, time
from pathlib import Path
from tare.host import lease, settings
from tare.host.kernel_files import KernelFiles
lease._folders = lambda: [Path(sys.argv[1])]
wanted = dict(word.split("=") for word in sys.argv[3:])
with settings.hold(wanted, kernel=KernelFiles(Path(sys.argv[2]))):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "leases").mkdir()
    monkeypatch.setattr(lease, "_folders", lambda: [tmp_path / "leases"])
    return tmp_path


@pytest.fixture
def server(state: Path) -> KernelFiles:
    return grow("intel_server", state)


def files(kernel: KernelFiles) -> dict[str, str]:
    """Return every file of a machine that is a setting's."""
    return {
        str(path): path.read_text().strip()
        for path in kernel.root.rglob("*")
        if path.is_file() and ("cpufreq" in str(path) or "/sys/" in str(path))
    }


def notes(state: Path) -> list[str]:
    return [path.name for path in (state / "leases").glob("tare-*")]


def start(state: Path, kernel: KernelFiles, *wanted: str) -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", HOLDER, str(state / "leases"), str(kernel.root), *wanted]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


@pytest.fixture
def holder(state: Path, server: KernelFiles) -> Iterator[subprocess.Popen[str]]:
    with start(state, server, "governor=performance", "swappiness=0") as process:
        yield process
        process.kill()


def test_what_is_held_is_set_and_put_back(state: Path, server: KernelFiles) -> None:
    before = files(server)
    wanted = {
        "governor": "performance",
        "turbo": "off",
        "huge_pages": "never",
        "address_randomization": "off",
        "numa_balancing": "off",
    }
    with settings.hold(wanted, kernel=server) as held:
        assert {c.setting: (c.was, c.now) for c in held.changes} == {
            "governor": ("powersave", "performance"),
            "turbo": ("on", "off"),
            "huge_pages": ("always", "never"),
            "address_randomization": ("on", "off"),
            "numa_balancing": ("on", "off"),
        }
        assert server.read(TURBO) == "1"
        assert {server.read(FREQUENCY.format(n, "scaling_governor")) for n in range(4)} == {
            "performance"
        }
        assert len(notes(state)) == 2
    # The file of huge pages brackets what is chosen; a plain file cannot.
    after = {name: text for name, text in files(server).items() if "hugepage" not in name}
    assert after == {name: text for name, text in before.items() if "hugepage" not in name}
    assert server.value("/sys/kernel/mm/transparent_hugepage/enabled") == "always"
    assert notes(state) == []


def test_each_cpu_gets_back_what_it_had(state: Path) -> None:
    laptop = grow("amd_laptop", state)
    with settings.hold({"governor": "performance"}, kernel=laptop) as held:
        assert held.changes[0].was == "powersave and performance"
    assert laptop.read(FREQUENCY.format(0, "scaling_governor")) == "powersave"
    assert laptop.read(FREQUENCY.format(1, "scaling_governor")) == "performance"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_it_is_put_back_after_an_exception(
    state: Path, server: KernelFiles, error: type[BaseException]
) -> None:
    with pytest.raises(error), settings.hold({"turbo": "off"}, kernel=server):
        raise error
    assert server.read(TURBO) == "0"
    assert notes(state) == []


def test_what_cannot_be_had_is_refused_before_anything_changes(
    state: Path, server: KernelFiles
) -> None:
    before = files(server)
    wanted = {"turbo": "off", "governor": "ondemand"}
    with (
        pytest.raises(ExperimentError, match="governor cannot be 'ondemand'") as told,
        settings.hold(wanted, kernel=server),
    ):
        pass
    assert (told.value.hint or "").endswith(": performance, powersave")
    assert files(server) == before
    assert notes(state) == []


def test_of_all_that_would_be_good_the_rest_is_held(state: Path) -> None:
    machine = grow("cloud_vm", state)
    wanted = {"governor": "performance", "autogroup": "on"}
    with settings.hold(wanted, tolerant=True, kernel=machine) as held:
        assert [change.setting for change in held.changes] == ["autogroup"]
        (left,) = held.left_out
        assert left.why.endswith(
            words.text(message("no cpufreq directory: the hypervisor controls the frequency"))
        )


def test_without_anything_to_hold_nothing_is_noted(state: Path) -> None:
    with settings.hold({}, kernel=grow("container", state)) as held:
        assert held.changes == ()
        assert notes(state) == []


def test_what_does_not_stay_is_no_success(
    state: Path, server: KernelFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = KernelFiles.write

    def stubborn(self: KernelFiles, name: str, text: str) -> None:
        if name != TURBO:
            write(self, name, text)

    monkeypatch.setattr(KernelFiles, "write", stubborn)
    with (
        pytest.raises(PlatformError, match="turbo is on although off was written"),
        settings.hold({"swappiness": "1", "turbo": "off"}, kernel=server),
    ):
        pass
    assert server.read(SWAPPINESS) == "60"
    assert notes(state) == []


def test_a_second_tare_is_refused_what_the_first_holds(
    state: Path, server: KernelFiles, holder: subprocess.Popen[str]
) -> None:
    with (
        pytest.raises(PlatformError, match=f"governor is held .* process {holder.pid}"),
        settings.hold({"governor": "powersave"}, kernel=server),
    ):
        pass
    with settings.hold({"turbo": "off"}, kernel=server):
        assert server.read(TURBO) == "1"
    assert server.read(SWAPPINESS) == "0"


def test_what_a_holder_starts_nests(state: Path, server: KernelFiles) -> None:
    with settings.hold({"swappiness": "10"}, kernel=server):
        with settings.hold({"swappiness": "20"}, kernel=server) as inner:
            assert inner.changes[0].was == "10"
            assert server.read(SWAPPINESS) == "20"
        assert server.read(SWAPPINESS) == "10"
    assert server.read(SWAPPINESS) == "60"


def test_cleanup_puts_back_what_a_killed_holder_left(
    state: Path, server: KernelFiles, holder: subprocess.Popen[str]
) -> None:
    assert restore.remnants(server)
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert server.read(SWAPPINESS) == "0"
    (left,) = restore.remnants(server)
    assert [one.args for one in args(left.what, "of {settings | join(', ')}")["settings"]] == [
        {"setting": "governor", "was": ["scaling_governor powersave"]},
        {"setting": "swappiness", "was": ["swappiness 60"]},
    ]
    left.remove()
    assert server.read(SWAPPINESS) == "60"
    assert server.read(FREQUENCY.format(3, "scaling_governor")) == "powersave"
    assert restore.remnants(server) == []


def test_whoever_comes_next_puts_back_first(
    state: Path, server: KernelFiles, holder: subprocess.Popen[str]
) -> None:
    holder.kill()
    holder.wait()
    with settings.hold({"swappiness": "5"}, kernel=server) as held:
        assert held.changes[0].was == "60"
        assert server.read(FREQUENCY.format(0, "scaling_governor")) == "powersave"
    assert server.read(SWAPPINESS) == "60"
    assert notes(state) == []


def test_a_terminated_holder_puts_back_by_itself(state: Path, server: KernelFiles) -> None:
    with start(state, server, "swappiness=0") as process:
        process.send_signal(signal.SIGINT)
        process.wait()
    assert server.read(SWAPPINESS) == "60"
    assert notes(state) == []


def test_the_last_of_two_dead_goes_first(state: Path, server: KernelFiles) -> None:
    def note(name: str, since: float, was: str) -> None:
        restore._write(
            restore.Kept(
                name=name,
                pid=1,
                boot_id=server.read(BOOT),
                since=since,
                wanted={"swappiness": "1"},
                saved={"swappiness": {SWAPPINESS: was}},
            )
        )

    note("tare-00000a", 1.0, "60")
    note("tare-00000b", 2.0, "10")
    server.write(SWAPPINESS, "1")
    for left in restore.remnants(server):
        left.remove()
    assert server.read(SWAPPINESS) == "60"


@pytest.mark.parametrize("step_s", [-3600.0, 3600.0])
def test_the_order_is_not_of_the_time_of_day(
    state: Path, server: KernelFiles, monkeypatch: pytest.MonkeyPatch, step_s: float
) -> None:
    units = {"swappiness": settings.units()["swappiness"]}
    now = time.time()
    was = server.read(SWAPPINESS)
    # As if the first still lived when the second changed what it had changed.
    monkeypatch.setattr(restore, "_put_back_dead", lambda kernel: None)
    for name, at, value in (("tare-00000a", now, "10"), ("tare-00000b", now + step_s, "1")):
        monkeypatch.setattr("time.time", lambda at=at: at)
        restore.keep(name, server, units, {"swappiness": value})
        server.write(SWAPPINESS, value)
    for left in restore.remnants(server):
        left.remove()
    assert server.read(SWAPPINESS) == was


def test_after_a_reboot_there_is_nothing_to_put_back(
    state: Path, server: KernelFiles, holder: subprocess.Popen[str]
) -> None:
    holder.kill()
    holder.wait()
    server.write(BOOT, "99999999-2222-3333-4444-555555555555")
    server.write(SWAPPINESS, "33")
    (left,) = restore.remnants(server)
    left_over = args(left.what, "put back (")
    assert left_over == {"settings": ["governor", "swappiness"]}
    left.remove()
    assert server.read(SWAPPINESS) == "33"
    assert notes(state) == [f"{left.name}.lease"]


def test_what_cannot_be_put_back_is_kept_and_told(
    state: Path, server: KernelFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = KernelFiles.write

    def refuse(self: KernelFiles, name: str, text: str) -> None:
        if text == "60":
            raise OSError(16, "Device or resource busy")
        write(self, name, text)

    monkeypatch.setattr(KernelFiles, "write", refuse)
    with (
        pytest.raises(PlatformError, match=r"swappiness to '60' \(Device or resource busy\)"),
        settings.hold({"swappiness": "0", "turbo": "off"}, kernel=server),
    ):
        pass
    assert server.read(TURBO) == "0"
    assert len(notes(state)) == 2
    monkeypatch.undo()
    monkeypatch.setattr(lease, "_folders", lambda: [state / "leases"])
    restore.remnants(server)[0].remove()
    assert server.read(SWAPPINESS) == "60"


def test_files_that_depend_on_each_other_are_put_back_in_any_order(
    state: Path, server: KernelFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As intel_pstate does: no preference but performance while that is the governor."""
    write = KernelFiles.write

    def dependent(self: KernelFiles, name: str, text: str) -> None:
        governor = self.read(FREQUENCY.format(0, "scaling_governor"))
        if "energy" in name and text != "performance" and governor == "performance":
            raise OSError(16, "Device or resource busy")
        write(self, name, text)

    monkeypatch.setattr(KernelFiles, "write", dependent)
    before = files(server)
    wanted = {"governor": "performance", "energy_preference": "performance"}
    with settings.hold(wanted, kernel=server):
        pass
    assert files(server) == before


def test_what_was_saved_damaged_is_no_crash(state: Path, server: KernelFiles) -> None:
    (state / "leases" / "tare-00000a.settings").write_text("{")
    assert restore.remnants(server) == []


def test_interrupts_go_where_they_are_sent_and_back(state: Path, server: KernelFiles) -> None:
    with settings.hold({"interrupts": "0"}, kernel=server):
        assert server.read("/proc/irq/31/smp_affinity_list") == "0"
        assert server.read("/proc/irq/32/smp_affinity_list") == "0"
    assert server.read("/proc/irq/31/smp_affinity_list") == "0-3"
    assert server.read("/proc/irq/32/smp_affinity_list") == "1"


@pytest.mark.parametrize("wanted", ["", "7", "x"])
def test_interrupts_go_to_cpus_that_are_there(server: KernelFiles, wanted: str) -> None:
    with pytest.raises(ExperimentError):
        settings.units()["interrupts"].check(server, wanted)


@pytest.mark.parametrize("wanted", ["", "0-3", "9", "x"])
def test_some_cpus_are_left_for_everybody_else(server: KernelFiles, wanted: str) -> None:
    with pytest.raises(ExperimentError):
        settings.units()["isolation"].check(server, wanted)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("0-3,8", (0, 1, 2, 3, 8)),
        ("", ()),
        ("5", (5,)),
        ("x", ()),
        ("0-99999999999", ()),
        ("²", ()),
    ],
)
def test_lists_of_cpus(text: str, numbers: tuple[int, ...]) -> None:
    assert cpus(text) == numbers
    if numbers:
        assert cpu_list(numbers) == text


def test_irqbalance_waits_and_goes_on(tmp_path: Path) -> None:
    program = tmp_path / "irqbalance"
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    unit, kernel = settings.units()["interrupts"], KernelFiles()
    with subprocess.Popen([program, "60"]) as daemon:
        try:
            name = f"/proc/{daemon.pid}"
            while kernel.read(f"{name}/comm") != "irqbalance":
                time.sleep(0.001)
            assert unit.save(kernel, "tare-0123ab")[name] == "running"
            unit.put(kernel, name, "stopped")
            while unit.now(kernel, name) != "stopped":
                time.sleep(0.001)
            unit.put(kernel, name, "running")
            while unit.now(kernel, name) != "running":
                time.sleep(0.001)
        finally:
            daemon.kill()
    # Nothing is to be done to one that has ended.
    assert unit.now(kernel, name) == "running"


class Groups(KernelFiles):
    """Control groups of version 2, as far as they are asked for."""

    said = "isolated"

    def write(self, name: str, text: str) -> None:
        path = self.path(name)
        if name.endswith("cgroup.subtree_control"):
            words = set((self.read(name) or "").split())
            words = words | {text[1:]} if text[0] == "+" else words - {text[1:]}
            path.write_text(" ".join(sorted(words)))
        elif name.endswith("cpuset.cpus.partition"):
            path.write_text(self.said)
            self.path("/sys/fs/cgroup/cpuset.cpus.isolated").write_text("1,3")
        elif name.endswith("cgroup.procs"):
            return
        else:
            path.write_text(text)

    def path(self, name: str) -> Path:
        return Group(super().path(name))


class Group(type(Path())):  # type: ignore[misc]
    """A folder whose files go with it."""

    def rmdir(self) -> None:
        shutil.rmtree(self)


def test_a_cpu_is_isolated_and_given_back(state: Path) -> None:
    kernel = Groups(grow("intel_server", state).root)
    root = "/sys/fs/cgroup"
    with settings.hold({"isolation": "1,3"}, kernel=kernel) as held:
        group = f"{root}/{held.name}-isolated"
        assert held.changes[0].now == "1,3"
        assert kernel.read(f"{group}/cpuset.cpus") == "1,3"
        assert "cpuset" in (kernel.read(f"{root}/cgroup.subtree_control") or "")
    assert not kernel.exists(group)
    assert kernel.read(f"{root}/cgroup.subtree_control") == "cpu memory pids"
    assert notes(state) == []


def test_a_partition_that_is_invalid_is_told_in_the_kernels_words(state: Path) -> None:
    kernel = Groups(grow("intel_server", state).root)
    kernel.said = "isolated invalid (Cpu list in cpuset.cpus not exclusive)"
    with (
        pytest.raises(PlatformError, match="not exclusive"),
        settings.hold({"isolation": "1"}, kernel=kernel),
    ):
        pass
    assert kernel.read("/sys/fs/cgroup/cgroup.subtree_control") == "cpu memory pids"
    assert notes(state) == []
