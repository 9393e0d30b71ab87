"""``tare ci``, the Action around it, its comments, and ``git bisect run``, on made repositories."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import cli
import composite
import made_repository
import pytest
from made_repository import BUILD, git, make, work

from tare.errors import BuildError

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[2]
ACTION = composite.load(ROOT / "action.yml")
COMMENT = composite.load(ROOT / "examples" / "ci" / "github-comment.yml")
#: That an outcome is tested does not need as many trials as rare failures do.
FEW = "--min-trials 7 --seed 1"


def act(
    tmp_path: Path, candidate: Mapping[str, str], *, pull_head: str = "", **inputs: str
) -> composite.Done:
    """Run the Action on a pull request: main has the base, HEAD the candidate."""
    repository = tmp_path / "repository"
    base, _ = make(repository, [{"work.h": work()}, candidate])
    git(repository, "update-ref", "refs/remotes/origin/main", base)
    # As if the cache had it: installing takes minutes.
    programs = tmp_path / "tare" / "bin"
    programs.mkdir(parents=True)
    (programs / "tare").symlink_to(cli.program())
    (programs / "python").symlink_to(sys.executable)
    given = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()}
    given |= {"command": "./work", "build": BUILD, "gate": "2%", "options": FEW, **inputs}
    contexts = {f"inputs.{name}": value for name, value in given.items()}
    contexts["github.event.pull_request.number"] = "12"
    contexts["github.event.pull_request.head.sha"] = pull_head
    runner = tmp_path / "runner"
    runner.mkdir()
    env = composite.environment(tmp_path, ROOT) | {"GITHUB_BASE_REF": "main"}
    done = composite.run(composite.steps_of(ACTION), contexts, runner, repository, env)
    assert git(repository, "status", "--porcelain") == ""
    assert git(repository, "worktree", "list").count("\n") == 0
    return done


#: In JUnit, of the suite and its test, whatever the commits and the answer are.
NAMES = ("tare ci", "tare.ci", "head vs. base")


def names(report: Xml.Element) -> tuple[str | None, ...]:
    suite, case = report.find("testsuite"), report.find("testsuite/testcase")
    assert suite is not None
    assert case is not None
    return suite.get("name"), case.get("classname"), case.get("name")


def results(done: composite.Done) -> Path:
    return Path(done.outputs["place"]["results"])


def test_a_slower_commit_fails_the_job(tmp_path: Path) -> None:
    done = act(tmp_path, {"work.h": work(0.04)})
    assert done.code == 1, done.log
    assert done.outputs["measure"] == {"code": "1", "outcome": "fail"}
    assert "❌" in done.summary
    found = json.loads((results(done) / "tare.json").read_text())
    assert found["comparisons"][0]["gate"] == "fail"
    assert found["comparisons"][0]["metric"] == "cpu_ns"
    report = Xml.parse(results(done) / "tare.xml").getroot()
    assert report.get("failures") == "1"
    assert names(report) == NAMES


def test_an_equal_commit_never_fails_the_job(tmp_path: Path) -> None:
    done = act(tmp_path, {"work.h": work() + "/* equal */\n"})
    assert done.code == 0, done.log
    assert done.outputs["measure"]["outcome"] in ("pass", "inconclusive")
    if done.outputs["measure"]["outcome"] == "inconclusive":
        assert "::warning" in done.log


def test_a_commit_that_fails_in_a_tenth_of_its_runs_fails_the_job(tmp_path: Path) -> None:
    # As many trials as by default.
    done = act(tmp_path, {"work.h": work(FAIL_EVERY=10)}, options="--seed 1", gate="50%")
    assert done.code == 1, done.log
    (comparison,) = json.loads((results(done) / "tare.json").read_text())["comparisons"]
    assert comparison["trials"][1]["failed"] >= 1


def test_options_with_an_open_quote_are_refused(tmp_path: Path) -> None:
    done = act(tmp_path, {"work.h": work()}, options="--seed '1")
    assert done.code == 10, done.log
    assert "::error title=tare::The input options cannot be split into words" in done.log


def test_a_commit_that_does_not_build_has_its_own_code_and_its_last_lines(tmp_path: Path) -> None:
    many = "\n".join(f'#pragma message "line {n}"' for n in range(100))
    done = act(tmp_path, {"work.h": f"{many}\n#error not today ::warning::\n"})
    assert done.code == BuildError.exit_code == 20, done.log
    assert done.outputs["measure"]["outcome"] == "build-fails"
    for text in (done.log, done.summary, (results(done) / "tare.xml").read_text()):
        assert "not today" in text
        assert "line 3 " not in text
    assert names(Xml.parse(results(done) / "tare.xml").getroot()) == NAMES
    # The runner obeys nothing that a compiler wrote.
    stop = re.search(r"^::stop-commands::(\w+)\n(.*)^::\1::$", done.log, re.MULTILINE | re.DOTALL)
    assert stop is not None
    assert done.log.count("not today") == stop[2].count("not today")


def test_a_commit_that_prints_megabytes_gets_the_answer_and_a_warning(tmp_path: Path) -> None:
    done = act(tmp_path, {"work.h": work(PRINT_BYTES=3000000)})
    assert done.code == 0, done.log
    assert re.search(r"^::warning title=tare::.* 2\.86 MiB", done.log, re.MULTILINE)
    (comparison,) = json.loads((results(done) / "tare.json").read_text())["comparisons"]
    assert comparison["written_bytes"] == [0, 3_000_000]


@pytest.mark.parametrize(("adds", "code", "role"), [(1, 21, "base"), (0, 20, "head")])
def test_a_program_that_one_commit_lacks_is_that_commits(
    tmp_path: Path, adds: int, code: int, role: str
) -> None:
    commits = [{"work.h": work(), "n": "0"}, {"work.h": work(), "n": "1"}]
    commits[adds]["new.sh"] = "#!/bin/sh\n"
    commits[1 - adds]["other"] = ""
    repository = tmp_path / "repository"
    hashes = make(repository, commits)
    if not adds:
        git(repository, "rm", "--quiet", "new.sh")
        git(repository, "commit", "--quiet", "-m", "removed")
        hashes[1] = git(repository, "rev-parse", "HEAD")
    line = ["ci", "--base", hashes[0], "--", "./new.sh"]
    done = subprocess.run(
        [*cli.TARE, *line], cwd=repository, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    commit = hashes[0] if role == "base" else hashes[1]
    assert f"{role} {commit[:10]} has no ./new.sh after its build" in done.stderr


@pytest.mark.parametrize("before", [[], ["nice"], ["sh"]])
def test_an_absolute_path_into_the_own_work_tree_is_refused(
    tmp_path: Path, before: list[str]
) -> None:
    repository = tmp_path / "repository"
    make(repository, [{"work.h": work()}, {"work.h": work(0.5), "run.sh": "#!/bin/sh\n"}])
    program = repository / "run.sh"
    program.chmod(0o755 if before != ["sh"] else 0o644)
    data = tmp_path / "data"
    data.touch()
    line = ["ci", "--base", "HEAD~1", "--", *before, str(program), str(data)]
    done = subprocess.run(
        [*cli.TARE, *line], cwd=repository, capture_output=True, text=True, check=False
    )
    assert done.returncode == 10, done.stderr
    assert f"{program} is in your own work tree" in done.stderr
    assert "./run.sh" in done.stderr


# What an inconclusive gate does.
def finish(tmp_path: Path, **inputs: str) -> composite.Done:
    """Run the last step of the Action after an inconclusive gate."""
    contexts = {"steps.measure.outputs.code": "2"}
    contexts |= {f"inputs.{name}": value for name, value in inputs.items()}
    env = composite.environment(tmp_path, ROOT)
    return composite.run(composite.steps_of(ACTION)[-1:], contexts, tmp_path, tmp_path, env)


def test_an_inconclusive_gate_warns_unless_it_is_to_fail(tmp_path: Path) -> None:
    done = finish(tmp_path, **{"fail-on-inconclusive": "false"})
    assert done.code == 0
    assert "::warning" in done.log
    assert finish(tmp_path, **{"fail-on-inconclusive": "true"}).code == 2


# Comments.
def comment(
    tmp_path: Path, document: object, head: str = "a" * 40, earlier: str = ""
) -> tuple[composite.Done, str]:
    """Run the workflow that comments with a gh that notes what it is given.

    ``earlier``: the number of the comment that it finds.
    """
    programs = tmp_path / "programs"
    programs.mkdir()
    gh, notes = programs / "gh", tmp_path / "notes"
    gh.write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        f"*/pulls/*) echo {'a' * 40} ;;\n"
        f"*--paginate*) echo {earlier} ;;\n"
        f'*) {{ echo "$@"; cat; }} >>{notes} ;;\n'
        "esac\n"
    )
    gh.chmod(0o755)
    folder = tmp_path / "artifact" / "tare"
    folder.mkdir(parents=True)
    (folder / "comment.json").write_text(
        document if isinstance(document, str) else json.dumps(document)
    )
    contexts = {
        "runner.temp": str(tmp_path / "artifact"), "github.repository": "owner/name",
        "github.token": "secret", "github.event.workflow_run.head_sha": head,
        "github.event.workflow_run.html_url": "https://example.org/run",
    }  # fmt: skip
    env = dict(os.environ) | {"PATH": f"{programs}:{os.environ['PATH']}"}
    done = composite.run(composite.steps_of(COMMENT), contexts, tmp_path, tmp_path, env)
    if not notes.exists():
        return done, ""
    line, body = notes.read_text().split("\n", 1)
    return done, f"{line}\n{json.loads(body)['body']}"


def written(**changes: Any) -> dict[str, Any]:
    return {"version": 1, "pull_request": 12, "exit_code": 1, "text": "Gate 2 % fails"} | changes


def test_what_the_action_writes_is_what_the_comment_reads(tmp_path: Path) -> None:
    done = act(tmp_path, {"work.h": "#error no\n"})
    document = (results(done) / "comment.json").read_text()
    assert json.loads(document)["version"] == 1
    assert json.loads(document).keys() == written().keys()
    posted, notes = comment(tmp_path / "runner", document)
    assert posted.code == 0, posted.log
    assert "--method POST repos/owner/name/issues/12/comments --input -\n<!-- tare -->\n" in notes
    assert notes.split("```text\n")[1].startswith("tare: head ")
    assert "does not build" in notes


@pytest.mark.parametrize(
    "document",
    [
        written(version=2),
        written(version=True),
        written(pull_request="12; rm"),
        written(pull_request=-1),
        written(pull_request=True),
        written(pull_request=None),
        written(exit_code="0"),
        written(text=["@everyone"]),
        [written()],
        "{",
    ],
)
def test_a_comment_that_the_action_does_not_write_is_refused(
    tmp_path: Path, document: object
) -> None:
    done, notes = comment(tmp_path, document)
    assert done.code != 0
    assert notes == ""


def test_a_comment_for_another_pull_request_is_refused(tmp_path: Path) -> None:
    done, notes = comment(tmp_path, written(), head="b" * 40)
    assert done.code != 0
    assert notes == ""


def test_the_text_of_a_comment_is_no_markup_and_bounded(tmp_path: Path) -> None:
    text = "```\n@team ![x](https://example.org/x)\x1b[31m\u202e" + "long " * 100_000
    done, notes = comment(tmp_path, written(text=text[:150_000]))
    assert done.code == 0, done.log
    _, inside, after = notes.split("```")
    assert "@team" in inside
    assert not re.search("[\x1b\u202e]", notes)
    assert after.startswith(f"\n\n{'a' * 40}: [the run](")
    assert len(notes) < 25_000


def test_the_comment_of_an_earlier_run_is_replaced(tmp_path: Path) -> None:
    done, notes = comment(tmp_path, written(), earlier="77")
    assert done.code == 0, done.log
    assert "--method PATCH repos/owner/name/issues/comments/77 --input -\n<!-- tare -->" in notes


def test_a_comment_begins_with_the_answer_and_names_the_head_that_the_author_knows(
    tmp_path: Path,
) -> None:
    done = act(tmp_path, {"work.h": work(0.5)}, pull_head="c" * 40)
    text = json.loads((results(done) / "comment.json").read_text())["text"]
    assert text.startswith("Gate     2 % fails: ")
    assert str(tmp_path) not in text
    merge = git(tmp_path / "repository", "rev-parse", "HEAD")[:10]
    said = f"Commit {merge} merges cccccccccc, the head of the pull request, into its base branch."
    assert text.endswith(f"\n\n{said}")
    assert said in done.summary


def test_no_script_has_an_expression_in_it() -> None:
    for document in (ACTION, COMMENT):
        for step in composite.steps_of(document):
            assert "${{" not in step.get("run", "")


# The command.
def ci(repository: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return cli.run("ci", *words, cwd=repository, env=made_repository.environment())


def leftovers(repository: Path) -> list[Path]:
    """Return the folders of work trees of a repository."""
    found = Path("/var/tmp").glob("tare-*/.git")
    return [file.parent for file in found if str(repository) in file.read_text()]


def test_commits_run_in_the_folder_in_which_tare_was_called(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    make(repository, [{"deep/er/name": "one"}, {"deep/er/name": "two"}])
    done = ci(
        repository / "deep" / "er", "-n", "6", "--prepare", "cp name prepared", "--shell", "sh",
        "--report", str(tmp_path / "ci.json"),
        "--", 'test "$PWD" = "$(pwd -P)" && cmp name prepared && test ! -e .git',
    )  # fmt: skip
    assert json.loads((tmp_path / "ci.json").read_text())["command"] == "ci"
    assert "base " in done.stdout, done.stderr
    assert "Failed" not in done.stdout
    assert git(repository, "status", "--porcelain") == ""
    (repository / "new").mkdir()
    done = ci(repository / "new", "-n", "6", "--", "true")
    assert done.returncode == 10
    assert leftovers(repository) == []


def test_the_base_is_where_head_left_the_default_branch(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    first, second = make(repository, [{"work.h": work()}, {"work.h": work(0.1)}])
    words = ("--build", "false", "--", "true")
    # On the default branch: the commit before.
    assert f"base {first[:10]}" in ci(repository, *words).stderr
    git(repository, "checkout", "--quiet", "-b", "topic")
    git(repository, "commit", "--quiet", "--allow-empty", "--message", "mine")
    assert f"base {second[:10]}" in ci(repository, *words).stderr
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{repository}", "shallow")
    done = ci(tmp_path / "shallow", *words)
    assert done.returncode == 10
    assert "--unshallow" in done.stderr
    done = ci(repository, "--base", "--output=x", *words)
    assert done.returncode == 10
    assert not (repository / "x").exists()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_what_a_killed_build_leaves_is_removed(tmp_path: Path, number: signal.Signals) -> None:
    repository = tmp_path / "repository"
    make(repository, [{"work.h": work()}, {"work.h": work(0.1)}])
    begun = tmp_path / "begun"
    running = cli.start(
        "ci", "--build", f"touch {begun}; sleep 1000", "--", "true", cwd=repository,
        env=made_repository.environment(),
    )  # fmt: skip
    while not begun.exists():
        assert running.poll() is None
        time.sleep(0.01)
    running.send_signal(number)
    running.wait()
    if number == signal.SIGKILL:
        assert leftovers(repository) != []
        assert cli.run("cleanup").returncode == 0
    else:
        assert running.returncode == 128 + number
    assert leftovers(repository) == []
    git(repository, "worktree", "prune", "--expire", "now")
    assert git(repository, "worktree", "list").count("\n") == 0
    assert list((repository / ".git").glob("worktrees/*")) == []


# git bisect.
def bisect(repository: Path, good: str, bad: str, *words: str) -> str:
    """Run git bisect; return what it says."""
    git(repository, "bisect", "start", bad, good)
    command = [cli.program(), "ci", "--bisect", "--base", good, "--build", BUILD, *words]
    done = subprocess.run(
        ["git", "bisect", "run", *command, "--", "./work"], cwd=repository, text=True, check=False,
        env=made_repository.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    git(repository, "bisect", "reset")
    return done.stdout


def test_bisect_finds_the_commit_and_skips_what_does_not_build(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    texts = [work(0.15 * (n >= 5)) + f"/* {n} */\n" for n in range(8)]
    # The middle, which is tried first.
    texts[3] = "#error\n"
    hashes = make(repository, [{"work.h": text} for text in texts])
    said = bisect(repository, hashes[0], hashes[-1], "--gate", "7%", "--seed", "1")
    assert f"{hashes[5]} is the first bad commit" in said, said


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--base", "main", "--nosuch"), 128 + 10),
        (("--base", "HEAD~1"), 128 + 10),
        (("--base", "nowhere"), 128 + 10),
        (("--base", "main", "--build", "false"), 128 + 21),
        (("--base", "main~1", "--build", "test -f only-in-base"), 125),
        (("--base", "main~1", "-n", "6", "--shell", "sh", "--seed", "1"), 125),
    ],
)
def test_bisect_never_takes_an_error_for_an_answer(
    tmp_path: Path, words: tuple[str, ...], code: int
) -> None:
    repository = tmp_path / "repository"
    make(repository, [{"only-in-base": ""}, {}])
    git(repository, "rm", "--quiet", "only-in-base")
    git(repository, "commit", "--quiet", "--amend", "--no-edit")
    done = ci(repository, "--bisect", *words, "--", "test -f only-in-base")
    assert done.returncode == code, done.stderr
