"""Stacks: parsed, started around a stand-in agent, and explained when they do not start."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tare import platforms
from tare.agent import client, record
from tare.errors import ExperimentError, PlatformError
from tare.platforms import stack
from tare.platforms.layer import Ground

STAND_IN = Path(__file__).parents[1] / "data" / "isolate" / "agent"


@pytest.fixture
def place(tmp_path: Path) -> platforms.Place:
    return platforms.Place(name="tare-0123ab-0", shared=str(tmp_path))


@pytest.fixture
def agent_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Put a shell script in the agent's place."""

    def put(script: str) -> None:
        path = tmp_path / "agent"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setattr(client, "binary", lambda: path)

    return put


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("dokker", "no platform layer 'dokker'"),
        ("", "no platform layer ''"),
        ("unshare/vm", "vm can only be the outermost layer"),
        ("unshare/bare", "bare can only be the outermost layer"),
        ("docker/", "no platform layer ''"),
    ],
)
def test_what_is_no_stack_is_refused_with_a_hint(written: str, words: str) -> None:
    with pytest.raises(ExperimentError, match=words) as caught:
        stack.layers(written)
    assert caught.value.hint


def test_every_stack_stands_on_a_ground() -> None:
    assert [layer.description.name for layer in stack.layers("unshare")] == ["bare", "unshare"]
    assert isinstance(stack.layers("docker/isolate")[0], Ground)


def test_doubles_are_never_offered() -> None:
    assert "null" not in platforms.offered()
    assert {"bare", "unshare", "docker", "isolate", "docker/isolate"} <= set(platforms.offered())
    with pytest.raises(ExperimentError) as caught:
        stack.layers("nonsense")
    assert caught.value.hint is not None
    assert "null" not in caught.value.hint


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"docker": {"imgae": "debian"}}, "has no 'imgae'"),
        ({"docker": {"network": "wifi"}}, "network = 'wifi'"),
        ({"docker": {"read_only": "yes"}}, "read_only = 'yes'"),
        ({"docker": {"image": 12}}, "image = 12"),
    ],
)
def test_wrong_options_name_themselves(
    place: platforms.Place, options: dict[str, dict[str, object]], words: str
) -> None:
    with pytest.raises(ExperimentError, match=words):
        platforms.start(
            "docker", platforms.Place(name=place.name, shared=place.shared, options=options)
        )


def test_the_null_platform_answers_jobs_with_nothing(place: platforms.Place) -> None:
    instance = platforms.start("null", place)
    speaking = instance.agent
    assert speaking.hello.version == "null"
    assert speaking.ask(record.MeasureSelf(id=speaking.next_id())) == []
    assert instance.host_pid is None
    assert instance.close() == []
    assert instance.close() == []


def test_an_agent_on_bare_lives_until_it_is_closed(
    place: platforms.Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "binary", lambda: STAND_IN)
    instance = platforms.start("bare", place)
    try:
        speaking = instance.agent
        assert speaking.ask(record.MeasureSelf(id=1)) == []
        assert instance.shared == place.shared
        assert Path(f"/proc/{speaking.hello.pid}/cmdline").exists()
    finally:
        instance.close()
    assert not Path(f"/proc/{speaking.hello.pid}").exists()


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo no room >&2; exit 3", "bare did not start: exit code 3: no room"),
        ("exit 0", "it said nothing"),
        ("echo '{nonsense'", "what it says is no record"),
        ("""echo '{"record":"done","id":1,"records":0}'""", "first record is not `hello`"),
        ("head -c 1100000 /dev/zero", "longer than"),
    ],
)
def test_an_agent_that_does_not_say_hello_is_a_platform_that_does_not_work(
    place: platforms.Place, agent_says: Callable[[str], None], script: str, words: str
) -> None:
    agent_says(script)
    with pytest.raises(PlatformError, match=words):
        platforms.start("bare", place)


def test_availability_is_tried_once_and_remembered(
    agent_says: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stack, "_tried", {})
    agent_says(f"echo x >>{tmp_path}/starts; echo broken >&2; exit 1")
    first = platforms.availability("bare")
    assert platforms.availability("bare") == first
    assert (tmp_path / "starts").read_text() == "x\n"
    assert not first.works
    assert "broken" in (first.why or "")


def test_availability_is_tried_again_with_another_path(
    agent_says: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stack, "_tried", {})
    agent_says(f"echo x >>{tmp_path}/starts; exit 1")
    platforms.availability("bare")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    platforms.availability("bare")
    assert (tmp_path / "starts").read_text() == "x\nx\n"


def test_a_missing_unshare_is_told(monkeypatch: pytest.MonkeyPatch, place: platforms.Place) -> None:
    monkeypatch.setattr(client, "binary", lambda: STAND_IN)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(PlatformError, match="unshare is not installed") as caught:
        platforms.start("unshare", place)
    assert (caught.value.hint or "").split() == ["sudo", "apt", "install", "util-linux"]


def test_refused_namespaces_name_the_switch(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: platforms.Place
) -> None:
    from tare.platforms import unshare

    stub = tmp_path / "unshare"
    stub.write_text(
        "#!/bin/sh\necho 'unshare: unshare failed: Operation not permitted' >&2\nexit 1"
    )
    stub.chmod(0o755)
    switch = tmp_path / "switch"
    switch.write_text("1\n")
    monkeypatch.setattr(client, "binary", lambda: STAND_IN)
    monkeypatch.setattr(unshare, "SWITCHES", ((str(switch), "1", "sysctl user.it=0"),))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(PlatformError, match="Operation not permitted") as caught:
        platforms.start("unshare", place)
    assert caught.value.hint == "sudo sysctl user.it=0"


@pytest.mark.parametrize(
    ("written", "options", "there"),
    [
        ("bubblewrap", {}, True),
        ("vm/runc", {}, True),
        ("podman", {"podman": {"image": None}}, True),
        ("podman", {"podman": {"image": "debian"}}, False),
        ("bubblewrap", {"bubblewrap": {"root": "/srv/root"}}, False),
        ("docker", {}, True),
        ("docker/bubblewrap", {}, False),
        ("docker/isolate", {}, True),
        ("docker", {"docker": {"image": "debian"}}, False),
        ("ssh:host/runc", {}, False),
    ],
)
def test_files_of_this_machine_are_where_every_layer_brings_them(
    written: str, options: dict[str, dict[str, str | None]], there: bool
) -> None:
    assert platforms.brings_files(written, options) is there
