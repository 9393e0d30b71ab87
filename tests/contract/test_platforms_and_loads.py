"""What holds for every layer and every load that the registry finds."""

from __future__ import annotations

from typing import Any

import pytest

from tare import platforms, registry
from tare.platforms import Place
from tare.platforms.layer import Ground, Layer, View
from tare.platforms.stack import layers
from tare.registry import checked

LAYERS: dict[str, Layer] = registry.units_of("platform")
UNITS: list[tuple[str, Any]] = [
    (f"{kind}/{name}", unit)
    for kind in ("platform", "load")
    for name, unit in registry.units_of(kind).items()
]


@pytest.mark.parametrize(("_name", "unit"), UNITS, ids=[name for name, _ in UNITS])
def test_its_defaults_are_what_it_accepts(_name: str, unit: Any) -> None:
    defaults = {p.name: p.default for p in unit.description.parameters if p.default is not None}
    assert checked("here", unit.description, defaults) == checked("here", unit.description, {})


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_stands_first_or_wraps(name: str) -> None:
    layer = LAYERS[name]
    place = Place(name="tare-0123ab-0", shared="/dev/shm/tare-0123ab")
    outer = View(agent="/outer/tare-agent", shared=place.shared)
    inside = layer.view(outer, place)
    assert inside.agent.endswith("/tare-agent")
    if isinstance(layer, Ground):
        assert layers(name) == [layer]
    else:
        argv = [inside.agent, "serve", "--name", place.name]
        wrapped = layer.wrap(argv, outer, place)
        layer.ended(place)
        assert wrapped != argv
        assert all(any(word in part for part in wrapped) for word in argv)
        # What needs no program of the machine is made by the agent.
        assert layer.needs or "nest" in wrapped


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_has_nothing_to_say_to_what_it_does_not_know(name: str) -> None:
    assert LAYERS[name].mend("something else altogether") is None


def test_what_is_offered_are_stacks() -> None:
    for stack in platforms.offered():
        assert not any(layer.double for layer in layers(stack))
