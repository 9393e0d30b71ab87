"""Source distributions of PyPI: fetched from the user's mirror, and unpacked in part.

They are fetched without pip, which would run their code on this machine to see what they are.
"""

from __future__ import annotations

import gzip
import html
import re
import shutil
import ssl
import urllib.request
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import BinaryIO, cast
from urllib.parse import urljoin, urlsplit

from tare.applications.image import tree
from tare.applications.image.running import run
from tare.errors import ExperimentError, PlatformError
from tare.workloads.application import Artefact

INDEX = "https://pypi.org/simple"
#: The page of a project with thousands of files has some megabytes.
MOST_PAGE_BYTES = 64 << 20
_WAIT_S = 60.0
#: As pip reports its configuration: ``global.index-url='https://…'``, environment variables first.
_CONFIGURED = re.compile(r"^\S*?\.(index-url|cert)='(.*)'$", re.MULTILINE)


def download(artefact: Artefact, pip: Sequence[str], folder: Path) -> None:
    """Fetch the file of a project that has the artefact's digest.

    Parameters
    ----------
    artefact : Artefact
    pip : sequence of str
        How pip is called, which knows the mirror.
    folder : Path
        Where the file is put.

    Raises
    ------
    PlatformError
        If it cannot be had.
    """
    configured: dict[str, str] = {}
    for key, value in _CONFIGURED.findall(run([*pip, "config", "list"], _WAIT_S)):
        configured.setdefault(key, value)
    project = re.sub(r"[-_.]+", "-", artefact.name).lower()
    page = f"{configured.get('index-url', INDEX).rstrip('/')}/{project}/"
    try:
        context = ssl.create_default_context(cafile=configured.get("cert"))
        with _opened(page, context) as answer:
            text = answer.read(MOST_PAGE_BYTES).decode(errors="replace")
        found = re.search(rf'href="([^"#]+)#sha256={artefact.sha256}"', text)
        if found is None:
            raise PlatformError(f"{page} has no file with the SHA-256 {artefact.sha256}")
        with (
            _opened(urljoin(page, html.unescape(found[1])), context) as answer,
            (folder / "sdist").open("wb") as file,
        ):
            shutil.copyfileobj(answer, file, 1 << 20)
    except (OSError, ValueError) as error:
        raise PlatformError(f"{page}: {error}") from error


def _opened(url: str, context: ssl.SSLContext) -> BinaryIO:
    if urlsplit(url).scheme not in ("http", "https"):
        raise ValueError(f"{url} is no address of the web")
    request = urllib.request.Request(url, headers={"Accept": "text/html"})
    return cast("BinaryIO", urllib.request.urlopen(request, timeout=_WAIT_S, context=context))


def unpacked(artefact: Artefact, archive: Path, scratch: Path) -> Path:
    """Unpack what of a source distribution is wanted; return the directory.

    Raises
    ------
    ExperimentError
        If it has none of these files.
    PlatformError
        If it is no archive.
    """
    top = f"{artefact.name}-{artefact.version}"

    def is_left_out(path: str) -> bool:
        inside = path.removeprefix(f"{top}/")
        wanted = False
        for one in artefact.sdist:
            if fnmatchcase(inside, one.removeprefix("!")):
                wanted = not one.startswith("!")
        return inside == path or not wanted

    folder = scratch / "unpacked"
    folder.mkdir()
    with gzip.open(archive) as stream:
        try:
            tree.Unpacked(folder, is_left_out).read(cast("BinaryIO", stream))
        except OSError as error:
            raise PlatformError(f"{top} cannot be unpacked: {error}") from error
    if not (folder / top).is_dir():
        raise ExperimentError(f"{top} has none of {', '.join(artefact.sdist)}")
    return folder / top
