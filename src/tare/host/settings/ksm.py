"""Pages of the same content, merged."""

from tare.host.settings.setting import FileSetting
from tare.registry import Description

UNIT = FileSetting(
    description=Description(
        name="ksm",
        title="merging pages of the same content",
        question="May writes meet pages that have to be copied first?",
        source="Documentation/admin-guide/mm/ksm.rst",
    ),
    wanted="off",
    files=("/sys/kernel/mm/ksm/run",),
    words={"off": "0", "on": "1", "unmerge": "2"},
)
