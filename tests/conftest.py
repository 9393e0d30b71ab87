"""No test asserts how long anything takes, generated examples included."""

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("tare", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tare")


# Before xdist looks which tests belong together.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests that use the machine in one process, one after another, when there are two."""
    for item in items:
        if item.get_closest_marker("system") is not None:
            item.add_marker(pytest.mark.xdist_group("machine"))
