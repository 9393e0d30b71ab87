"""The files in which applications run: images, and what ``prepare`` makes in them, kept."""

from tare.applications.image.build import Built, built, size_bytes
from tare.applications.image.cache import remnants
from tare.applications.image.lock import Lock, format_, parse
from tare.applications.image.prepare import given_digest, prepared

__all__ = [
    "Built", "Lock", "built", "format_", "given_digest", "parse", "prepared", "remnants",
    "size_bytes",
]  # fmt: skip
