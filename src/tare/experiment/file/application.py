"""From a folder with an ``application.toml`` to an application: hostile until parsed."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Literal, get_args

from tare import files, registry, units
from tare.applications import expressions
from tare.decoding import DecodeError, toml
from tare.errors import ExperimentError
from tare.experiment.file import file_kinds, keys, services
from tare.experiment.file.factors import RESERVED
from tare.experiment.file.table import File, Table, shown, suggestion
from tare.options import kinds
from tare.options.option import Key
from tare.registry import Parameter, expected
from tare.workloads import placeholders
from tare.workloads.application import (
    PROGRAMS,
    SCRATCH,
    Application,
    ApplicationMetric,
    Artefact,
    Check,
    Image,
    Intensity,
    OutputCheck,
    Tasks,
)

FILE = "application.toml"
#: Where it is described.
DOCUMENT = "docs/applications.md"
#: Folder of the applications that come with tare.
BUILT_IN = Path(__file__).parents[2] / "applications" / "library"
#: No application needs more; what TOML is read with takes its time for hostile keys.
SIZE_LIMIT = 1 << 16
#: Of all files of a folder that go into an image.
MOST_FILES, MOST_BYTES = 10_000, 2 << 30

STREAM = kinds.choice(("stdout", "stderr"))
TABLES = (
    "application", "image", "prepare", "needs", "run", "tasks", *services.TABLES, "metrics",
    "check", "parameters",
)  # fmt: skip
#: Placeholders that are no parameters of the application.
FACTORS = (
    "workload", "platform", "workers", "pinning", "load", "size", placeholders.SEED,
    *placeholders.GIVEN,
)  # fmt: skip


def _inside(value: Any) -> str:
    path = PurePosixPath(str(kinds.NAME.read(value)))
    if path.is_absolute() or ".." in path.parts or path == PurePosixPath("."):
        raise ValueError
    return str(path)


def _in_scratch(value: Any) -> str:
    text = str(kinds.NAME.read(value)).removeprefix(f"{SCRATCH}/")
    return f"{SCRATCH}/{_inside(text)}"


PACKAGE = kinds.matching(
    "a Debian package", r"[a-z0-9][a-z0-9+.-]{1,200}(=[A-Za-z0-9.+:~-]{1,200})?"
)
SHA256 = kinds.matching("a SHA-256, 64 hexadecimal digits", r"[0-9a-f]{64}")
VERSION = kinds.matching("a version", r"[A-Za-z0-9][A-Za-z0-9.+_!-]{0,100}")

REGISTRIES: tuple[Literal["maven", "pypi"], ...] = ("maven", "pypi")

APPLICATION = (
    Key(
        "name",
        kinds.matching("small letters, digits, - and _", r"[a-z0-9][a-z0-9_-]{0,60}"),
        "what it is called",
        required=True,
    ),
    Key("question", kinds.TEXT, "what its time answers", required=True),
    Key("source", kinds.TEXT, "where the method or the program comes from"),
    Key(
        "intensive",
        kinds.choice(get_args(Intensity)),
        "what it uses most: CPU time, network and disk (`io`), or both (`ultra-io`); by it, advice "
        "on the share of the host's cores (CHR) is divided",
    ),
    Key(
        "based_on",
        kinds.NAME,
        "another application, named as in `[[workload]]`: its image and files, and all of its "
        "other tables that this one does not have",
    ),
)
IMAGE = (
    Key(
        "packages",
        kinds.list_of(
            PACKAGE, 'a list of Debian packages, such as ["ffmpeg", "python3=3.11.2-1+b1"]'
        ),
        "Debian packages that it needs, with `=version` where that matters",
    ),
    Key(
        "suite",
        kinds.matching("a release of Debian", r"[a-z][a-z0-9-]{0,40}"),
        "Debian's release; by default that of the machine where the image is built",
    ),
    Key(
        "files",
        kinds.list_of(
            kinds.Kind("", _inside), "a list of files and folders beside application.toml"
        ),
        "files and folders beside application.toml that are put into `/application`",
    ),
    Key(
        "programs",
        kinds.list_of(
            kinds.choice(PROGRAMS), f"a list of programs that come with tare: {', '.join(PROGRAMS)}"
        ),
        "programs that come with tare and are put into `/application`",
    ),
    Key(
        "artefact_list",
        kinds.Kind("a file beside application.toml", _inside),
        "a file beside application.toml that lists artefacts, one a line: registry (`maven` or "
        "`pypi`), name, version, SHA-256",
    ),
    Key(
        "oci",
        kinds.matching("the name of an image", r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,250}"),
        "instead of packages: an image that the local Docker or Podman has",
    ),
    Key("root", kinds.TEXT, "instead of packages: a directory of this machine"),
)
ARTEFACT = (
    Key(
        "name",
        kinds.NAME,
        "`group:artifact` or `group:artifact:classifier` of Maven, or a project of PyPI",
        required=True,
    ),
    Key("version", VERSION, "its version", required=True),
    Key("sha256", SHA256, "what its file must be", required=True),
)
SDIST = Key(
    "sdist",
    kinds.list_of(
        kinds.matching("a path with *", r"!?[A-Za-z0-9_*][A-Za-z0-9_.+*/-]{0,200}"),
        'a list of paths with *, such as ["lib/*", "!lib/test*"]',
    ),
    "of PyPI, makes it a source distribution (`.tar.gz`) in the place of a wheel: what of its "
    "files is unpacked into `/application`; `*` is any text, and `!` leaves files out",
)
ARTEFACT_KEYS = {"maven": ARTEFACT, "pypi": (*ARTEFACT, SDIST)}
PREPARE = (
    Key(
        "commands",
        kinds.COMMANDS,
        "commands that run once before the first trial, in the image; what they leave in `/data` "
        "is kept and shown to every trial; with placeholders of parameters",
        required=True,
    ),
)
RUN = (
    Key(
        "command",
        kinds.COMMAND,
        "what a trial runs in the image, in `/tmp`: program and arguments, with placeholders of "
        "parameters and factors; no shell",
        required=True,
    ),
    Key("environment", kinds.TEXTS, "variables that it gets, with placeholders"),
)
TASKS = (
    Key(
        "results",
        kinds.Kind("a file or directory in /tmp", _in_scratch),
        "file or directory in `/tmp` that the command leaves, with a row for each task; with "
        "placeholders of parameters and factors",
        required=True,
    ),
    Key(
        "format",
        kinds.choice(("tasks", "spark")),
        "`tasks` (default): a CSV, whose times are of CLOCK_MONOTONIC; `spark`: Spark's event log, "
        "not compressed",
    ),
)
METRIC = (
    Key("meaning", kinds.TEXT, "what it is", required=True),
    Key("unit", kinds.NAME, "its unit as printed: s, ms, MB, MB/s, 1 …", required=True),
    Key("better", kinds.choice(("lower", "higher")), "which is better", required=True),
    Key("from", STREAM, "where it is printed; standard output by default", field="stream"),
    Key("pattern", file_kinds.NUMBER_PATTERN, "expression whose last match's group is the number"),
    Key(
        "json",
        kinds.matching("keys with dots between them", r"[^.\0]+(\.[^.\0]+)*"),
        "keys, with dots between them, of the number in the last line that is a JSON document",
    ),
    Key(
        "format",
        kinds.fitting("a format", lambda name: registry.units_of("format").get(name)),
        "format of all that is printed there, one of `tare describe formats`: the number is a "
        "statistic of its values",
    ),
    Key("series", kinds.NAME, "with `format`: what is measured, where several things are"),
    Key(
        "statistic",
        kinds.GATE_ON,
        "with `format`: `median` (default), `mean`, or a quantile such as `p99`",
        field="quantile",
    ),
    Key(
        "optional",
        kinds.FLAG,
        "`true`: a trial that does not print it is valid; it has no value of this metric",
    ),
)
OUTPUT = (
    Key("from", STREAM, "where it is printed; standard output by default", field="stream"),
    Key("pattern", file_kinds.PATTERN, "expression that must be found"),
    Key("equals", kinds.TEXT, "what the last match's group must be, with placeholders"),
    Key(
        "equals_file",
        kinds.Kind("a file in /data", lambda value: _inside(str(value).removeprefix("/data/"))),
        "the same: the content of a file that `prepare` left in `/data`",
    ),
    Key("minimum", kinds.NUMBER, "what the number in the last match's group must be at least"),
    Key("maximum", kinds.NUMBER, "what it must be at most"),
    Key("absent", file_kinds.PATTERN, "expression that must not be found"),
    Key("sha256", SHA256, "what the whole stream must be"),
)
CHECK = (
    Key(
        "exit_codes",
        kinds.list_of(kinds.whole(1, 255), "a list of exit codes"),
        "exit codes that are no failure beside 0",
    ),
    Key(
        "command",
        kinds.COMMAND,
        "runs after a trial where the trial ran, in none of its times; must exit with 0",
    ),
)
PARAMETER = (
    Key("meaning", kinds.TEXT, "what it is", required=True),
    Key("default", kinds.Kind("a number, a text, true or false", lambda value: value),
        "its value where none is given; `{cores}`: a whole number that follows the size",
        required=True),
    Key("unit", kinds.NAME, "its unit"),
    Key("minimum", kinds.NUMBER, "least value"),
    Key("maximum", kinds.NUMBER, "largest value"),
    Key("choices", kinds.NAMES, "all values that it can have"),
    Key("of", kinds.OF_VALUES, "with which values of other parameters it says something"),
    Key("path", kinds.FLAG, "`true`: its value is the path of a file or folder of this machine, "
        "which `prepare` and all trials have as `/data/NAME`; with an empty value there is none"),
)  # fmt: skip

#: What a printed unit is kept as: the end of the metric's name, and the factor.
_TIMES = {name: float(10**9 * seconds) for name, seconds in units.TIMES.items()}


def read(reference: str) -> Application:
    """Read an application.

    Parameters
    ----------
    reference : str
        Name of one that comes with tare; or a folder, with a slash in it.

    Raises
    ------
    ExperimentError
        Names the file, the key, and what was expected.
    """
    folder, text, values = _values(reference)
    base = _based_on(values, folder)
    if base is None:
        return parsed(values, text, folder)
    file = Table(File(str(folder / FILE)), "", values)
    try:
        origin, above, tables = _values(base)
    except ExperimentError as error:
        hint = f'"../{base}", where it is a folder next to this one' if "/" not in base else None
        raise file.table("application").error("based_on", error.message, hint) from error
    if _based_on(tables, origin) is not None:
        raise file.table("application").error("based_on", f"{base} is based on another one itself")
    if "image" in values:
        raise file.error("image", f"is that of {base}, on which this application is based")
    if "run" in values:
        tables = {name: one for name, one in tables.items() if name not in services.DRIVEN}
    return parsed({**tables, **values}, text + above, origin)


def _values(reference: str) -> tuple[Path, str, dict[str, Any]]:
    """Return an application's folder, and its file as a text and as values."""
    if "/" not in reference and reference not in (".", ".."):
        known = built_in()
        if reference not in known:
            hint = suggestion(reference, known)
            if Path(reference, FILE).is_file():
                hint = f"./{reference}   (a folder is named with a slash)"
            raise ExperimentError(f"there is no application {reference!r}", hint)
        folder = known[reference]
    else:
        folder = Path(reference).expanduser().absolute()
    text = _text(folder / FILE)
    try:
        values = toml(text)
    except DecodeError as error:
        raise ExperimentError(f"{folder / FILE} is no TOML: {error}", DOCUMENT) from error
    return folder, text, values


