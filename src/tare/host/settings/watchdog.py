"""The kernel's watch over CPUs that do not answer, by a hardware counter of each."""

from tare.host.settings.setting import FileSetting
from tare.registry import Description
from tare.results.message import message

UNIT = FileSetting(
    description=Description(
        name="watchdog",
        title="watchdog",
        question="Does a counter of each CPU belong to the kernel?",
        source="Documentation/admin-guide/lockup-watchdogs.rst",
    ),
    order=43,
    effect=message("one of 4 to 8 counters, and some µs every 10 s"),
    why=message("one hardware counter fewer, and an interrupt that cannot be masked"),
    wanted="off",
    files=("/proc/sys/kernel/nmi_watchdog",),
    words={"on": "1", "off": "0"},
    good=("off",),
    bad_for=("times", "accounting"),
    verdict="warn",
)
