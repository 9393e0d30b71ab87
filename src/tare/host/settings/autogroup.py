"""A scheduling group for every session: nice then reaches no further."""

from tare.host.settings.setting import FileSetting
from tare.registry import Description
from tare.results.message import message

UNIT = FileSetting(
    description=Description(
        name="autogroup",
        title="autogroup",
        question="Does nice hold back what runs in another session?",
        source="sched(7), the autogroup feature and the weights of nice values",
    ),
    order=40,
    effect=message("doctor.autogroup.effect"),
    why=message("doctor.autogroup.why"),
    wanted="off",
    files=("/proc/sys/kernel/sched_autogroup_enabled",),
    words={"off": "0", "on": "1"},
    good=("off",),
    bad_for=("times", "parallel"),
    verdict="warn",
)
