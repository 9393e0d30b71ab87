"""isolate, the sandbox of contests and online judges: boxes with their own user and namespaces."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import stat
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tare.errors import PlatformError, Typed
from tare.host.lease import Remnant
from tare.platforms import box_file, root
from tare.platforms.layer import Figure, Layer, Place, Starter, Told, View
from tare.registry import Description, Parameter, words

#: Boxes have numbers for all users of a machine, so who takes one says so where all can see it.
CLAIMS = Path("/dev/shm")
CLAIM = "tare-box-"
BOXES = 1000
#: Where the box shows the agent's directory, and the shared one.
TARE, SHARED = "/tare", "/shared"

#: Of the directories that other sandboxes show, those that a box has anyway.
SHOWN = ("bin", "lib", "lib64", "usr")
#: Folders that all users have together.
COMMON = ("/tmp", "/var", "/var/tmp", "/home")
#: Its configuration, as it is compiled and as distributions have it; and where boxes are.
CONFIGURED = (Path("/usr/local/etc/isolate"), Path("/etc/isolate"))
#: By which 2.x finds the users of its boxes.
SUBID_USER, USERS = "subid_user", (Path("/etc/passwd"), Path("/etc/subuid"), Path("/etc/subgid"))
BOX_ROOT = re.compile(r"^\s*box_root\s*=\s*(/\S+)", re.MULTILINE)

#: Options that tare gives isolate itself.
OWN_OPTIONS = frozenset(
    ("--run", "--init", "--cleanup", "--version", "--cg", "--box-id", "-b", "--meta", "-M",
     "--stdin", "-i", "--stdout", "-o", "--silent", "-s", "--env", "-E", "--chdir", "-c")
)  # fmt: skip
#: Control groups are used where they work: 2.x makes a box but fails to run in it on v1. A box is
#: cleaned up only in the mode in which it was made.
SCRIPT = """\
{make}cg=
for mode in --cg ""; do {isolate} $mode --cleanup >/dev/null 2>&1; done
{try_cg}if {isolate} --cg --init >/dev/null 2>&1
{try_cg}then {isolate} --cg --silent --run -- /bin/true >/dev/null 2>&1 </dev/null && cg=--cg
{try_cg}{isolate} --cg --cleanup >/dev/null 2>&1; fi
isolate --version >{said}.version && echo "$cg" >{said}.cg || exit
{isolate} $cg --init >/dev/null || exit
{try_extra}{run}
code=$?
{isolate} $cg --cleanup
exit $code
"""
#: Trial start with the `extra` options; killed after TRY_S, because wrong options may hang.
TRY_EXTRA = """\
timeout -k 2 {limit_s} \\
{isolate} $cg {options} --run -- /bin/true </dev/null >/dev/null || {{
echo {complaint} >&2
{isolate} $cg --cleanup
exit 1
}}
"""
TRY_S = 20


class Isolate(Layer):
    """A box around the agent, for as long as the instance lives."""

    description = Description(
        name="isolate",
        title="a box of isolate, 1.x or 2.x",
        question="What does an online judge's sandbox cost, and does it steady the times?",
        parameters=(
            Parameter(
                name="box",
                meaning="first number of the boxes that may be used",
                default=900,
                minimum=0,
                maximum=BOXES - 1,
            ),
            Parameter(
                name="cg",
                meaning="control groups: where they work, or never",
                default="auto",
                choices=("auto", "off"),
            ),
            root.SHOW,
            Parameter(name="extra", meaning="further options of isolate --run", default=""),
        ),
        source="isolate(1), https://github.com/ioi/isolate",
    )
    needs = ("isolate", "sh", "mkdir", "chmod")
    own_files = True
    brings_files = True
    shows_folders = True
    own_users = True
    privileged = True
    starts_programs = True
    stacks = ("docker/isolate",)

    def files(self) -> tuple[str, ...]:
        """Return its configuration, and from 2.x on what says which users its boxes have."""
        found = [path for path in CONFIGURED if path.is_file()]
        if any(SUBID_USER in box_file.read(path) for path in found):
            found += [path for path in USERS if path.is_file()]
        return tuple(map(str, found))

    def check_here(self, place: Place) -> None:
        """See that isolate is on PATH."""
        if shutil.which("isolate") is None:
            raise PlatformError(
                "isolate is not on PATH (distributions do not have it; pip, cargo and npm have "
                "others of that name)",
                Typed(
                    "git clone https://github.com/ioi/isolate && "
                    "make -C isolate isolate && sudo make -C isolate install"
                ),
            )

    def view(self, outer: View, place: Place) -> View:
        """Show the box: its system directories, the agent, the shared directory."""
        if place.starts_programs:
            return outer
        agent = f"{TARE}/{Path(outer.agent).name}"
        return View(agent=agent, shared=SHARED, scratch=root.SCRATCH, users=False)

    def wrap(self, argv: list[str], outer: View, place: Place) -> list[str]:
        """Initialise a box, run in it, clean it up: by a shell where isolate is."""
        box = _claim(place.name, self.settings(place)["box"])
        said = f"{outer.scratch}/{place.name}"
        options, made = self._options(outer, place)
        isolate = f"isolate --box-id={box}"
        meta = shlex.quote(f"--meta={said}.meta")
        inside = f"{isolate} $cg {meta} {shlex.join(options)} --run -- {shlex.join(argv)}"
        # What is around holds the box as it does all others; its own groups would lead out.
        own_groups = not place.held and self.settings(place)["cg"] == "auto"
        extra = self.settings(place)["extra"]
        tried = TRY_EXTRA.format(
            limit_s=TRY_S,
            isolate=isolate,
            options=shlex.join(options),
            complaint=shlex.quote(
                f"isolate did not run /bin/true within {TRY_S} s with [platforms.isolate] extra = "
                f"{extra!r}"
            ),
        )
        script = SCRIPT.format(
            try_extra=tried if extra else "",
            make=_box_roots() + made,
            isolate=isolate,
            try_cg="" if own_groups else "# ",
            said=shlex.quote(said),
            run=shlex.join(argv) if place.starts_programs else inside,
        )
        return ["/bin/sh", "-c", script]

    def starter(self, outer: View, place: Place) -> Starter:
        """Return what runs a program in the box, with isolate's figures on standard output."""
        box = next(one for one in _claims() if box_file.read(one) == place.name)
        options, _ = self._options(outer, place)
        has_cg = any(name == "isolate_control_groups" and on for name, on, *_ in self.facts(place))
        number = box.name.removeprefix(CLAIM)
        groups = ("--cg",) if has_cg else ()
        return Starter(
            words=("isolate", f"--box-id={number}", *groups, *options, "--meta=-"),
            variable="--env=",
            directory="--chdir=",
            agent=f"{TARE}/{Path(outer.agent).name}",
            shared=SHARED,
            source="isolate",
            read=box_file.program,
            read_failure=box_file.failure,
        )

    def _options(self, outer: View, place: Place) -> tuple[list[str], str]:
        """Return options of ``isolate --run``, and lines of a shell that make what they need."""
        said = f"{outer.scratch}/{place.name}"
        options = [
            *("--silent", "--processes", "--open-files=0"),
            f"--dir={TARE}={Path(outer.agent).parent}",
            f"--dir={SHARED}={outer.shared}{':rw' if place.writable else ''}",
            *([] if place.network is None else ["--share-net"]),
            # What ended for want of memory is told by the group around it.
            *(["--dir=sys"] if place.held else []),
        ]
        files = [*place.files, *root.further(self.settings(place)["show"])]
        mapped = Mapped.of(files, f"{said}.tmp") if place.runs_commands else Mapped()
        options += [*mapped.options]
        extra = words("[platforms.isolate] extra", self.settings(place)["extra"])
        if taken := next((word for word in extra if word.partition("=")[0] in OWN_OPTIONS), None):
            raise PlatformError(
                f"[platforms.isolate] extra cannot have {taken}: tare sets this option",
                f"leave {taken} out",
            )
        options += extra
        return options, mapped.made

    def mend(self, said: str) -> str | None:
        """Explain what isolate needs."""
        if "must be started as root" in said or "Must be started as root" in said:
            return Typed("sudo chown root $(which isolate) && sudo chmod u+s $(which isolate)")
        if "out of range" in said:
            return "[platforms.isolate] box = 0   (its configuration has fewer boxes)"
        if "[platforms.isolate] extra" in said:
            return "correct extra, or leave it out"
        if "isolate: not found" in said:
            return "name an image that contains isolate and /bin/sh: [platforms.docker] image"
        return None

    def facts(self, place: Place) -> tuple[Told, ...]:
        """Tell isolate's version, and whether its control groups are in use."""
        said = Path(place.scratch) / place.name
        version = box_file.version(box_file.read(said.with_name(f"{said.name}.version")))
        cg = box_file.read(said.with_name(f"{said.name}.cg")).strip() == "--cg"
        told: list[Told] = [("isolate_control_groups", cg, None, "isolate")]
        if version is not None:
            told.append(("isolate_version", version, None, "isolate"))
        return tuple(told)

    def ended(self, place: Place) -> list[Figure]:
        """Read what isolate measured from the agent's start to its end; give the box back."""
        for claim in _claims():
            if box_file.read(claim) == place.name:
                _clean(claim)
        return box_file.figures(box_file.read(Path(place.scratch) / f"{place.name}.meta"))

    def remnants(self) -> list[Remnant]:
        """Every box that tare took."""
        return [
            Remnant(
                box_file.read(claim),
                f"isolate box {claim.name.removeprefix(CLAIM)}",
                partial(_clean, claim),
            )
            for claim in _claims()
        ]


