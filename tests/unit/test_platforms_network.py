"""Which platforms can be a host of an emulated network, and that they keep it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from said import args
from test_platforms_sandboxes import ARGV, HOST, PLACE, bundle

from tare import platforms
from tare.errors import PlatformError
from tare.experiment.availability_filter import _outside
from tare.experiment.specification import Experiment
from tare.platforms import isolate
from tare.platforms.bubblewrap import UNIT as BUBBLEWRAP
from tare.platforms.isolate import UNIT as ISOLATE
from tare.platforms.layer import Layer
from tare.platforms.nspawn import UNIT as NSPAWN
from tare.platforms.runc import UNIT as RUNC
from tare.platforms.unshare import UNIT as UNSHARE
from tare.workloads.specification import WorkloadSpec

NETWORK = msgspec.structs.replace(PLACE, network="/run/netns/tare-0123ab-1")


@pytest.mark.parametrize(
    ("unit", "own"),
    [(UNSHARE, "--net"), (BUBBLEWRAP, "--unshare-net"), (NSPAWN, "--private-network")],
)
def test_sandboxes_keep_the_network_that_is_around_them(unit: Layer, own: str) -> None:
    assert own in unit.wrap(ARGV, HOST, PLACE)
    assert own not in unit.wrap(ARGV, HOST, NETWORK)


def test_a_box_is_told_to_share_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolate, "CLAIMS", tmp_path)
    assert "--share-net" not in ISOLATE.wrap(ARGV, HOST, PLACE)[2]
    assert "--share-net" in ISOLATE.wrap(ARGV, HOST, NETWORK)[2]


def test_a_container_has_no_network_namespace_of_its_own_then() -> None:
    kinds = [
        {one["type"] for one in bundle(RUNC.wrap(ARGV, HOST, place))[1]["linux"]["namespaces"]}
        for place in (PLACE, NETWORK)
    ]
    assert kinds[0] - kinds[1] == {"network"}


@pytest.mark.parametrize("stack", ["docker", "docker/runc", "podman", "gvisor", "vm", "ssh:box"])
def test_others_are_refused_before_anything_starts(stack: str) -> None:
    asked = Experiment(
        name="x",
        question="?",
        workloads=(WorkloadSpec(name="a", command=("true",)),),
        factors={"network": ("none",), "platform": (stack,)},
    )
    found = _outside(asked, stack)
    assert found is not None
    assert not found.works
    assert args(found.why, "unfit.own_network") == {"layer": platforms.own_network(stack)}
    assert _outside(msgspec.structs.replace(asked, factors={}), stack) is None
    with pytest.raises(PlatformError, match="network of its own"):
        platforms.start(stack, NETWORK)


def test_what_keeps_it_is_not_refused() -> None:
    assert platforms.own_network("bare") is None
    assert platforms.own_network("cgroup/unshare/runc") is None
