"""A scheduling group for every session."""

from tare.host.settings.setting import FileSetting
from tare.registry import Description

UNIT = FileSetting(
    description=Description(
        name="autogroup",
        title="a scheduling group for every session",
        question="Does nice hold back what runs in another session?",
        source="sched(7), the autogroup feature",
    ),
    wanted="off",
    files=("/proc/sys/kernel/sched_autogroup_enabled",),
    words={"off": "0", "on": "1"},
)