def _based_on(values: dict[str, Any], folder: Path) -> str | None:
    """Return how the application is named on which one is based; None: on none."""
    if "application" not in values:
        return None
    table = Table(File(str(folder / FILE)), "", values).table("application")
    name = table.read(APPLICATION).get("based_on")
    return str(folder / name) if name is not None and "/" in name else name


#: Sizes of services that leave one of two CPUs to the load generator.
_SERVING_CORES = (0.5, 1.0)


def template(reference: str) -> str:
    """Return an experiment file about an application, with all of its parameters."""
    found = read(reference)
    lines = [
        "[experiment]",
        f"name = {_toml(found.name)}",
        f"question = {_toml(found.question)}",
        "trials = 20",
        *(f"# metric = {_toml(metric.name)}   # {metric.meaning}" for metric in found.metrics),
        "skip_missing = true",
        "",
        "[[workload]]",
        f"application = {_toml(reference)}",
    ]
    for one in found.parameters:
        unit = f", in {one.unit}" if one.unit else ""
        lines.append(f"# {one.meaning}{unit}: {expected(one)}")
        lines.append(f"{one.name} = {_toml(one.default)}")
    lines += [
        "",
        "# A parameter may be a factor instead, with several levels: leave it out above then.",
        "[factors]",
        'platform = ["bare", "docker", "bubblewrap"]',
        *_sizes(found),
        "",
    ]
    return "\n".join(lines)


