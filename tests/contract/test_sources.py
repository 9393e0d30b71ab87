"""The map of purposes: what it names exists, and everything that tare offers is in it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tare import platforms, registry, wiring
from tare.errors import UsageError
from tare.experiment.catalogue import catalogue
from tare.experiment.file import keys
from tare.options import shared
from tare.options.command import find, leaves
from tare.options.option import Option, named

ROOT = Path(__file__).parents[2]
PURPOSES: dict[str, Any] = tomllib.loads((ROOT / "docs/explanation/sources.toml").read_text())
ITEMS = [(document["name"], item) for document in PURPOSES["document"] for item in document["item"]]
NEEDS = [(role["name"], item) for role in PURPOSES["role"] for item in role["item"]]
NAMED = {by for _, item in (*ITEMS, *NEEDS) for by in item["by"]}
#: Options that several commands have, besides those of `tare.options.shared`.
SEVERAL = {
    "--bisect", "--budget", "--fingerprint", "--hosts", "--image", "--min-trials",
    "--output",    "--platform", "--size", "--warmup", "--workers",
}  # fmt: skip
#: Help of the options that several commands have.
SHARED = {one.help for one in vars(shared).values() if isinstance(one, Option)}
STATUSES = ("full", "partly", "not here")


def exists(by: str) -> bool:
    """Whether a file, command, key or unit that the map names is there."""
    kind, _, name = by.partition(" ")
    match kind:
        case "tare":
            return is_command(name.split())
        case "kernel" | "probe":
            return name in getattr(catalogue(), f"{kind}s")
        case "platform":
            return all(registry.units_of("platform")[layer] for layer in name.split("/"))
        case "key":
            part, _, key = name.partition(".")
            known = {
                "experiment": (*keys.EXPERIMENT, *keys.STOPPING),
                "workload": (*keys.WORKLOAD, *keys.KERNEL),
            }
            return key in [one.name for one in known[part]]
        case "application":
            return (ROOT / "src/tare/applications/library" / name).is_dir() or any(
                (ROOT / "src/tare/applications/library").glob(f"*/{name}*")
            )
    if kind in registry.PACKAGES:
        return name in registry.units_of(kind)
    return (ROOT / by).is_file()


def is_command(words: list[str]) -> bool:
    try:
        _, found, used = find(wiring.ROOT, words)
    except UsageError:
        return False
    return all(word in named(found.options) for word in words[used:] if word.startswith("--"))


@pytest.mark.parametrize(("document", "item"), ITEMS, ids=lambda x: str(x)[:40])
def test_what_repeats_an_item_exists(document: str, item: dict[str, Any]) -> None:
    assert {*item} <= {"item", "where", "status", "why", "by"}
    status = item.get("status", "full")
    assert status in STATUSES
    assert ("why" in item) == (status != "full")
    assert item["by"]
    assert [by for by in item["by"] if not exists(by)] == []


@pytest.mark.parametrize(("role", "item"), NEEDS, ids=lambda x: str(x)[:40])
def test_what_serves_a_role_exists(role: str, item: dict[str, Any]) -> None:
    assert {*item} == {"item", "where", "by"}
    assert (ROOT / item["where"]).is_file()
    assert item["by"]
    assert [by for by in item["by"] if not exists(by)] == []


def offers() -> Iterator[str]:
    """Everything that a person can ask for, as the map would name it."""
    for kind in registry.PACKAGES:
        # A setting is a check as well.
        known = registry.units_of("setting") if kind == "check" else {}
        yield from (f"{kind} {name}" for name in registry.units_of(kind) if name not in known)
    for kind in ("kernel", "probe"):
        yield from (f"{kind} {name}" for name in getattr(catalogue(), f"{kind}s"))
    for file in (ROOT / "src/tare/applications/library").glob("*/application.toml"):
        yield f"application {file.parent.name}"
    for file in (ROOT / "examples").rglob("*.toml"):
        yield str(file.relative_to(ROOT))
    commands = dict(leaves(wiring.ROOT))
    yield from commands
    found = [
        (path, option.long, option.help)
        for path, command in commands.items()
        for option in command.options.records.values()
        if not option.is_argument
    ]
    skipped = SEVERAL | {name for _, name, meaning in found if meaning in SHARED}
    yield from (f"{path} {name}" for path, name, _ in found if name not in skipped)


def repeats_a_document(offer: str) -> bool:
    """Whether a unit names a document of the map as the source of its method."""
    kind, _, name = offer.partition(" ")
    unit = registry.units_of(kind).get(name) if kind in registry.PACKAGES else None
    source = unit.description.source if unit else None
    return bool(source) and source.startswith(tuple(one["name"] for one in PURPOSES["document"]))


def test_everything_that_tare_offers_serves_somebody() -> None:
    """A unit may name its document itself; an option that a few commands have is named once."""
    commands = {by.partition(" --")[0] for by in NAMED}
    options_named = {word for by in NAMED for word in by.split() if word.startswith("--")}
    missing = [
        offer
        for offer in offers()
        if not ({offer} & (NAMED | commands) or {offer.rpartition(" ")[2]} & options_named)
        and not repeats_a_document(offer)
    ]
    assert missing == []
    assert {"tare audit", "tare fingerprint", "tare net measure --pings"} <= {*offers()}


def test_what_does_not_exist_is_noticed() -> None:
    assert not exists("tare nothing")
    assert not exists("tare doctor --nothing")
    assert not exists("examples/nothing.toml")
    assert platforms.layers("docker/isolate")