def _box_roots() -> str:
    """Return lines that make what this machine's configuration names for boxes, where it is not."""
    named = [one for path in CONFIGURED for one in BOX_ROOT.findall(box_file.read(path))]
    return "".join(f"mkdir -p {shlex.quote(one)} 2>/dev/null || :\n" for one in named)


class Mapped(NamedTuple):
    """Folders of this machine that a box shows, read-only and under their names."""

    options: tuple[str, ...] = ()
    #: Lines of a shell that make what they need.
    made: str = ""

    @classmethod
    def of(cls, files: Sequence[str], own_tmp: str) -> Mapped:
        """Return system directories, and the folders of files.

        Parameters
        ----------
        files : sequence of str
            Files that commands name, and what the user shows: absolute paths of files or folders.
        own_tmp : str
            To be made, where isolate stands, for boxes in whose ``/tmp`` something is shown:
            nothing can be mounted below the one that a box has by itself.
        """
        options = [f"--dir={name}:maybe" for name in root.SYSTEM if name not in SHOWN]
        folders = _folders(files)
        below = [folder for folder in folders if folder.startswith("/tmp/")]
        made = ""
        if below:
            inside = [shlex.quote(own_tmp + folder.removeprefix("/tmp")) for folder in below]
            made = f"mkdir -p {' '.join(inside)} && chmod 1777 {shlex.quote(own_tmp)} || exit\n"
            options.append(f"--dir=tmp={own_tmp}:rw")
        options += [f"--dir={folder[1:]}={folder}" for folder in folders]
        return cls(tuple(options), made)