def _sizes(application: Application) -> list[str]:
    """Return the levels of the size; of services those that two CPUs have room for."""
    if application.driver is None:
        return ['size = ["1c", "2c"]']
    least = application.needs.cores or 0.0
    cores = [one for one in _SERVING_CORES if one >= least] or [float(math.ceil(least))]
    own = application.driver.cpus
    room = units.counted(math.ceil(cores[-1]) + own, "CPU")
    return [
        f"# On {room} or more, these leave {own} to the load generator. Larger sizes may share",
        "# CPUs with it: do not compare sizes of which one does.",
        f"size = {_toml([f'{one:g}c' for one in cores])}",
    ]


def _toml(value: Any) -> str:
    """Write a value as TOML does, whose texts are JSON's."""
    return json.dumps(value, ensure_ascii=False)


def built_in() -> dict[str, Path]:
    """Return the folders of the applications that come with tare, by name."""
    return {one.parent.name: one.parent for one in sorted(BUILT_IN.glob(f"*/{FILE}"))}


def _text(path: Path) -> str:
    try:
        with files.open_plain(path) as file:
            data = file.read(SIZE_LIMIT + 1)
    except OSError as error:
        raise ExperimentError(
            f"cannot read {path}: {error.strerror}",
            f"an application is a folder with an application.toml ({DOCUMENT})",
        ) from error
    if len(data) > SIZE_LIMIT:
        raise ExperimentError(f"{path} is larger than {SIZE_LIMIT} bytes: no application")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ExperimentError(f"{path} is no text in UTF-8: byte {error.start}") from error


