"""Installs completion for the shell from which tare is called."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from tare import files
from tare.cli import console
from tare.errors import StoreError, Typed, UsageError
from tare.options.completion import SCRIPTS

#: Where a shell looks for it: a variable, the folder below home where it is not set, and the file.
_PLACES = {
    "bash": ("XDG_DATA_HOME", ".local/share", "bash-completion/completions/tare"),
    "zsh": ("ZDOTDIR", "", ".zfunc/_tare"),
    "fish": ("XDG_CONFIG_HOME", ".config", "fish/completions/tare.fish"),
}


def show() -> int:
    """Print the script of the current shell."""
    print(SCRIPTS[_shell()], end="")
    return 0


def install() -> int:
    """Write the script of the current shell to where that looks for it."""
    shell = _shell()
    variable, folder, name = _PLACES[shell]
    place = Path(os.environ.get(variable) or Path.home() / folder) / name
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"cannot make {place.parent}: {error.strerror}",
            Typed("tare --show-completion > tare-completion   (to source it)"),
        ) from error
    files.write(files.target(place), SCRIPTS[shell].encode(), "")
    told = f"Completion is in {place}, and begins with the next {shell}."
    console.out.print(told, soft_wrap=True)
    if shell == "zsh":
        line = f"fpath+=({shlex.quote(str(place.parent))}); autoload -Uz compinit; compinit"
        console.out.print(f"Next: echo {shlex.quote(line)} >> ~/.zshrc", soft_wrap=True)
    return 0


def _shell() -> str:
    """Return the shell from which tare is called, as the environment names it.

    Raises
    ------
    UsageError
        If completion does not support this shell.
    """
    shell = Path(os.environ.get("SHELL", "")).name
    if shell not in SCRIPTS:
        raise UsageError(
            f"there is no completion for {shell or 'a shell without a name'}",
            Typed(f"SHELL=bash tare --show-completion   (or one of: {', '.join(SCRIPTS)})"),
        )
    return shell
