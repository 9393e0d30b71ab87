"""Whether pages of the same content are merged."""

from tare.host.settings.setting import FileSetting
from tare.registry import Description
from tare.results.message import message

UNIT = FileSetting(
    description=Description(
        name="ksm",
        title="merged pages (KSM)",
        question="Do writes meet pages that have to be copied first?",
        source="Documentation/admin-guide/mm/ksm.rst; measured: a copy on write takes 1.8–2.0 µs",
    ),
    order=34,
    effect=message(
        "about 2 µs at the first write to each merged page, and a daemon that scans memory"
    ),
    why=message(
        "a first write to a merged page copies it, which also reveals who has the same page"
    ),
    wanted="off",
    files=("/sys/kernel/mm/ksm/run",),
    words={"off": "0", "on": "1", "unmerge": "2"},
    good=("off", "unmerge"),
    bad_for=("memory", "strangers"),
)
