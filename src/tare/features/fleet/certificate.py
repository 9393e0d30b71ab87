"""A certificate for one run of a fleet, that whoever has it trusts, and nobody else."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from distributed import Security

from tare.errors import PlatformError, Typed
from tare.experiment import remnants
from tare.host import lease
from tare.platforms import session_folder

#: openssl can choose when a certificate begins in this form alone: hosts whose clocks are late
#: would not take one of today. It is thrown away with the run.
_AUTHORITY = """
[ca]
default_ca = run
[run]
database = index
new_certs_dir = .
policy = names
default_md = sha256
rand_serial = yes
[names]
commonName = supplied
"""
_REQUEST = (
    "openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
    "-subj", "/CN=tare", "-keyout", "key", "-out", "request",
)  # fmt: skip
_SIGN = (
    "openssl", "ca", "-batch", "-selfsign", "-notext", "-config", "authority", "-keyfile", "key",
    "-in", "request", "-out", "certificate",
    "-startdate", "20000101000000Z", "-enddate", "99991231235959Z",
)  # fmt: skip


class Certificate(msgspec.Struct, frozen=True):
    """What a scheduler, its workers and its clients show, and ask for: PEM."""

    certificate: str
    key: str

    def security(self) -> Any:
        """Return Dask's form of it."""
        # Dask has no types.
        make: Callable[..., Any] = Security
        roles = ("client", "scheduler", "worker")
        return make(
            require_encryption=True,
            tls_ca_file=self.certificate,
            **{f"tls_{role}_cert": self.certificate for role in roles},
            **{f"tls_{role}_key": self.key for role in roles},
        )


def make() -> Certificate:
    """Make one; raises PlatformError where openssl cannot."""
    name = lease.new_name()
    with (
        remnants.lease(name),
        tempfile.TemporaryDirectory(prefix=f"{name}-", dir=session_folder.MEMORY) as made,
    ):
        folder = Path(made)
        (folder / "authority").write_text(_AUTHORITY)
        (folder / "index").touch()
        for words in (_REQUEST, _SIGN):
            try:
                subprocess.run(words, cwd=folder, check=True, capture_output=True, timeout=60)
            except (OSError, subprocess.SubprocessError) as error:
                said = getattr(error, "stderr", None) or str(error).encode()
                raise PlatformError(
                    f"openssl makes no certificate: {said.decode(errors='replace').strip()[-200:]}",
                    Typed("sudo apt install openssl"),
                ) from error
        return Certificate(*((folder / one).read_text() for one in ("certificate", "key")))
