"""Options that a command had once, or that other tools have: what to type for each."""

from __future__ import annotations

import shlex
import sys
from typing import Any

from tare.cli.lines import HYPERFINE

#: By command and option: the option that means the same now.
RENAMED = {
    ("audit", "--out"): "--report",
    ("audit", "-o"): "--report",
    ("audit", "--size"): "--cores",
    ("compare", "--linger"): "--grace",
    ("doctor", "--fast"): "--quick",
    ("doctor", "--for"): "--duration",
    ("doctor", "--no-wait"): "--quick",
    ("doctor", "--quiet-window"): "--noise-window",
    ("experiment report", "--format"): "--charts",
    ("export", "--out"): "--file",
    ("export", "-o"): "--file",
    ("fingerprint", "--files"): "--max-file-size",
    ("fingerprint", "--memory"): "--max-memory",
    ("fingerprint", "--whole"): "--full",
    ("net emulate", "--for"): "--duration",
    ("net fingerprint", "--brief"): "--quick",
    ("net fingerprint", "--for"): "--duration",
    ("net fingerprint", "--most"): "--max-bytes",
    ("net fingerprint", "--no-remember"): "--no-store",
    ("net fingerprint", "--remember"): "--store",
    ("net identify", "--interface"): "--line-rate",
    ("net identify", "--series"): "--group",
    ("net measure", "--for"): "--duration",
    ("net measure", "--most"): "--max-bytes",
    ("net report", "--out"): "--report",
    ("net report", "-o"): "--report",
    ("net serve", "--bytes"): "--max-bytes",
    ("net serve", "--longest"): "--max-duration",
    ("net serve", "--streams"): "--max-streams",
    ("net serve", "--total-bytes"): "--max-total-bytes",
    ("run", "--linger"): "--grace",
}
#: By command and option: what does the same now.
GONE = {
    ("calibrate", "--preset"): "tare calibrate --by memory",
    ("calibrate", "--size"): "tare calibrate --kernel linpack:size=2000",
    ("compare", "--precision"): "leave it out: it stops when the verdict is conclusive   "
    "(--margin 1%: the smallest difference that matters; -n N: a fixed number)",
    ("compare", "--instances"): 'tare experiment new   (instances = "shared" in it)',
    ("export", "--format"): "tare export DIR --file samples.parquet   (or .csv, .json)",
    ("fingerprint", "--quick"): "leave it out: it is the default",
    ("net emulate", "--replay"): "tare net emulate replay:DIR   (or replay:FILE.csv)",
    ("net measure", "--replay"): "tare net emulate replay:DIR   (sends nothing itself: it shapes)",
    ("net emulate", "--clouds"): "distribution 1%=100Mbit 50%=600Mbit 99%=900Mbit every=5s",
    ("net fingerprint", "--out"): "--json FILE   (keeps the fingerprint)",
    ("net fingerprint", "-o"): "--json FILE   (keeps the fingerprint)",
    ("net fingerprint", "--no-bucket"): "--quick   (searches for no bucket, and takes ten seconds)",
    ("run", "--anytime"): "tare experiment new   (anytime = true in it)",
    ("run", "--instances"): 'tare experiment new   (instances = "shared" in it)',
}


def hint(error: Any) -> str | None:
    """Return what to type for an option that a command does not have, or for one without its value.

    None: nothing is known.

    Parameters
    ----------
    error : ClickException
        That there is no such option, or another that names none.
    """
    option = str(getattr(error, "option_name", ""))
    context = getattr(error, "ctx", None)
    command = " ".join(str(getattr(context, "command_path", "")).split()[1:])
    if (command, option) in RENAMED:
        return _renamed({old: new for (of, old), new in RENAMED.items() if of == command})
    valued = next((p for p in _options(context) if option in p.opts and not p.is_flag), None)
    if valued is not None:
        return f"{option} {valued.metavar}"
    return GONE.get((command, option)) or HYPERFINE.get(option)


def _options(context: Any) -> list[Any]:
    params = getattr(getattr(context, "command", None), "params", ())
    return [one for one in params if one.param_type_name == "option"]


def _renamed(names: dict[str, str]) -> str:
    """Return the command line with the names that options have now."""
    typed = sys.argv[1:]
    own = typed.index("--") if "--" in typed else len(typed)
    words = []
    for word in typed[:own]:
        option, equals, value = word.partition("=")
        words.append(names.get(option, option) + equals + value)
    return shlex.join(["tare", *words, *typed[own:]])
