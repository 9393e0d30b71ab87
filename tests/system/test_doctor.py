"""The doctor on the real machine: what it holds, and that everything is put back.

Settings are held for moments only, since others may measure here.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import cli
import pytest
from cli import TARE

from tare.errors import TareError
from tare.host import lease, settings
from tare.host.kernel_files import KernelFiles
from tare.host.settings import restore
from tare.host.settings.setting import Setting
from tare.render import words
from tare.results.message import message

pytestmark = [pytest.mark.system, pytest.mark.machine]

ROOT = os.geteuid() == 0
SYSCTL = Path("/proc/sys")
#: What can be tried without anybody noticing.
HARMLESS = {
    "swappiness": "59",
    "autogroup": "off",
    "address_randomization": "off",
    "huge_pages": "never",
    "watchdog": "off",
    "idle_states": "0",
}

needs_root = pytest.mark.skipif(not ROOT, reason="only root may change settings")


def tare(*words: str, check: int | None = 0) -> subprocess.CompletedProcess[str]:
    done = cli.run(*words)
    if check is not None:
        assert done.returncode == check, done.stdout + done.stderr
    return done


def now() -> dict[str, str | None]:
    units: dict[str, Setting] = settings.units()
    kernel = KernelFiles()
    return {
        name: kernel.value(file)
        for unit in units.values()
        for name in [unit.description.name]
        for file in unit.names(kernel)[:1]
        if name != "idle_states"
    }


@pytest.fixture
def untouched() -> Iterator[dict[str, str | None]]:
    """Everything is as before, even where a test failed."""
    before = now()
    try:
        yield before
        assert now() == before
    finally:
        for left in restore.remnants():
            if not lease.sessions().get(left.name, False):
                left.remove()
                lease.forget(left.name)


def available(name: str) -> bool:
    try:
        settings.units()[name].check(KernelFiles(), HARMLESS[name])
    except TareError:
        return False
    return True


def sysctl_swappiness() -> str:
    return (SYSCTL / "vm/swappiness").read_text().strip()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--duration", "1h"], 11),
        (["--", "true"], 11),
        (["--fix", "nonsense"], 11),
        (["--fix", "swappiness=no"], 11),
        (["--fix", "swappiness=1", "--duration", "soon"], 10),
        (["--fix", "swappiness=1", "--duration", "1h", "--", "true"], 11),
        (["--noise-window", "0"], 10),
    ],
)
def test_what_makes_no_sense_is_refused(
    words: list[str], code: int, untouched: dict[str, str]
) -> None:
    done = tare("doctor", *words, check=code)
    assert done.stderr.startswith("tare: ")


@needs_root
@pytest.mark.parametrize("name", HARMLESS)
def test_a_setting_is_changed_verified_and_put_back(
    name: str, untouched: dict[str, str | None]
) -> None:
    if not available(name):
        pytest.skip(f"{name} cannot be changed here")
    with settings.hold({name: HARMLESS[name]}) as held:
        (change,) = held.changes
        assert change.now is not None
        if name != "idle_states":
            assert change.now == HARMLESS[name]


@needs_root
def test_a_command_runs_under_the_settings_and_tells_its_exit_code(
    untouched: dict[str, str | None],
) -> None:
    done = tare(
        "doctor", "--fix", "swappiness=59", "--",
        "sh", "-c", "cat /proc/sys/vm/swappiness; exit 7",
        check=7,
    )  # fmt: skip
    assert done.stdout.split()[0] == "59"
    assert tare("doctor", "--fix", "swappiness=59", "--", "sh", "-c", "kill -9 $$", check=137)
    assert tare("doctor", "--fix", "swappiness=59", "--", "/no/such", check=11)


@needs_root
def test_it_ends_when_the_time_is_over(untouched: dict[str, str | None]) -> None:
    done = tare("doctor", "--fix", "swappiness=59", "--duration", "100ms")
    assert "swappiness: " in done.stderr
    assert "Held for" in done.stderr
    assert "Put back" in done.stderr


@contextlib.contextmanager
def held(*words: str) -> Iterator[subprocess.Popen[str]]:
    """Start a holder and go on when it holds."""
    with subprocess.Popen(
        [*TARE, "doctor", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        try:
            assert any(line.startswith("Held") for line in process.stderr), "it does not hold"
            yield process
        finally:
            process.kill()


@needs_root
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_lease(ending: signal.Signals, untouched: dict[str, str | None]) -> None:
    with held("--fix", "swappiness=59") as process:
        assert sysctl_swappiness() == "59"
        process.send_signal(ending)
        assert process.wait(20) == 0


@needs_root
def test_cleanup_puts_back_what_a_killed_one_left(untouched: dict[str, str | None]) -> None:
    with held("--fix", "swappiness=59,autogroup=on") as process:
        refused = tare("doctor", "--fix", "swappiness=58", "--", "true", check=12)
        told = " ".join(tare("doctor", "--quick", check=None).stdout.split())
        assert f"tare (process {process.pid}) holds " in told
        assert str(process.pid) in refused.stderr
        process.kill()
    assert sysctl_swappiness() == "59"
    told = " ".join(tare("doctor", "--quick", check=None).stdout.split())
    what = message(
        "A killed tare left {settings | listing} changed: {command}",
        settings=["autogroup", "swappiness"],
        command="tare cleanup",
    )
    assert words.text(what).removesuffix("tare cleanup") in told
    done = tare("cleanup")
    assert "change of swappiness" in done.stdout
    assert sysctl_swappiness() == untouched["swappiness"]


@needs_root
def test_a_killed_one_does_not_spoil_the_next(untouched: dict[str, str | None]) -> None:
    with held("--fix", "swappiness=59") as process:
        process.kill()
    tare("doctor", "--fix", "swappiness=58", "--", "true")
    assert sysctl_swappiness() == untouched["swappiness"]


@pytest.mark.skipif(not ROOT, reason="needs another user to become")
def test_without_the_right_it_says_what_to_type(untouched: dict[str, str | None]) -> None:
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    environment = {**os.environ, "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"}
    able = subprocess.run(
        [*nobody, sys.executable, "-c", "import tare.agent.client"],
        env=environment, capture_output=True, check=False,
    )  # fmt: skip
    if able.returncode != 0:
        pytest.skip("another user cannot read this Python or this checkout")
    done = subprocess.run(
        [*nobody, *TARE, "doctor", "--fix", "swappiness=59"],
        env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 12
    assert "needs root" in done.stderr
    assert "sudo" in done.stderr
