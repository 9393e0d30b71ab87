"""How busy a machine was: of files whose numbers are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from tare.experiment.fingerprints.machine import activity
from tare.experiment.fingerprints.machine.activity import Watch, busy, share
from tare.experiment.journal import Activity
from tare.host.kernel_files import KernelFiles


class Machine:
    """A machine of two CPUs, whose time passes when it is told."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.now_s = 100.0
        (root / "proc/pressure").mkdir(parents=True)
        monkeypatch.setattr(activity.time, "monotonic", lambda: self.now_s)
        monkeypatch.setattr(activity, "_TICK_S", 0.01)
        monkeypatch.setattr(activity.resource, "getrusage", self._use)
        self.own_s = 0.0
        self.pass_time()

    def _use(self, who: int) -> object:
        children = who == activity.resource.RUSAGE_CHILDREN
        return type("Use", (), {"ru_utime": self.own_s if children else 0.0, "ru_stime": 0.0})

    def pass_time(
        self,
        seconds: float = 0.0,
        *,
        user: int = 0,
        waiting: int = 0,
        steal: int = 0,
        own_s: float = 0.0,
        stalled_us: int = 0,
    ) -> None:
        """Let seconds pass, with ticks of all CPUs."""
        self.now_s += seconds
        self.own_s += own_s
        ticks = (1000 + user, 5, 200, 9000, 50 + waiting, 0, 10, 7 + steal, 300, 0)
        line = " ".join(map(str, ticks))
        (self.root / "proc/stat").write_text(f"cpu  {line}\ncpu0 {line}\ncpu1 {line}\nintr 1\n")
        (self.root / "proc/loadavg").write_text("1.50 1.00 0.50 1/100 1\n")
        for name in ("cpu", "memory", "io"):
            total = 10 + (stalled_us if name != "memory" else 0)
            (self.root / "proc/pressure" / name).write_text(
                f"some avg10=0.00 avg60=0.00 avg300=0.00 total={total}\nfull avg10=0.00 total=1\n"
            )


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def test_others_are_what_is_left_without_our_own(machine: Machine) -> None:
    watch = Watch(KernelFiles(machine.root))
    machine.pass_time(5.0, user=900, waiting=40, steal=50, own_s=4.0, stalled_us=1_000_000)
    assert watch.activity() == Activity(
        seconds=5.0, cpus=2, load_average=1.5, other_cpus=1.0, stolen_cpus=0.1,
        cpu_pressure=0.2, memory_pressure=0.0, io_pressure=0.2,
    )  # fmt: skip


def test_what_we_did_ourselves_is_no_disturbance(machine: Machine) -> None:
    watch = Watch(KernelFiles(machine.root))
    machine.pass_time(5.0, user=500, own_s=5.02)
    found = watch.activity()
    assert found.other_cpus == 0.0
    assert not busy(found)


def test_a_kernel_that_tells_nothing_is_not_called_busy(tmp_path: Path) -> None:
    found = Watch(KernelFiles(tmp_path)).activity()
    assert (found.cpus, found.load_average, found.other_cpus, found.cpu_pressure) == (None,) * 4
    assert not busy(found)


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        ({"other_cpus": 0.19}, False),
        ({"other_cpus": 0.21}, True),
        ({"other_cpus": 0.15, "stolen_cpus": 0.1}, True),
        ({"io_pressure": 0.2}, True),
        ({"memory_pressure": 0.2}, True),
        # Probes of context switches let their own processes wait for each other.
        ({"cpu_pressure": 0.9, "load_average": 9.0}, False),
    ],
)
def test_what_counts_as_busy(figures: dict[str, float], expected: bool) -> None:
    assert busy(Activity(seconds=5.0, cpus=2, **figures)) is expected


def test_of_many_cpus_a_few_are_little() -> None:
    assert share(Activity(seconds=5.0, cpus=64, other_cpus=3.2)) == pytest.approx(0.05)
