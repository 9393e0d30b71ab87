"""Docker images are shared by all users of a machine: a cleanup breaks no other user's session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tare import platforms
from tare.host import lease
from tare.host.lease import InUseError
from tare.platforms.docker import engine, image

pytestmark = pytest.mark.system


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[platforms.Place]:
    """Yield an instance's specification; its image is made for this test alone."""
    found = platforms.availability("docker")
    if not found.works:
        pytest.skip(f"docker: {found.why}")
    name = lease.new_name()
    digest = name.removeprefix("tare-") * 2
    monkeypatch.setattr(image.agent, "digest", lambda: digest)
    yield platforms.Place(name=f"{name}-0", shared=str(tmp_path))
    engine.remove_image(f"{image.REPOSITORY}:{digest}")


def test_an_image_that_is_removed_before_the_container_is_created_is_made_again(
    place: platforms.Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, made = image.own, []

    def removed_at_first(connected: object, *given: object) -> str:
        name = make(connected, *given)
        made.append(name)
        if len(made) == 1:
            engine.remove_image(name)
        return name

    monkeypatch.setattr(image, "own", removed_at_first)
    instance = platforms.start("docker", place)
    try:
        assert instance.agent.hello.pid == 1
    finally:
        instance.close()
    assert len(made) == 2


def test_an_image_of_which_a_container_runs_stays(place: platforms.Place) -> None:
    instance = platforms.start("docker", place)
    try:
        with pytest.raises(InUseError):
            engine.remove_image(f"{image.REPOSITORY}:{image.agent.digest()}")
    finally:
        instance.close()
