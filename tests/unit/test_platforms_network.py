"""Which platforms can be a host of an emulated network, and that they keep it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from said import args
from test_platforms_sandboxes import ARGV, GUEST, HOST, PLACE, bundle

from tare import platforms
from tare.errors import PlatformError
from tare.experiment.availability_filter import _outside
from tare.experiment.specification import Experiment
from tare.platforms import isolate
from tare.platforms.bubblewrap import UNIT as BUBBLEWRAP
from tare.platforms.isolate import UNIT as ISOLATE
from tare.platforms.layer import Layer
from tare.platforms.nspawn import UNIT as NSPAWN
from tare.platforms.podman import UNIT as PODMAN
from tare.platforms.runc import UNIT as RUNC
from tare.platforms.unshare import UNIT as UNSHARE
from tare.platforms.vm import qemu
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


def asked(stack: str) -> Experiment:
    return Experiment(
        name="x",
        question="?",
        workloads=(WorkloadSpec(name="a", command=("true",)),),
        factors={"network": ("none",), "platform": (stack,)},
    )


@pytest.mark.parametrize(
    ("stack", "layer"),
    [
        ("ssh:box", "ssh"),
        ("docker/gvisor", "gvisor"),
        ("docker/docker", "docker"),
        ("vm/gvisor", "gvisor"),
    ],
)
def test_others_are_refused_before_anything_starts(stack: str, layer: str) -> None:
    found = _outside(asked(stack), stack)
    assert found is not None
    assert not found.works
    assert args(found.why, "cannot be a") == {"layer": layer}
    assert _outside(msgspec.structs.replace(asked(stack), factors={}), stack) is None
    with pytest.raises(PlatformError, match="cannot be a host"):
        platforms.start(stack, NETWORK)


@pytest.mark.parametrize(
    ("stack", "end"),
    [
        ("bare", "host"),
        ("podman", "host"),
        ("cgroup/unshare/runc", "host"),
        ("docker", "container"),
        ("docker/bubblewrap", "container"),
        ("gvisor", "own_namespace"),
        ("vm/runc", "tap"),
        ("vm/docker", "tap"),
    ],
)
def test_what_can_be_a_host_is_not_refused(
    stack: str, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert platforms.own_network(stack) is None
    assert platforms.network_end(stack) == end
    assert _outside(asked(stack), stack) is None


@pytest.mark.parametrize("stack", ["docker", "podman", "gvisor", "vm"])
def test_a_user_has_fewer_hosts(stack: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    found = _outside(asked(stack), stack)
    assert found is not None
    assert args(found.why, "can be a") == {}
    assert _outside(asked("runc"), "runc") is None


@pytest.mark.parametrize("stack", ["docker", "podman"])
def test_no_container_is_in_two_networks(stack: str) -> None:
    both = msgspec.structs.replace(asked(stack), platforms={stack: {"network": "bridge"}})
    found = _outside(both, stack)
    assert found is not None
    assert args(found.why, "as in the") == {"layer": stack, "network": "bridge"}


def test_a_container_keeps_the_network_that_is_around_podman() -> None:
    assert "--network=host" in PODMAN.wrap(ARGV, GUEST, NETWORK)
    assert "--network=none" in PODMAN.wrap(ARGV, GUEST, PLACE)


def test_a_guest_opens_its_interface() -> None:
    assert "-netdev" not in _words(None)
    words = _words("t65")
    assert words[words.index("-netdev") + 1].startswith("tap,id=net,ifname=t65,")


def _words(interface: str | None) -> list[str]:
    with tempfile.TemporaryFile() as initramfs:
        return qemu.command(_guest(interface, initramfs), 3, 4, 5)


def _guest(interface: str | None, initramfs: Any) -> qemu.Guest:
    return qemu.Guest(
        name="tare-0123ab-0",
        board=qemu.board(),
        accelerator="tcg",
        cpu="max",
        firmware=(),
        processors=1,
        memory_bytes=1 << 28,
        kernel=Path("/boot/vmlinuz"),
        words="quiet",
        initramfs=initramfs,
        disk=None,
        store=None,
        interface=interface,
        start_s=1.0,
    )
