"""What ``tare net emulate --out`` keeps: the answer, the log, a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from tare.errors import StoreError
from tare.features.network.emulate.emulation import Emulation
from tare.features.network.emulate.tokens import Moment

ANSWER, LOG, PICTURE = "emulation.json", "tokens.ndjson", "tokens.svg"


def prepare(folder: Path) -> Path:
    """Make the folder, before anything is emulated.

    Raises
    ------
    StoreError
        If it is not empty, or cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise StoreError(f"{folder} is not empty", "choose another --out")
    except OSError as error:
        raise StoreError(
            f"cannot write to {folder}: {error.strerror}", "choose another --out"
        ) from error
    return folder


def keep(folder: Path, emulation: Emulation, moments: Sequence[Moment]) -> str:
    """Write the answer and the picture; return what was written, in words."""
    from tare.features.network.charts import tokens

    text = msgspec.json.format(msgspec.json.encode(emulation.stored()), indent=2)
    try:
        (folder / ANSWER).write_bytes(text + b"\n")
        chart = tokens.draw(emulation, moments)
        if chart is not None:
            (folder / PICTURE).write_text(tokens.as_svg(chart), encoding="utf-8")
    except OSError as error:
        raise StoreError(
            f"cannot write to {folder}: {error.strerror}", f"df -h {folder}"
        ) from error
    return f"Kept in {folder}: {', '.join(sorted(path.name for path in folder.iterdir()))}"
