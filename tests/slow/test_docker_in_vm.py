"""An engine in a guest that tare made: minutes where the guest is emulated."""

from __future__ import annotations

from pathlib import Path

import pytest

from tare import platforms
from tare.agent import record
from tare.errors import PlatformError
from tare.host import lease

pytestmark = pytest.mark.slow


def test_an_engine_starts_in_a_guest_and_holds_its_container(tmp_path: Path) -> None:
    name = f"{lease.new_name()}-0"
    try:
        instance = platforms.start("vm/docker", platforms.Place(name=name, shared=str(tmp_path)))
    except PlatformError as error:
        if error.hint is None:
            raise
        pytest.skip(error.message)
    try:
        speaking = instance.agent
        assert speaking.hello.pid == 1
        assert instance.host_pid is None
        assert speaking.ask(record.MeasureSelf(id=speaking.next_id()), 60)
    finally:
        instance.close()