def parsed(values: dict[str, Any], text: str, folder: Path) -> Application:
    """Read an application from what its TOML holds, and the text that goes into its digest."""
    file = Table(File(str(folder / FILE)), "", values)
    file.only(TABLES)
    for needed in ("application", "image"):
        if needed not in values:
            raise file.error(needed, "is missing", f"[{needed}] ({DOCUMENT})")
    serving = any(table in values for table in services.TABLES)
    driven = next((table for table in services.DRIVEN if table in values), None)
    if "run" in values and driven is not None:
        raise file.error(
            driven, "excludes run: a trial runs a command, or drives services", "remove one"
        )
    if "run" not in values and not serving:
        raise file.error("run", "is missing", f"[run], or [[services]] and [driver] ({DOCUMENT})")
    image = _image(file.table("image"), folder)
    parameters = tuple(_parameter(one) for one in file.table("parameters").subtables().values())
    _of_others(file.table("parameters"), parameters)
    prepare: tuple[tuple[str, ...], ...] = ()
    if "prepare" in values:
        prepare = file.table("prepare").read(PREPARE)["commands"]
    path = next((parameter.name for parameter in parameters if parameter.path), None)
    if path is not None and not prepare:
        raise file.error(f"parameters.{path}.path", "needs [prepare], which is given the file")
    check = _check(file.table("check"))
    names = [parameter.name for parameter in parameters]
    # What is prepared is the same for all sizes.
    fixed = [one.name for one in parameters if not registry.follows_size(one)]
    _placeholders(file.table("prepare"), {"commands": [w for one in prepare for w in one]}, fixed)
    texts: services.Texts = []
    run: dict[str, Any] = {}
    if "run" in values:
        run = file.table("run").read(RUN)
        environment = run.get("environment", {}).values()
        texts.append((file.table("run"), {"command": run["command"], "environment": environment}))
        run |= _tasks(file, texts)
    elif "tasks" in values:
        raise file.error("tasks", "is for what [run] runs", "remove it")
    if serving:
        serves = services.read(file)
        run |= {"reset": serves.reset, "services": serves.services, "driver": serves.driver}
        texts += serves.texts
        if serves.driver is not None and check.command is not None:
            raise file.table("check").error("command", "is for what [run] runs", "[[check.output]]")
    # Each host has an address of its own where several have services.
    own = (placeholders.HOST,) if serving and "run" in values else ()
    for table, some in texts:
        _placeholders(table, some, (*names, *FACTORS, *own), hosts=True)
    _placeholders(
        file.table("check"),
        {
            "command": check.command or (),
            "output": [one.equals for one in check.outputs if one.equals is not None],
        },
        (*names, *FACTORS),
    )
    metrics = tuple(_metric(one) for one in file.table("metrics").subtables().values())
    called = [metric.name for metric in metrics]
    twice = next((name for name in called if called.count(name) > 1), None)
    if twice is not None:
        raise file.error("metrics", f"two are kept as {twice}", "give one of them another name")
    about = file.table("application").read(APPLICATION)
    about.pop("based_on", None)
    return Application(
        **about,
        folder=str(folder),
        digest=_digest(file, text, folder, image),
        image=image,
        prepare=prepare,
        needs=services.needs(file.table("needs")),
        **run,
        metrics=metrics,
        check=check,
        parameters=parameters,
    )


