"""No test asserts how long anything takes, generated examples included."""

import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

# Whoever starts them in the background has them ignore what some tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

settings.register_profile("tare", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tare")

#: Tests of what killed sessions leave, of who cleans it away, and of settings of the machine: two
#: of them at once would clean each other's away.
_ONE_AFTER_ANOTHER = {
    "test_command_line", "test_doctor", "test_emulate_agent", "test_fingerprint",
    "test_load_stress_ng", "test_emulated_network", "test_measured_network", "test_network_factor",
    "test_platform_cleanup", "test_platform_engine", "test_platform_killed",
    "test_platform_podman", "test_platform_sandboxes", "test_platform_ssh", "test_platform_user",
    "test_platform_vm", "test_killed_early", "test_torture",
}  # fmt: skip


class _OneMachine(LoadScopeScheduling):
    """Keeps the tests that would disturb each other in one process, among several.

    xdist's own groups come to nothing, without a word, where pytest is newer than it.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        if Path(file).stem in _ONE_AFTER_ANOTHER:
            return "machine"
        return file if file.startswith("tests/system/") else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> _OneMachine:
    return _OneMachine(config, log)
