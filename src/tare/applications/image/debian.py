"""Images from Debian packages, by ``mmdebstrap``; the same packages make the same files."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO

from tare.applications.image import keystore, sources, tree
from tare.applications.image.lock import Package
from tare.applications.image.running import contained, last_lines
from tare.errors import ExperimentError, PlatformError, Typed
from tare.host import programs
from tare.results.message import Duration, Said, message

#: What files say of their making that would say when: the beginning of 2024.
EPOCH = "1704067200"
#: What programs do not need, and what differs from one making to the next.
DROPPED = (
    "usr/share/doc/*", "usr/share/man/*", "usr/share/info/*", "usr/share/locale/*",
    "usr/share/lintian/*", "usr/share/bug/*", "var/cache/*", "var/log/*", "var/lib/apt/*",
    "var/lib/dpkg/*-old", "etc/apt/sources.list*", "etc/apt/apt.conf.d/99mmdebstrap",
    "etc/apt/preferences.d/tare", "etc/*-", "etc/.pwd.lock", "etc/hostname", "dev/*", "proc/*",
    "sys/*", "run/*", "tmp/*", "var/tmp/*",
    # Databases and keys that packages make when they are installed: data is made by `prepare`.
    "var/lib/mysql/*", "var/lib/postgresql/*", "etc/postgresql/*", "etc/ssl/private/*",
    "etc/ssl/certs/ssl-cert-snakeoil.pem", "etc/ssh/ssh_host_*",
)  # fmt: skip
PREFERENCES = "etc/apt/preferences.d/tare"
_LAST = 200
_NEW = re.compile(r"\d+ upgraded, (\d+) newly installed")
#: Each package is fetched, unpacked and set up.
_STEP = re.compile(r"Get:\d+ |Unpacking |Setting up ")
_STEPS = 3
_BEGINS_PACKAGES = "I: installing remaining packages"
#: How it reports the end of its own parts, after what apt wrote.
_ITS_OWN = ("E: setup failed", "E: mmdebstrap failed")
_LOST = re.compile(r"Version '([^']+)' for '([^']+)' was not found")


def fill(
    root: Path,
    packages: Sequence[str],
    suite: str,
    locked: Sequence[Package],
    stage: Callable[[Said], None],
) -> tuple[Package, ...]:
    """Fill a directory with an image of Debian, and return all its packages.

    Parameters
    ----------
    root : Path
        An empty directory, in one of this process's own for what is made meanwhile.
    packages : sequence of str
        Names, perhaps with ``=version``.
    suite : str
        Debian's release.
    locked : sequence of Package
        All packages in exactly these versions; none: the newest.
    stage : callable
        Is told what goes on.

    Raises
    ------
    PlatformError
        If it cannot be made: no ``mmdebstrap``, no network, no space.
    ExperimentError
        If there is no such package or version.
    """
    with tempfile.TemporaryDirectory(dir=root.parent, ignore_cleanup_errors=True) as scratch:
        argv = _command(packages, suite, locked, Path(scratch))
        environment = os.environ | {"SOURCE_DATE_EPOCH": EPOCH, "TMPDIR": scratch, "LC_ALL": "C"}
        stage(message("making the image: reading the package lists of {suite}", suite=suite))
        watched = _Watched(stage)
        with subprocess.Popen(
            contained(argv, mapped=True), env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            try:
                assert process.stdout is not None
                assert process.stderr is not None
                reader = threading.Thread(target=watched.read, args=[process.stderr])
                reader.start()
                failed = _unpack(root, process.stdout)
                # Whoever still writes is not to wait for a reader.
                process.stdout.close()
            except BaseException:
                process.kill()
                raise
            reader.join()
        if process.returncode or failed is not None:
            raise _failure(watched, suite, packages, failed, root)
    store = root / keystore.PATH
    if store.is_file() and not store.is_symlink():
        tree.place(root, keystore.PATH, keystore.without_times(store.read_bytes()))
    installed = _installed(root)
    if locked:
        _check_lost(set(locked) - set(installed), suite)
    return installed


def is_dropped(path: str) -> bool:
    """Tell whether a file of Debian's does not belong into an image."""
    return any(fnmatchcase(path, pattern) for pattern in DROPPED)


def _unpack(root: Path, stream: IO[bytes]) -> PlatformError | None:
    try:
        tree.Unpacked(root, is_dropped).read(stream)  # type: ignore[arg-type]
    except PlatformError as error:
        return error
    return None


def _command(
    packages: Sequence[str], suite: str, locked: Sequence[Package], scratch: Path
) -> list[str]:
    argv = [
        *(str(programs.find("mmdebstrap")), "--mode=root", "--variant=minbase", "--verbose"),
        "--aptopt=APT::Install-Recommends false",
        *(f"--aptopt={line}" for line in _proxies()),
    ]
    if locked:
        pins = scratch / "pins"
        pins.write_text("\n".join(map(_pin, locked)), encoding="ascii")
        at = f'"$1"/{PREFERENCES}'
        argv.append(f"--setup-hook=mkdir -p {at[:-5]} && cp {shlex.quote(str(pins))} {at}")
        packages = [f"{one.name}:{one.architecture}={one.version}".replace(":all=", "=")
                    for one in locked]  # fmt: skip
    if packages:
        argv.append(f"--include={','.join(packages)}")
    return [*argv, "--format=tar", suite, "-", *sources.mirrors(suite)]


