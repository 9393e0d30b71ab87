"""What the doctor says of machines that were written down: judged as expected, never guessed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from trees import MACHINES, grow, seen

from tare.features.machine.doctor import checks, examination
from tare.features.machine.doctor.checks.noise import period
from tare.host.check import PURPOSES
from tare.host.kernel_files import KernelFiles
from tare.host.view import CpuNoise, Noise, Snapshot, View
from tare.results.message import Amount, Duration, Message, message

#: By machine: what fails, and what is warned of. All the rest is ok or unknown.
EXPECTED = {
    "intel_server": (
        {
            "governor", "turbo", "energy_preference", "idle_states", "smt", "numa_balancing",
            "huge_pages", "interrupts", "cgroups", "perf",
        },
        {"swappiness", "autogroup", "isolation", "watchdog"},
    ),
    "amd_laptop": (
        {
            "clock", "governor", "turbo", "energy_preference", "thermal", "address_randomization",
            "swappiness", "ksm", "memory_pressure", "mitigations", "load", "disk",
        },
        {"isolation"},
    ),
    "cloud_vm": (
        {"virtualization", "limits", "mitigations"},
        {"steal", "smt", "isolation", "perf", "load"},
    ),
    "container": (set(), {"virtualization"}),
    "arm_board": ({"cores", "governor"}, set()),
}  # fmt: skip


def told(machine: str, root: Path) -> dict[str, Any]:
    return examination.examine(seen(machine, root)).diagnoses


@pytest.mark.parametrize("machine", MACHINES)
def test_a_machine_is_judged_as_expected(machine: str, tmp_path: Path) -> None:
    found = told(machine, tmp_path)
    bad, notes = EXPECTED[machine]
    assert {name for name, one in found.items() if one.verdict == "fail"} == bad
    assert {name for name, one in found.items() if one.verdict == "warn"} == notes


@pytest.mark.parametrize("machine", MACHINES)
def test_what_is_bad_says_for_what_why_how_much_and_from_where(
    machine: str, tmp_path: Path
) -> None:
    for one in told(machine, tmp_path).values():
        assert set(one.purposes) <= set(PURPOSES)
        if one.verdict == "fail":
            assert one.purposes
            assert one.why
            assert one.effect
        if one.verdict in ("ok", "unknown"):
            assert not one.purposes
            assert not one.fix


def test_without_any_file_nothing_is_said_to_be_good_or_bad(tmp_path: Path) -> None:
    report = examination.examine(View(kernel=KernelFiles(tmp_path)))
    assert {one.verdict for one in report.diagnoses.values()} == {"unknown"}
    assert report.unfit() == {}


@pytest.mark.parametrize("machine", MACHINES)
def test_files_full_of_nonsense_are_no_crash(machine: str, tmp_path: Path) -> None:
    kernel = grow(machine, tmp_path)
    for path in list(kernel.root.rglob("*")):
        if path.is_file() and path.name not in ("mounts", "cgroup"):
            path.write_bytes(b"\xff\x00 nonsense: -\n")
    examination.examine(View(kernel=kernel))


@pytest.mark.parametrize(
    ("file", "text"),
    [("stat", "cpu  1 nan 3\n \ncpu0\n"), ("900/stat", f"900 (a b) {'x ' * 40}"), ("vmstat", "")],
)
def test_counters_of_no_kernel_are_left_out(file: str, text: str, tmp_path: Path) -> None:
    kernel = grow("amd_laptop", tmp_path)
    (kernel.root / "proc" / file).write_text(text)
    snapshot = Snapshot.take(kernel, 1.0)
    examination.examine(View(kernel=kernel, before=snapshot, after=replace(snapshot, seconds=2.0)))


def test_a_virtual_machine_hides_its_frequency(tmp_path: Path) -> None:
    found = told("cloud_vm", tmp_path)
    for name in ("governor", "turbo", "energy_preference"):
        assert found[name].verdict == "unknown"
        why = "no cpufreq directory: the hypervisor controls the frequency"
        assert found[name].value == message("{why}", why=why)
    assert found["virtualization"].value == message("virtual machine")
    cpus, memory = found["limits"].value.args["limits"]
    assert cpus == message("{cpus} CPUs", cpus="1.5")
    assert memory == message("{bytes} of memory", bytes=Amount(2 << 30, "bytes"))


def test_steal_is_counted_while_all_cpus_are_wanted(tmp_path: Path) -> None:
    view = seen("cloud_vm", tmp_path)
    assert view.after is not None
    idle = examination.examine(view).diagnoses["steal"]
    assert idle.value.args["now"] is None
    user, *most = view.after.ticks["cpu"]
    busy = replace(view.after, ticks={"cpu": (user + 2000, *most[:6], most[6] + 100, *most[7:])})
    found = examination.examine(replace(view, listened=busy)).diagnoses["steal"]
    assert found.verdict == "fail"
    assert found.value.args["now"] == Amount(pytest.approx(0.05, abs=0.001), "share")


def test_what_even_root_may_not_change_is_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = seen("intel_server", tmp_path)
    report = examination.examine(view)
    here = examination.attainable(report, view.kernel).fixes()
    monkeypatch.setattr(view.kernel, "may_write", lambda name: "/proc/sys" not in name)
    monkeypatch.setattr(view.kernel, "is_read_only", lambda name: "/proc/sys" in name)
    left = examination.attainable(report, view.kernel).fixes()
    gone = {"numa_balancing", "swappiness", "autogroup", "watchdog"}
    assert set(here) - set(left) == gone


def test_load_of_other_containers_is_said_to_be_elsewhere(tmp_path: Path) -> None:
    view = seen("amd_laptop", tmp_path)
    assert view.after is not None
    load = examination.examine(replace(view, after=replace(view.after, processes={})))
    assert load.diagnoses["load"].value.args["unseen"]
    assert load.diagnoses["load"].change == message(
        "end it, or wait: top{% if unseen %}, on its host{% endif %}", unseen=True
    )


def test_what_is_typed_is_never_what_a_process_is_called(tmp_path: Path) -> None:
    view = seen("amd_laptop", tmp_path)
    assert view.after is not None
    named = {
        pid: replace(one, name="x; reboot") if one.name == "Web Content" else one
        for pid, one in view.after.processes.items()
    }
    load = examination.examine(replace(view, after=replace(view.after, processes=named)))
    assert load.diagnoses["load"].change == message(
        "end it, or wait: pgrep -a {program}", program="'x; reboot'"
    )


@pytest.mark.parametrize(
    ("line", "machine", "change"),
    [
        (
            "quiet mitigations=off nospectre_v2",
            "cloud_vm",
            message("boot without {words | join(' ')}", words=["mitigations=off", "nospectre_v2"]),
        ),
        (
            "mitigations=auto",
            "cloud_vm",
            message(
                "ask the host's owner for newer microcode that its hypervisor shows, then reboot"
            ),
        ),
        (
            "mitigations=auto",
            "amd_laptop",
            message(
                "update kernel and microcode (apt install amd64-microcode intel-microcode), reboot"
            ),
        ),
    ],
)
def test_what_closes_a_leak_is_what_opened_it(
    line: str, machine: str, change: Message, tmp_path: Path
) -> None:
    kernel = grow(machine, tmp_path)
    (kernel.root / "proc/cmdline").write_text(line)
    found = examination.examine(View(kernel=kernel)).diagnoses["mitigations"]
    assert found.change == change


def test_who_may_use_one_cpu_only_has_no_room_for_two_workers(tmp_path: Path) -> None:
    kernel = grow("intel_server", tmp_path)
    status = kernel.root / "proc/self/status"
    kept = [one for one in status.read_text().splitlines() if "Cpus_allowed" not in one]
    status.write_text("\n".join([*kept, "Cpus_allowed_list:\t0"]))
    found = examination.examine(View(kernel=kernel)).diagnoses["cores"]
    assert (found.verdict, found.purposes) == ("warn", ("parallel",))


def test_without_a_watch_no_rate_is_good(tmp_path: Path) -> None:
    found = examination.examine(View(kernel=grow("intel_server", tmp_path))).diagnoses
    assert found["interrupts"].verdict == "unknown"


def test_who_makes_the_load_is_named(tmp_path: Path) -> None:
    load = told("amd_laptop", tmp_path)["load"]
    share = Amount(pytest.approx(0.9), "share")
    assert load.value.args["users"] == [message("{name} {share}", name="Web Content", share=share)]


def test_interrupts_are_counted_by_cpu_and_device(tmp_path: Path) -> None:
    assert told("intel_server", tmp_path)["interrupts"].value.args == {
        "rates": [
            message("{hz} a second on CPU {cpu}", hz=4000, cpu="0"),
            message("{hz} a second on CPU {cpu}", hz=10, cpu="1"),
        ],
        "devices": ["eth0-TxRx-0", "nvme0q1"],
        "balanced": True,
    }


def test_what_the_kernel_distrusts_is_said_in_its_words(tmp_path: Path) -> None:
    clock = told("amd_laptop", tmp_path)["clock"]
    assert "TSC unstable" in clock.why.args["alarm"].args["line"]
    # The kernel has gone over to a slower source: that is what it costs.
    assert clock.effect == message(
        "a reading takes 20 ns from the TSC, about 1 µs from hpet or acpi_pm"
    )
    assert clock.change == message(
        "update firmware and kernel; compare with another clock before any result"
    )


def test_a_purpose_is_spoken_against_by_what_is_bad_for_it(tmp_path: Path) -> None:
    report = examination.examine(seen("arm_board", tmp_path))
    assert report.unfit() == {
        "times": ["cores", "governor"],
        "speed": ["cores", "governor"],
        "parallel": ["cores"],
    }
    assert set(report.fit()) | set(report.unfit()) == set(PURPOSES)
    assert report.fixes() == {"governor": "performance"}


def test_a_full_disk_is_bad(tmp_path: Path) -> None:
    view = replace(seen("intel_server", tmp_path), room={"/tmp": 1 << 20})
    assert examination.examine(view).diagnoses["disk"].verdict == "fail"


@pytest.mark.parametrize(
    ("period_ns", "named"),
    [
        (4e6, message("at {hz} Hz, the timer's tick", hz=250)),
        (1e6, message("at {hz} Hz, the timer's tick", hz=1000)),
        (5e6, message("at {hz} Hz, not the timer's tick: another task or a device", hz=200)),
        (2e9, message("every {period}", period=Duration(2.0))),
    ],
)
def test_a_period_is_told_by_what_it_means(period_ns: float, named: Message) -> None:
    assert period(period_ns) == named


@pytest.mark.parametrize(("lost", "verdict"), [(0.001, "ok"), (0.05, "fail")])
def test_noise_is_judged_by_the_cpu_that_lost_most(
    tmp_path: Path, lost: float, verdict: str
) -> None:
    def of(cpu: int, share: float) -> CpuNoise:
        return CpuNoise(
            cpu=cpu, lost=share, median_ns=3e3, longest_ns=5e4, rate_hz=260.0, period_ns=4e6
        )

    noise = Noise(cpus=(of(0, 0.0005), of(1, lost)))
    view = replace(seen("intel_server", tmp_path), noise=noise)
    found = examination.examine(view).diagnoses["noise"]
    assert found.verdict == verdict
    if verdict == "fail":
        # The only one of its causes that is not ok on that machine.
        title = checks.units()["interrupts"].description.title
        assert found.change == message(
            "{% if checks %}see {checks | listing}; try again when it is quieter{% else %}"
            "try again later (cause unknown: load, interrupts and steal show none)"
            "{% endif %}",
            checks=[title],
        )
    assert found.value.args["cpus"][1].args["period"] == message(
        "at {hz} Hz, the timer's tick", hz=250
    )


def test_counters_of_a_moment_are_those_of_the_files(tmp_path: Path) -> None:
    snapshot = Snapshot.take(grow("amd_laptop", tmp_path), 1.0)
    assert snapshot.processes[900].name == "Web Content"
    assert snapshot.processes[900].ticks == 2100
    assert snapshot.paging == {"pswpin": 100, "pswpout": 200}
    assert snapshot.throttled == 20