def _tasks(file: Table, texts: services.Texts) -> dict[str, Tasks]:
    """Read where a job leaves its tasks, if it does."""
    if "tasks" not in file.values:
        return {}
    table = file.table("tasks")
    found = Tasks(**table.read(TASKS))
    texts.append((table, {"results": [found.results]}))
    return {"tasks": found}


def _image(table: Table, folder: Path) -> Image:
    table.only([*(key.name for key in IMAGE), *REGISTRIES])
    given = table.part(key.name for key in IMAGE).read(IMAGE)
    artefacts = tuple(
        Artefact(registry=registry, **one.read(ARTEFACT_KEYS[registry]))
        for registry in REGISTRIES
        for one in table.tables(registry)
    )
    if "artefact_list" in given:
        artefacts += _listed(table, folder, given["artefact_list"])
    ways = [way for way in ("packages", "oci", "root") if given.get(way)]
    if len(ways) != 1:
        raise table.error(
            ways[1] if ways else None,
            f"excludes {ways[0]}" if ways else "expected packages, oci or root",
            'packages = ["ffmpeg"], oci = "name:tag", or root = "DIR"',
        )
    if given.get("root"):
        given["root"] = str((folder / given["root"]).expanduser())
    return Image(**given, artefacts=artefacts)


def _listed(table: Table, folder: Path, name: str) -> tuple[Artefact, ...]:
    """Read a list of artefacts: one a line, with its registry before its keys."""
    found = []
    for number, line in enumerate(_text(folder / name).splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        try:
            registry, *values = words
            about = {key.name: key.kind.read(v) for key, v in zip(ARTEFACT, values, strict=True)}
            found.append(Artefact(registry=kinds.choice(REGISTRIES).read(registry), **about))
        except ValueError:
            raise table.error(
                "artefact_list",
                f"{name}, line {number}: {shown(line)} is no artefact",
                "maven GROUP:ARTIFACT VERSION SHA256",
            ) from None
    return tuple(found)


def _metric(table: Table) -> ApplicationMetric:
    given = table.read(METRIC)
    stem = table.path.rpartition(".")[2]
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,60}", stem, re.ASCII):
        raise table.error(None, "is no name of a metric", "small letters, digits and _")
    if len(ways := [way for way in ("pattern", "json", "format") if way in given]) != 1:
        raise table.error(None, "expected one of pattern, json, format")
    for key, field in (("series", "series"), ("statistic", "quantile")):
        if field in given and ways != ["format"]:
            raise table.error(key, "needs format")
    if ways == ["format"]:
        given["quantile"] = kinds.quantile_of(given.get("quantile", "median"))
    if given["unit"] in _OTHER_TIMES:
        raise table.error("unit", f"{given['unit']} is not known", _OTHER_TIMES[given["unit"]])
    end, scale = _kept(given["unit"])
    name = stem if stem.endswith(end) else f"{stem}{end}"
    keys_ = given.pop("json", None)
    return ApplicationMetric(
        name=name, scale=scale, json=None if keys_ is None else tuple(keys_.split(".")), **given
    )


#: What others call units of time that are known by another name.
_OTHER_TIMES = {
    "sec": "s", "secs": "s", "second": "s", "seconds": "s", "S": "s", "msec": "ms", "millis": "ms",
    "milliseconds": "ms", "usec": "us", "microseconds": "us", "nsec": "ns", "nanoseconds": "ns",
    "minutes": "min", "hours": "h",
}  # fmt: skip


def _kept(unit: str) -> tuple[str, float]:
    """Return how a unit is kept: what the metric's name ends with, and the factor."""
    if unit in _TIMES:
        return "_ns", _TIMES[unit]
    if unit in units.BYTES:
        return "_bytes", float(units.BYTES[unit])
    return "", 1.0


