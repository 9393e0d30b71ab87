"""How a layer calls programs of this machine, with the rights of who called sudo."""

from __future__ import annotations

import os
import shutil

from tare.host.programs import MORE, rights
from tare.platforms.layer import Place, View


def named(name: str, outer: View) -> str:
    """Return what to call a program by: users' PATH may lack where it is on this machine."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:{MORE}")
    return found if outer.host_files and found is not None else name


def as_caller(outer: View, place: Place) -> list[str]:
    """Return what to put before a command that is to have the rights of who called sudo.

    For layers that know one user alone, in which a command would otherwise be root: on the files of
    this machine that is root, whatever namespaces are around it.
    """
    if place.user is None or not outer.users:
        return []
    return [named("setpriv", outer), *rights(place.user)]
