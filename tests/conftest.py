"""No test asserts how long anything takes, generated examples included."""

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

settings.register_profile("tare", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tare")


class _OneMachine(LoadScopeScheduling):
    """Keeps the tests that use the machine in one process, one after another, among several.

    xdist's own groups come to nothing, without a word, where pytest is newer than it.
    """

    def _split_scope(self, nodeid: str) -> str:
        return "machine" if nodeid.startswith("tests/system/") else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> _OneMachine:
    return _OneMachine(config, log)
