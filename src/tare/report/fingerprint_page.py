"""The page of a fingerprint: what a machine can do, as text, curves and one table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tare.errors import StoreError
from tare.fingerprint.document import Fingerprint
from tare.registry import Probe
from tare.report.audit_page import FORMATS


def write(
    fingerprint: Fingerprint, probes: Mapping[str, Probe], destination: Path, command: str
) -> list[Path]:
    """Write the page of a fingerprint: HTML, or Markdown with its charts beside it.

    Parameters
    ----------
    fingerprint : Fingerprint
        Of any subset of the probes.
    probes : mapping of str to Probe
        What the probes say of themselves, by name: the catalogue's.
    destination : Path
        Its ending, ``.html`` or ``.md``, tells the format.
    command : str
        That takes the same fingerprint again.

    Returns
    -------
    list of Path
        What was written, the page itself first.

    Raises
    ------
    StoreError
        If the ending is another, or the page cannot be written.
    """
    format = FORMATS.get(destination.suffix.lower())
    if format is None:
        raise StoreError(f"{destination} ends neither in .html nor in .md", "--report machine.html")
    raise StoreError("the page of a fingerprint is to be built", "--json machine.json")
