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
    effect=message("50 % of a CPU instead of 1.5 % for a job at nice 19 next to one at nice 0"),
    why=message(
        "nice has no effect across sessions: a job at nice 19 in another terminal still gets "
        "half a CPU"
    ),
    wanted="off",
    files=("/proc/sys/kernel/sched_autogroup_enabled",),
    words={"off": "0", "on": "1"},
    good=("off",),
    bad_for=("times", "parallel"),
    verdict="warn",
)
