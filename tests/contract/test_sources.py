"""The map of the documents: whatever it says repeats something exists."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer

from tare import platforms, registry
from tare.experiment.catalogue import catalogue
from tare.experiment.file import keys
from tare.wiring import command_line

ROOT = Path(__file__).parents[2]
DOCUMENTS: list[dict[str, Any]] = tomllib.loads(
    (ROOT / "docs/explanation/sources.toml").read_text()
)["document"]
ITEMS = [(document["name"], item) for document in DOCUMENTS for item in document["item"]]
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
        case "finding" | "chart" | "load":
            return name in registry.units_of(kind)
    return (ROOT / by).is_file()


def is_command(words: list[str]) -> bool:
    command: Any = typer.main.get_command(command_line())
    for word in words:
        if word.startswith("--"):
            return any(word in parameter.opts for parameter in command.params)
        if not hasattr(command, "commands"):
            return True
        if word not in command.commands:
            return False
        command = command.commands[word]
        if standard := getattr(command, "standard", None):
            following = words[words.index(word) + 1 :]
            if not following or following[0] not in command.commands:
                command = command.commands[standard]
    return True


@pytest.mark.parametrize(("document", "item"), ITEMS, ids=lambda x: str(x)[:40])
def test_what_repeats_an_item_exists(document: str, item: dict[str, Any]) -> None:
    assert {*item} <= {"item", "where", "status", "why", "by"}
    status = item.get("status", "full")
    assert status in STATUSES
    assert ("why" in item) == (status != "full")
    assert item["by"]
    assert [by for by in item["by"] if not exists(by)] == []


def test_each_example_of_an_experiment_repeats_something() -> None:
    named = {by for _, item in ITEMS for by in item["by"]}
    assert {"examples/stability.toml", "examples/calibrate.toml", "examples/pinning.toml"} <= named
    assert not exists("tare nothing")
    assert not exists("tare doctor --nothing")
    assert not exists("examples/nothing.toml")
    assert platforms.layers("docker/isolate")
