"""What is typed after ``tare doctor``, and what is printed."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import printed
import pytest
from inprocess import invoke
from said import template
from trees import MACHINES, seen

from tare.cli import again
from tare.errors import ExperimentError, UsageError
from tare.features.machine.doctor import examination, fix, report
from tare.features.machine.doctor.command import doctor
from tare.features.machine.doctor.options import DoctorOptions
from tare.host.check import PURPOSES
from tare.host.settings import Change, Held
from tare.host.settings.setting import NeedsRootError
from tare.platforms.users import calling_user
from tare.render.vocabulary import CHECKS
from tare.results.message import message


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ("governor", {"governor": "performance"}),
        ("turbo=on, governor=powersave", {"turbo": "on", "governor": "powersave"}),
        ("interrupts=0,2-3,swappiness=1", {"interrupts": "0,2-3", "swappiness": "1"}),
        (" turbo = on ", {"turbo": "on"}),
    ],
)
def test_settings_are_asked_for_by_name_and_value(asked: str, wanted: dict[str, str]) -> None:
    assert fix._wanted(asked) == wanted


@pytest.mark.parametrize("asked", ["", "gouvernor", "governor,,turbo", "=1", "5"])
def test_what_is_no_setting_is_refused(asked: str) -> None:
    with pytest.raises(ExperimentError, match="there is no setting"):
        fix._wanted(asked)


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("gouvernor=performance", "--fix governor"),
        ("all,turbo", "--fix all   (or"),
        ("all=off", "--fix all   (or"),
        ("turbo,turbo=on", "--fix turbo=off"),
        ("swappines", "--fix swappiness"),
        ("xyz", "there are: address_randomization, "),
    ],
)
def test_what_is_refused_says_what_to_type(asked: str, hint: str) -> None:
    with pytest.raises(ExperimentError) as refused:
        fix._wanted(asked)
    assert (refused.value.hint or "").startswith(hint)


def test_what_wants_root_is_to_be_typed_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    typed = ["/opt/tare", "doctor", "--fix", "idle_states=5", "--", "sh", "-c", "a b"]
    monkeypatch.setattr(sys, "argv", typed)
    with pytest.raises(NeedsRootError) as refused, fix._as_typed():
        raise NeedsRootError("it needs root", "sudo /opt/tare doctor --fix idle_states")
    again.remember(doctor.names, ["tare", "doctor"], typed[2:])
    assert shlex.split(again.completed(refused.value.hint) or "") == ["sudo", *typed]


@pytest.mark.parametrize(
    ("asked", "seconds", "told"),
    [
        (DoctorOptions(), 3600.0, "for 60 min (--duration)"),
        (DoctorOptions(duration=90.0), 90.0, "for 90 s (--duration)"),
    ],
)
def test_settings_are_not_held_for_ever(
    asked: DoctorOptions,
    seconds: float,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    change = Change(setting="swappiness", was="60", now="59")
    put_back: list[str] = []

    @contextlib.contextmanager
    def hold(wanted: dict[str, str], *, tolerant: bool) -> Iterator[Held]:
        yield Held(name="tare-123456", changes=(change,), left_out=())
        put_back.extend(wanted)

    slept: list[float] = []
    monkeypatch.setattr(fix, "held_settings", hold)
    monkeypatch.setattr(fix.time, "sleep", slept.append)
    assert fix.hold("swappiness=59", asked) == 0
    assert (slept, put_back) == ([seconds], ["swappiness"])
    said = " ".join(capsys.readouterr().err.split())
    assert told in said
    assert "tare cleanup" in said


def test_a_purpose_is_read_before_anything_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examination, "look", lambda *_, **__: pytest.fail("it waited"))
    done = invoke("doctor", "--purpose", "sports")
    assert isinstance(done.exception, UsageError)
    assert "--purpose 'sports' is not possible" in done.exception.message
    assert '"accounting"' in done.exception.message


def test_who_called_sudo_is_not_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setenv("SUDO_UID", "somebody")
    with pytest.raises(ExperimentError, match="SUDO_UID"):
        calling_user()


def test_the_summary_says_for_what_and_why(tmp_path: Path) -> None:
    found = examination.examine(seen("arm_board", tmp_path))
    first, second, *_, fixes = report.summary(found, PURPOSES)
    assert template(first) == "Not fit for"
    assert first.args == {
        "purposes": [message("wall times of milliseconds"), message("comparing CPU speeds")],
        "checks": ["CPUs", "frequency governor"],
    }
    assert second.args["purposes"] == [message("concurrent workers")]
    assert fixes.args["count"] == 1


def test_a_summary_of_one_purpose_is_silent_about_the_others(tmp_path: Path) -> None:
    found = examination.examine(seen("arm_board", tmp_path))
    (fit,) = report.summary(found, ["disk"])
    assert fit.args == {"purposes": [message("disk times")], "partial": True}


@pytest.mark.parametrize("machine", MACHINES)
def test_every_line_is_printed_with_its_word(machine: str, tmp_path: Path) -> None:
    found = examination.examine(seen(machine, tmp_path))
    entries = report.make(found, PURPOSES, every=True).entries
    for verdict in ("ok", "warn", "fail", "unknown"):
        count = sum(one.verdict == verdict for one in found.diagnoses.values())
        assert sum(entry.label == CHECKS[verdict] for entry in entries) == count


@pytest.mark.parametrize("machine", MACHINES)
def test_what_is_bad_comes_first_and_what_is_good_in_few_lines(
    machine: str, tmp_path: Path
) -> None:
    found = examination.examine(seen(machine, tmp_path))
    made = report.make(found, PURPOSES, every=False)
    words = list(CHECKS.values())
    labels = [words.index(entry.label) for entry in made.entries if entry.label in words]
    assert labels == sorted(labels)
    assert labels.count(words.index(CHECKS["ok"])) == 1
    text = printed.text(made)
    for name, one in found.diagnoses.items():
        assert report._title(name) in text or one.verdict == "unknown"


def test_where_nothing_is_fit_that_is_all_that_is_said(tmp_path: Path) -> None:
    found = examination.examine(seen("arm_board", tmp_path))
    (unfit,) = report.summary(found, ["parallel"])
    assert template(unfit) == "Not fit for"
    assert unfit.args == {
        "purposes": [message("concurrent workers")],
        "checks": ["CPUs"],
    }


def test_only_what_a_purpose_would_gain_is_offered(tmp_path: Path) -> None:
    found = examination.examine(seen("intel_server", tmp_path))
    for purposes, asked in (
        (("memory",), "numa_balancing=off,huge_pages=madvise,swappiness=0"),
        (PURPOSES, "all"),
    ):
        fixes = report.summary(found, purposes)[-1]
        assert fixes.args["command"].endswith(f"tare doctor --fix {asked} -- COMMAND")
