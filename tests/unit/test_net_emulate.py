"""What ``tare net emulate`` makes of what is typed, and what it says."""

from __future__ import annotations

import itertools
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec import structs
from said import templates

from tare.agent import record
from tare.cli.app import USAGE
from tare.errors import ExperimentError, PlatformError
from tare.experiment.session.hosts import MOST_MOMENTS, Course
from tare.features.network.emulate.checked import Asked, asked, placed
from tare.features.network.emulate.commands import Commands
from tare.features.network.emulate.emulation import summaries
from tare.features.network.emulate.options import EmulateOptions
from tare.features.network.emulate.session import _not_delivered, introduction
from tare.features.network.emulate.tokens import Log
from tare.features.network.emulate.verification import Check
from tare.networks.emulator import Emulator
from tare.networks.shaping.specification import Rate, parse
from tare.options import parsing
from tare.results.message import message
from tare.wiring import enter

GBIT = 10**9
AGENT = [sys.executable, str(Path(__file__).with_name("emulating.py"))]


def _asked(*words: str) -> Asked:
    return asked(parsing.parse("tare net emulate", EmulateOptions, [*words, "--", "true"]))


def test_words_of_a_specification_need_no_quotes() -> None:
    words = "bucket high=2Gbit low=200Mbit budget=10Gbit"
    assert _asked(*words.split()).shapes == (parse(words), parse(words))


@pytest.mark.parametrize(
    "words", ["rate 200Mbit echo hi", "--hosts 3 distribution:google env -i a"]
)
def test_a_command_without_dashes_before_it_is_refused(
    words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["tare", "net", "emulate", *words.split()])
    given = EmulateOptions(spec=[word for word in words.split() if word not in ("--hosts", "3")])
    with pytest.raises(ExperimentError, match="is a command, and -- is missing") as refused:
        asked(given)
    before, _, command = str(refused.value.hint).partition(" -- ")
    assert f"{before} {command}" == f"tare net emulate {words}"
    assert command.split()[0] in ("echo", "env")


def test_a_host_can_be_shaped_by_itself() -> None:
    found = _asked("none", "--host", "3=rate 10Mbit", "--on", "all")
    assert found.shapes == (None, None, Rate(rate_bps=10_000_000))
    assert found.on == (1, 2, 3)
    assert _asked("--host", "2=rate 10Mbit").shapes == (None, Rate(rate_bps=10_000_000))


def test_servers_are_where_the_command_is_not() -> None:
    found = _asked("none", "--hosts", "4", "--on", "2", "--serve", "iperf3 -s")
    assert placed(found) == [1, 3, 4]
    assert found.serve == (("iperf3", "-s"),)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "how shall the network be shaped"),
        (("rate", "fast"), "a number"),
        (("none", "--hosts", "2", "--host", "3=none"), "2 hosts"),
        (("none", "--host", "65=none", "--hosts", "65"), "from 1 to 64"),
        (("none", "--host", "65=none"), "at most 64"),
        (("none", "--host", "three=none"), "from 1"),
        (("none", "--host", "0=none"), "from 1"),
        (("none", "--host", "rate 3Gbit"), "from 1"),
        (("none", "--on", "3"), "no host"),
        (("none", "--on", "0"), "no host"),
        (("none", "--on", "first"), "no host"),
        (("none", "--duration", "soon"), "--duration 'soon'"),
        (("none", "--duration", "0s"), "--duration '0s'"),
        (("none", "--interface", "eth0", "--hosts", "3"), "leave out|--hosts"),
        (("none", "--interface", "eth0", "--serve", "true"), "--serve"),
        (("none", "--serve", "a | b"), "needs a shell"),
    ],
)
def test_what_contradicts_itself_is_refused(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(ExperimentError, match=said):
        _asked(*words)


def test_what_is_behind_two_dashes_is_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[list[str], list[str]]] = []

    def take(given: EmulateOptions) -> None:
        seen.append((given.spec, given.command))
        raise ExperimentError("enough")

    monkeypatch.setattr("tare.features.network.emulate.checked.asked", take)
    words = ["tare", "net", "emulate", "rate", "1Gbit", "--hosts", "3", "--", "a", "--hosts", "--"]
    monkeypatch.setattr(sys, "argv", words)
    assert enter() == USAGE
    assert seen == [(["rate", "1Gbit"], ["a", "--hosts", "--"])]


