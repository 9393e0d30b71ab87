"""Images of the local Docker or Podman, as directories."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tare.applications.image import tree
from tare.applications.image.running import ending, last_lines, run
from tare.errors import PlatformError, Typed
from tare.host import lease
from tare.results.message import Said, message

ENGINES = ("docker", "podman")
ANSWER_S = 60.0
#: Of containers and what they are for, as all of tare's have it: ``tare cleanup`` looks for it.
LABEL = "tare"


class EngineImage(NamedTuple):
    """An image that an engine has."""

    engine: str
    name: str
    #: SHA-256 of its description, which names all its layers.
    digest: str


def find(name: str) -> EngineImage:
    """Return the image of a name of the first engine that has it.

    Raises
    ------
    PlatformError
        If there is no engine, or none has it.
    """
    here = [engine for engine in ENGINES if shutil.which(engine)]
    if not here:
        raise PlatformError(
            f"the image {name} is to come from Docker or Podman, and neither is on this machine",
            Typed("sudo apt install podman"),
        )
    for engine in here:
        try:
            said = run([engine, "image", "inspect", "--format={{.Id}}", "--", name], ANSWER_S)
        except PlatformError:
            continue  # it does not have it, or does not answer
        digest = said.strip().removeprefix("sha256:")
        if len(digest) == 64:
            return EngineImage(engine, name, digest)
    raise PlatformError(
        f"{' and '.join(here)} {'have' if len(here) > 1 else 'has'} no image {name}",
        Typed(f"{here[0]} pull {shlex.quote(name)}"),
    )


def fill(root: Path, image: EngineImage, stage: Callable[[Said], None]) -> None:
    """Fill a directory with the files of an engine's image.

    Raises
    ------
    PlatformError
        If the engine does not export it.
    """
    stage(
        message(
            "making the image: exporting {image} from {engine}",
            image=image.name,
            engine=image.engine,
        )
    )
    name = lease.new_name()
    labels = (f"--label={LABEL}={name}", f"--label={LABEL}.user={os.geteuid()}")
    with lease.hold(name):
        # Never started, so that it needs no program; without one some images have no container.
        created = run(
            [image.engine, "create", "--network=none", *labels, "--", image.digest, "/none"],
            ANSWER_S,
        ).strip()
        try:
            _export(root, image.engine, created)
        finally:
            run([image.engine, "rm", "--", created], ANSWER_S)


def _export(root: Path, engine: str, container: str) -> None:
    with subprocess.Popen(
        [*ending(), engine, "export", "--", container],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            tree.Unpacked(root).read(process.stdout)  # type: ignore[arg-type]
        except BaseException:
            process.kill()
            raise
        said = process.stderr.read().decode(errors="replace")
    if process.returncode:
        raise PlatformError(f"{engine} cannot export {container}:\n{last_lines(said)}")