def _check(table: Table) -> Check:
    table.only([*(key.name for key in CHECK), "output"])
    given = table.part(key.name for key in CHECK).read(CHECK)
    outputs = []
    for one in table.tables("output"):
        found = one.read(OUTPUT)
        judged = [key for key in ("equals", "equals_file", "minimum", "maximum") if key in found]
        if judged and ("pattern" not in found or expressions.groups(found["pattern"]) != 1):
            raise one.error(judged[0], "needs a pattern with one group, which it is about")
        if not {"pattern", "absent", "sha256"} & set(found):
            raise one.error(None, "expected pattern, absent or sha256")
        outputs.append(OutputCheck(**found))
    return Check(**given, outputs=tuple(outputs))


def _parameter(table: Table) -> Parameter:
    given = table.read(PARAMETER)
    name = table.path.rpartition(".")[2]
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,40}", name, re.ASCII):
        raise table.error(None, "is no name of a parameter", "small letters, digits and _")
    taken = [key.name for key in (*keys.WORKLOAD, *keys.APPLICATION)]
    if name in taken or name in RESERVED or name in FACTORS:
        raise table.error(None, "has another meaning in experiments", "choose another name")
    if not isinstance(given["default"], bool | int | float | str):
        raise table.error("default", f"{shown(given['default'])} is not possible")
    if given.get("path") and given["default"] != "":
        raise table.error("default", "of a path is empty", 'default = ""')
    found = Parameter(name=name, **given)
    try:
        file_kinds.of(found).read(found.default)
    except ValueError:
        raise table.error("default", f"{shown(found.default)} is not in its own range") from None
    return found


def _of_others(table: Table, parameters: Iterable[Parameter]) -> None:
    """Refuse what depends on no other parameter, or on a value that it cannot have."""
    known = {one.name: one for one in parameters}
    for one in parameters:
        for name, values in (one.of or {}).items():
            if name not in known or name == one.name:
                raise table.error(f"{one.name}.of", f"{name} is no other parameter")
            possible = known[name].choices
            wrong = next((v for v in values if possible is not None and v not in possible), None)
            if wrong is not None:
                raise table.error(f"{one.name}.of", f"{name} is never {shown(wrong)}")


def _placeholders(
    table: Table, texts: Mapping[str, Any], known: Any, *, hosts: bool = False
) -> None:
    for key, some in texts.items():
        for text in some:
            try:
                used = placeholders.names(text)
            except ValueError as error:
                raise table.error(key, f"{shown(text)}: {error}", "{{ is a brace itself") from None
            for name in sorted(used.difference(known)):
                if hosts and name == placeholders.HOST:
                    raise table.error(
                        key, "there is no {host}", "{host1}: the services; {host2}: their driver"
                    )
                # Whether there is a network, the experiment says.
                if hosts and placeholders.is_of_hosts(name):
                    continue
                raise table.error(key, f"there is no parameter {{{name}}}", suggestion(name, known))


def _digest(file: Table, text: str, folder: Path, image: Image) -> str:
    """Hash the text and the files that it names, without following links out of the folder."""
    found = hashlib.sha256(text.encode())
    total = 0
    listed = () if image.artefact_list is None else (image.artefact_list,)
    for count, path in enumerate(_all(file, folder, (*image.files, *listed))):
        about = path.lstat()
        total += about.st_size
        if count >= MOST_FILES or total > MOST_BYTES:
            most = f"{MOST_FILES} files or {MOST_BYTES} bytes"
            raise file.error("image.files", f"are more than {most}")
        found.update(f"\0{path.relative_to(folder)}\0{stat.S_IMODE(about.st_mode):o}\0".encode())
        with files.open_plain(path) as one:
            while part := one.read(1 << 20):
                found.update(part)
    return found.hexdigest()


def _all(file: Table, folder: Path, named: tuple[str, ...]) -> Iterator[Path]:
    """Yield the plain files that are named, and those of folders; links are refused."""
    for name in named:
        top = folder / name
        several = [Path(at) / one for at, _, some in os.walk(top) for one in sorted(some)]
        for path in sorted(several) if top.is_dir() and not top.is_symlink() else [top]:
            if not str(path).isprintable():
                raise file.error("image.files", f"{shown(str(path))} cannot be printed")
            try:
                mode = path.lstat().st_mode
            except OSError as error:
                raise file.error("image.files", f"{name}: {error.strerror}") from error
            if not stat.S_ISREG(mode):
                raise file.error("image.files", f"{path.relative_to(folder)} is no plain file")
            yield path
