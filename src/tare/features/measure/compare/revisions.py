"""Two commits of a git repository, each checked out in a folder of its own, and built there."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tare.errors import BuildError, PlatformError, Typed, UsageError
from tare.experiment import remnants
from tare.host import lease

#: On a disk, since builds may be larger than the memory that backs /tmp.
_FOLDER = Path("/var/tmp")
#: Names of the default branch, in the order in which they are tried.
_DEFAULT_BRANCHES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
#: Of what a build that failed wrote: the last lines that an error has, and their length.
_LINES, _WIDTH, _READ_BYTES = 20, 200, 1 << 16
#: Characters of a commit's hash in names.
_SHORT = 10
_SUBMODULES = "git submodule update --init --recursive"
_SHALLOW = Typed("git fetch --unshallow   (GitHub: fetch-depth: 0 of actions/checkout)")


@dataclass(frozen=True)
class Revision:
    """A commit that is checked out into a folder.

    Attributes
    ----------
    role : str
        ``base`` or ``head``: equally long, since a longer path moves a program's stack.
    commit : str
        Its hash.
    folder : Path
        Its work tree.
    directory : Path
        Where it is built and runs: the folder in it in which tare was called.
    """

    role: str
    commit: str
    folder: Path
    directory: Path

    @property
    def name(self) -> str:
        """Name of the commit in results: its role and short hash."""
        return f"{self.role} {self.commit[:_SHORT]}"


def resolve(revision: str) -> str:
    """Return the hash of a commit.

    Raises
    ------
    UsageError
        If there is no such commit here.
    PlatformError
        If git is not installed.
    """
    commit = _commit(revision)
    if commit is not None:
        return commit
    _git("rev-parse", "--git-dir")
    if (branch := revision.removeprefix("origin/")) != revision and _run("remote").stdout:
        # A clone of one branch does not bring the others, however deep it is.
        raise UsageError(f"there is no commit {revision} in this clone", _fetching(branch))
    if _is_shallow():
        raise UsageError(f"there is no commit {revision} in this shallow clone", _SHALLOW)
    raise UsageError(
        f"there is no commit {revision} in this repository", Typed("git log --oneline")
    )


def default_base(head: str) -> str:
    """Return the commit where head left the default branch; on that branch, the one before head.

    Raises
    ------
    UsageError
        If that is not known here.
    """
    tips = (tip for branch in _DEFAULT_BRANCHES if (tip := _commit(branch)) is not None)
    tip = next(tips, None)
    if tip is None:
        raise UsageError(
            f"none of {', '.join(_DEFAULT_BRANCHES)} is here, so the base is not known",
            _fetching("main")
            if _run("remote").stdout
            else "name it with --base: a tag, a hash or a branch",
        )
    common = _run("merge-base", head, tip)
    base = common.stdout.strip() if common.returncode == 0 else None
    if base == head:
        base = _commit(f"{head}^")
    if base is not None:
        return base
    if _is_shallow():
        raise UsageError("this shallow clone does not have the base", _SHALLOW)
    raise UsageError(
        f"no commit before {head[:_SHORT]} is known",
        "name it with --base: a tag, a hash or a branch",
    )


def is_changed() -> bool:
    """Return whether the work tree has uncommitted changes."""
    return bool(_run("status", "--porcelain", "--untracked-files=no").stdout)


@contextlib.contextmanager
def checked_out(base: str, head: str) -> Iterator[tuple[Revision, Revision]]:
    """Check two commits out; what git and a build make there is removed however this ends.

    Raises
    ------
    PlatformError
        If they cannot be checked out.
    UsageError
        If one does not have the folder in which tare was called.
    """
    name, within = lease.new_name(), _git("rev-parse", "--show-prefix")
    # git keeps a folder for each work tree, with its name, in the repository.
    known = Path(_git("rev-parse", "--path-format=absolute", "--git-common-dir")) / "worktrees"
    revisions = tuple(
        Revision(role, commit, folder, folder / within)
        for role, commit in (("base", base), ("head", head))
        for folder in (_FOLDER / f"{name}-{role}",)
    )
    try:
        with remnants.lease(name, [known]):
            for one in revisions:
                one.folder.mkdir(mode=0o700)
                _git("worktree", "add", "--quiet", "--detach", str(one.folder), one.commit)
                if not one.directory.is_dir():
                    raise UsageError(
                        f"{one.name} has no folder {within}", "cd to one that both have"
                    )
            yield revisions[0], revisions[1]
    finally:
        # As git does once the last work tree is gone.
        with contextlib.suppress(OSError):
            known.rmdir()


def check_paths(words: Sequence[str]) -> None:
    """Refuse an absolute path to what the commits are to bring: both would run the same file.

    Absolute paths to data that git does not track are allowed.

    Raises
    ------
    UsageError
        If a word is such a path, in the work tree in which tare was called.
    """
    tree = Path(_git("rev-parse", "--show-toplevel")).resolve()
    for word in words:
        if not word.startswith("/"):
            continue
        path = Path(word).resolve()
        if tree in path.parents and path.is_file() and _is_of_commits(path):
            own = shlex.quote(os.path.relpath(path, Path.cwd().resolve()))
            raise UsageError(
                f"{word} is in your own work tree, so both commits would run the same file",
                f"write {own if own.startswith('../') else f'./{own}'} in the command, for that "
                "path",
            )


def check_program(base: Revision, head: Revision, program: str) -> None:
    """Refuse a program with a relative path that a commit does not have once it is built.

    Raises
    ------
    BuildError
        If one of the commits does not have it.
    UsageError
        If neither has it.
    """
    if "/" not in program or program.startswith("/"):
        return
    without = [one for one in (base, head) if not (one.directory / program).exists()]
    if len(without) == 2:
        raise UsageError(
            f"neither {base.name} nor {head.name} has {program} after its build",
            "build it in the folder of each commit, with --build",
        )
    for one in without:
        is_base = one.role == "base"
        raise BuildError(
            f"{one.name} has no {program} after its build",
            "name one that has what is measured with --base"
            if is_base
            else Typed(
                f"git worktree add ../{one.role} {one.commit[:_SHORT]}   (then build it there)"
            ),
            of_base=is_base,
        )


def build(revision: Revision, line: str) -> None:
    """Run a shell line in a commit's folder, and end what it left running.

    Raises
    ------
    BuildError
        If it fails; with the last lines that it wrote.
    """
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            ["sh", "-c", line], cwd=revision.directory, stdin=subprocess.DEVNULL, stdout=log,
            stderr=subprocess.STDOUT, env=_environment(), start_new_session=True,
        )  # fmt: skip
        try:
            # It is not waited for yet, so that its number stays that of its group.
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
        if code == 0:
            return
        log.seek(max(0, log.seek(0, os.SEEK_END) - _READ_BYTES))
        text = log.read().decode(errors="replace")
    how = f"exit code {code}" if code > 0 else f"signal {-code}"
    last = [one[:_WIDTH] for one in text.splitlines()[-_LINES:]] or ["It wrote nothing."]
    raise BuildError(
        "\n  ".join([f"{revision.name} does not build: {line[:_WIDTH]} ended with {how}", *last]),
        Typed(
            f"--build {shlex.quote(f'{_SUBMODULES} && {line}')}   (submodules are not checked out)"
        )
        if (revision.folder / ".gitmodules").is_file() and "submodule" not in line
        else Typed(
            f"git worktree add ../{revision.role} {revision.commit[:_SHORT]}   "
            "(then build it there)"
        ),
        of_base=revision.role == "base",
    )


def _is_of_commits(path: Path) -> bool:
    """Tell whether a file is a program, or one that git tracks."""
    is_program = bool(path.stat().st_mode & stat.S_IXUSR)
    return is_program or _run("ls-files", "--error-unmatch", "--", str(path)).returncode == 0


def _commit(revision: str) -> str | None:
    # A name that begins with a dash would be an option.
    if revision.startswith("-"):
        return None
    found = _run("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    return found.stdout.strip() or None


def _fetching(branch: str) -> str:
    """Return the line that brings a branch, with its history, into a clone of another one."""
    whole = "--unshallow " if _is_shallow() else ""
    line = f"git fetch {whole}origin {shlex.quote(f'{branch}:refs/remotes/origin/{branch}')}"
    return Typed(f"{line}   (a clone of one branch lacks the others)")


def _is_shallow() -> bool:
    return _run("rev-parse", "--is-shallow-repository").stdout.strip() == "true"


def _git(*words: str) -> str:
    done = _run(*words)
    if done.returncode:
        why = done.stderr.strip().removeprefix("fatal: ").splitlines() or ["no reason is given"]
        # git names the line to type where a repository is another user's, as in containers.
        typed = (line.strip() for line in why if line.strip().startswith("git config"))
        hint = next(map(Typed, typed), "run it in a clone of a repository")
        raise PlatformError(f"git {words[0]}: {why[0]}", hint)
    return done.stdout.strip()


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    # Hooks are for the work tree of the user, not for these.
    command = ["git", "-c", "core.hooksPath=/dev/null", *words]
    try:
        return subprocess.run(
            command, env=_environment(), stdin=subprocess.DEVNULL, capture_output=True,
            encoding="utf-8", errors="replace", check=False,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise PlatformError("git is not installed", Typed("sudo apt-get install git")) from error


@cache
def _environment() -> dict[str, str]:
    """Return the environment without what binds git to one work tree, as in a hook."""
    bound = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR"}
    return {name: value for name, value in os.environ.items() if name not in bound}