def _pin(package: Package) -> str:
    return f"Package: {package.name}\nPin: version {package.version}\nPin-Priority: 1001\n"


def _proxies() -> list[str]:
    """Return by which proxies this machine's apt fetches."""
    try:
        done = subprocess.run(
            ["apt-config", "dump", "--format=%f \"%v\";%n",
             "Acquire::http::Proxy", "Acquire::https::Proxy"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line for line in done.stdout.splitlines() if '""' not in line]


#: Packages after which it is known how long the others take.
_FEWEST = 10
#: With less, nothing is written any more.
_ROOM = 64 << 20


class _Watched:
    """What mmdebstrap and apt write: how far they are, and the last lines."""

    def __init__(self, stage: Callable[[Said], None]) -> None:
        self._stage = stage
        self._done = self._of = 0
        self._began: float | None = None
        self.lines: deque[str] = deque(maxlen=_LAST)

    def read(self, stream: IO[bytes]) -> None:
        # Whoever is interrupted closes it in the middle.
        with contextlib.suppress(ValueError, OSError):
            self._read(stream)

    def _read(self, stream: IO[bytes]) -> None:
        for raw in stream:
            line = raw.decode(errors="replace").rstrip()
            self.lines.append(line)
            self._line(line)

    def _line(self, line: str) -> None:
        if line.startswith(_BEGINS_PACKAGES):
            self._began = time.monotonic()
        elif line.startswith("I: downloading packages"):
            self._stage(message("making the image: installing the base system"))
        elif line.startswith("I: creating tarball"):
            self._stage(message("making the image: copying its files"))
        elif self._began is None:
            return
        elif found := _NEW.match(line):
            self._of = int(found[1]) * _STEPS
        elif _STEP.match(line) and self._done < self._of:
            self._done += 1
            if self._done < _FEWEST * _STEPS:
                return
            spent = time.monotonic() - self._began
            self._stage(
                message(
                    "making the image: {done} of {of} packages, {left} left",
                    done=self._done // _STEPS,
                    of=self._of // _STEPS,
                    left=Duration(spent / self._done * (self._of - self._done)),
                )
            )


def _failure(
    watched: _Watched,
    suite: str,
    packages: Sequence[str],
    failed: PlatformError | None,
    root: Path,
) -> PlatformError | ExperimentError:
    """Return the error for what mmdebstrap wrote before it failed."""
    lines = list(watched.lines)
    folders = [one for one in (root, Path(tempfile.gettempdir())) if _is_full(one)]
    if folders:
        return PlatformError(
            f"no room is left in {folders[0]} for the image of {', '.join(packages)}",
            Typed(
                f"df -h {shlex.quote(str(folders[0]))}   "
                "(and make room there, or set XDG_CACHE_HOME or TMPDIR)"
            ),
        )
    lost = {found.groups() for line in lines if (found := _LOST.search(line))}
    if lost:
        return _lost((f"{name} {version}" for version, name in sorted(lost)), suite)
    said = [
        line for line in lines if line.startswith("E: ") and not line.startswith(_ITS_OWN)
    ] or lines
    return PlatformError(
        f"mmdebstrap cannot make an image of {', '.join(packages)}:\n"
        f"{last_lines(chr(10).join(said)) if said else failed}",
        Typed(
            f"apt-cache policy {shlex.join(one.partition('=')[0] for one in packages[:5])}"
            f"   (and sudo apt update; the image is of {suite})"
        ),
    )


def _is_full(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free < _ROOM
    except OSError:
        return False


def _check_lost(lost: Iterable[Package], suite: str) -> None:
    names = [f"{one.name} {one.version}" for one in sorted(lost)]
    if names:
        raise _lost(names, suite)


def _lost(names: Iterable[str], suite: str) -> ExperimentError:
    return ExperimentError(
        f"the archive of {suite} does not have these versions: {', '.join(names)}",
        "the same command without the lock and without =VERSION, for today's versions; or add a "
        "snapshot of the archive that has them to /etc/apt/sources.list.d",
    )


def _installed(root: Path) -> tuple[Package, ...]:
    """Return the packages that dpkg notes as installed."""
    status = (root / "var/lib/dpkg/status").read_text(encoding="utf-8")
    found = []
    for paragraph in status.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in paragraph.splitlines() if ": " in line)
        if fields.get("Status", "").endswith(" installed"):
            found.append(
                Package(
                    name=fields["Package"],
                    version=fields["Version"],
                    architecture=fields["Architecture"],
                )
            )
    return tuple(sorted(found))