def _folders(files: Sequence[str]) -> list[str]:
    """Return the folders of files that a box does not have anyway, none within another.

    A folder among the files stands for itself.
    """
    found: list[str] = []
    paths = [Path(os.path.normpath(file)) for file in files]
    for folder in sorted({path if path.is_dir() else path.parent for path in paths}):
        top = folder.parts[1] if len(folder.parts) > 1 else ""
        if top in (*root.SYSTEM, "proc", "sys") or any(folder.is_relative_to(x) for x in found):
            continue
        if sign := next((sign for sign in ":=" if sign in str(folder)), None):
            raise PlatformError(
                f"isolate cannot show {folder}: there is a {sign!r} in its name",
                "move its files to another one",
            )
        # What others have in such a folder would be shown as well.
        if top in ("", "dev", "run") or str(folder) in COMMON:
            raise PlatformError(
                f"isolate shows folders, no single files, and all of {folder} is not for a box",
                "move its files to a folder of their own",
            )
        if folder.is_dir() and not folder.stat().st_mode & stat.S_IXOTH:
            raise PlatformError(
                f"a box has a user of its own, who may not use {folder}",
                Typed(f"chmod o+x {shlex.quote(str(folder))}"),
            )
        found.append(str(folder))
    return found


def _claims() -> list[Path]:
    """Return those of this user: others may make files, links and pipes of any name there."""
    found = []
    for path in sorted(CLAIMS.glob(f"{CLAIM}*")):
        with contextlib.suppress(FileNotFoundError):
            told = path.lstat()
            if stat.S_ISREG(told.st_mode) and told.st_uid == os.geteuid():
                found.append(path)
    return found


def _claim(name: str, first: int) -> int:
    for box in range(first, BOXES):
        try:
            with (CLAIMS / f"{CLAIM}{box}").open("x") as file:
                file.write(name)
        except FileExistsError:
            continue
        return box
    raise PlatformError(
        f"all boxes of isolate from {first} on are taken",
        Typed("tare cleanup   (or a smaller box in [platforms.isolate])"),
    )


def _clean(claim: Path) -> None:
    box = claim.name.removeprefix(CLAIM)
    if shutil.which("isolate") is not None:
        for cg in (["--cg"], []):
            command = ["isolate", f"--box-id={int(box)}", *cg, "--cleanup"]
            subprocess.run(command, capture_output=True, check=False)
    claim.unlink(missing_ok=True)


UNIT = Isolate()
