"""Options that a command had once, or that other tools have: what to type for each."""

from __future__ import annotations

from typing import Any

from tare.cli.lines import HYPERFINE

#: By command and option.
_GONE = {
    ("net emulate", "--replay"): "tare net emulate replay:DIR   (or replay:FILE.csv)",
    ("net measure", "--replay"): "tare net emulate replay:DIR   (sends nothing itself: it shapes)",
    ("net emulate", "--clouds"): "distribution 1%=100Mbit 50%=600Mbit 99%=900Mbit every=5s",
    ("net fingerprint", "--out"): "--json FILE   (keeps the fingerprint)",
    ("net fingerprint", "-o"): "--json FILE   (keeps the fingerprint)",
    ("net fingerprint", "--no-bucket"): "--brief   (looks for no bucket, and takes ten seconds)",
}


def hint(error: Any) -> str | None:
    """Return what to type for an option that a command does not have; None: nothing is known.

    Parameters
    ----------
    error : ClickException
        That there is no such option, or another that names none.
    """
    option = str(getattr(error, "option_name", ""))
    context = getattr(error, "ctx", None)
    words = str(getattr(context, "command_path", "")).split()[1:]
    while words:
        if found := _GONE.get((" ".join(words), option)):
            return found
        words.pop()
    return HYPERFINE.get(option)