def test_what_stands_is_introduced_by_hosts_that_are_shaped_alike() -> None:
    shapes = ("--host", "2=rate 10Mbit", "--host", "4=rate 10Mbit")
    found = _asked("none", "--hosts", "5", *shapes)
    verified, unshaped = (
        introduction(found, None),
        introduction(_asked("none"), message("--no-check")),
    )
    assert [(one.args["hosts"], one.args["consecutive"]) for one in verified] == [
        ([1, 3, 5], False),
        ([2, 4], False),
    ]
    assert templates(verified[1].args["shaping"]) == [", constant"]
    # Where nothing is shaped, nothing is to be verified.
    assert templates(tuple(unshaped)) == ["{hosts[0]}", "not shaped"]
    replayed = _asked("rate 10Mbit", "--hosts", "1")
    said = introduction(replayed, message("a single host has no other to send to"))
    assert templates(tuple(said))[:2] == ["not verified:", "to send to"]


@pytest.mark.parametrize(
    ("what", "unshaped", "hint"),
    [("rate", 1.02e9, "--no-check"), ("rate", 9e9, "queue="), ("budget", 1e8, "queue=")],
)
def test_a_network_that_does_not_deliver_says_by_what_it_is_held(
    what: str, unshaped: float, hint: str
) -> None:
    check = Check(host=2, what=what, asked=GBIT, delivered=5e8)
    error = _not_delivered(check, unshaped)
    assert (error.hint or "").startswith(hint)
    assert "500 Mbit" in error.message
    assert "nothing" in _not_delivered(structs.replace(check, delivered=None), None).message


@pytest.fixture
def commands(tmp_path: Path) -> Iterator[Commands]:
    with Emulator("tare-0f0f0f", 3, argv=AGENT) as emulator, Commands(emulator, tmp_path) as told:
        yield told


