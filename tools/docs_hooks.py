"""What the site of the documents needs beside mkdocs: see ``mkdocs.yml``.

Pages link to files of the repository, such as ``../../SECURITY.md``. These are not part of the
site: there, the link becomes its text. ``tests/unit/test_docs.py`` checks that the files exist.
Words after the language of a block, such as ``not-run: reason``, are for the tests alone.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any

_FENCE = re.compile(r"^(```\w+) .*$", re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s#]+)(?:#[^)\s]*)?\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Replace links that leave the folder of the documents by their text, and clean fences."""
    folder = posixpath.dirname(page.file.src_uri)

    def replaced(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, found[2]))
        return found[1] if target.startswith("../") else found[0]

    return _FENCE.sub(r"\1", _LINK.sub(replaced, markdown))