def test_addresses_are_put_into_commands(
    commands: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["{host}", "{host3}:80", "-H{hosts}", "{host_file}", "{print $1} {}", "{enter}"]
    assert commands.fill(words, 2) == [
        "10.77.0.2", "10.77.0.3:80", "-H10.77.0.1,10.77.0.2,10.77.0.3", str(tmp_path / "hosts"),
        "{print $1} {}", str(tmp_path / "enter"),
    ]  # fmt: skip
    assert (tmp_path / "hosts").read_text() == "10.77.0.1\n10.77.0.2\n10.77.0.3\n"
    assert os.access(tmp_path / "enter", os.X_OK)
    monkeypatch.setattr("sys.argv", ["/opt/somewhere/bin/tare"])
    monkeypatch.setenv("PATH", "/bin")
    assert commands.environment(2)["PATH"] == "/bin:/opt/somewhere/bin"
    assert commands.environment(2)["TARE_HOST"] == "10.77.0.2"
    assert commands.environment(2)["TARE_HOSTS"] == "10.77.0.1,10.77.0.2,10.77.0.3"


def test_a_host_that_is_not_there_is_refused(commands: Commands) -> None:
    with pytest.raises(ExperimentError, match=r"\{host4\} stands for nothing here") as refused:
        commands.fill(["{host4}"], 1)
    assert refused.value.hint == "--hosts 4"


def test_who_is_not_root_enters_no_host(tmp_path: Path) -> None:
    user = record.User(uid=1000, gid=1000, groups=(1000,))
    with (
        Emulator("tare-0f0f0f", 3, argv=AGENT) as emulator,
        Commands(emulator, tmp_path, user) as told,
        pytest.raises(ExperimentError, match=r"\{enter\} takes root's rights"),
    ):
        told.fill(["{enter}"], 1)


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    with (
        Emulator("tare-0f0f0f", interface="eth0", argv=AGENT) as emulator,
        Commands(emulator, tmp_path) as told,
        pytest.raises(PlatformError, match="cannot start"),
    ):
        told.start(["/nonexistent"], 1)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 1", "on host 2 has ended: sh ended with exit code 1"),
        ("echo the port is in use >&2; exit 3", "ended with exit code 3: the port is in use"),
        ("echo no space; exit 3", "ended with exit code 3: no space"),
        ("kill -9 $$", "was ended by signal 9 (SIGKILL)"),
    ],
)
def test_a_server_that_ended_is_told_with_its_last_words(
    commands: Commands, script: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # There is no such host.
    monkeypatch.setattr(Emulator, "enter", lambda self, host: [])
    monkeypatch.setattr("tare.experiment.session.auxiliary.waiting", lambda pid: set())
    with pytest.raises(PlatformError, match=re.escape(said)) as caught:
        commands.serve([["sh", "-c", script]], [2])
    assert caught.value.message.startswith("`sh -c ")
    assert "--serve" in (caught.value.hint or "")


def _states(at_ns: int, tokens: int, sent: int, dry: int | None = None) -> record.HostStates:
    host = record.HostState(
        host=1, tokens_bits=tokens, rate_bps=GBIT, sent_bytes=sent, dropped_packets=0,
        waiting_bytes=0, times_dry=0 if dry is None else 1, dry_ns=0 if dry is None else GBIT,
        first_dry_ns=dry,
    )  # fmt: skip
    return record.HostStates(id=None, at_ns=at_ns, hosts=(host,))


def test_a_long_log_is_kept_in_short_and_written_whole(tmp_path: Path) -> None:
    course = Course(1, "", 100, _states(100, 0, 0))
    log = Log(course, tmp_path / "tokens.ndjson")
    count = 5 * MOST_MOMENTS
    for number in range(count):
        log.take(_states(100 + number, number, number))
    log.close()
    *kept, _ = course.log(_states(100 + count, count, count))
    assert MOST_MOMENTS // 4 < len(kept) <= MOST_MOMENTS
    assert kept[0].at_ns == 0
    assert len({b.at_ns - a.at_ns for a, b in itertools.pairwise(kept)}) == 1
    assert len((tmp_path / "tokens.ndjson").read_text().splitlines()) == count


def test_the_log_counts_what_was_sent_from_the_start(tmp_path: Path) -> None:
    log = Log(Course(1, "", 100, _states(100, GBIT, 700)), tmp_path / "tokens.ndjson")
    log.take(_states(200, GBIT, 1000))
    log.close()
    (line,) = (tmp_path / "tokens.ndjson").read_text().splitlines()
    assert msgspec.json.decode(line) == {
        "at_ns": 100, "tokens_bits": [GBIT], "rate_bps": [GBIT], "sent_bytes": [300],
    }  # fmt: skip


def test_what_became_of_a_host_counts_from_the_start() -> None:
    built = (record.BuiltHost(host=1, namespace=None, address=None, interface="eth0"),)
    shapes = (parse("bucket high=2Gbit low=200Mbit budget=10Gbit"),)
    first, last = _states(0, 10 * GBIT, 500), _states(9 * GBIT, 0, 1500, dry=7 * GBIT)
    (host,) = summaries(built, shapes, Course(1, "", 2 * GBIT, first).uses(last), {1: 3})
    assert (host.sent_bytes, host.first_dry_s, host.dry_s) == (1000, 5.0, 1.0)
    assert (host.capacity_bits, host.exit_code) == (10 * GBIT, 3)
