"""Whether memory comes in pages of 2 MiB where a program did not ask for them: by luck."""

from tare.host.settings.setting import FileSetting
from tare.registry import Description
from tare.results.message import message

UNIT = FileSetting(
    description=Description(
        name="huge_pages",
        title="huge pages",
        question="Does memory come in pages of one size, every time?",
        source="Documentation/admin-guide/mm/transhuge.rst; "
        "measured: 167 ns against 201 ns a load at 256 MiB on a virtual EPYC",
    ),
    order=31,
    effect=message("about 20 % of the latency of memory beyond the caches"),
    why=message("whether a run gets huge pages depends on how fragmented memory is at its start"),
    wanted="madvise",
    files=("/sys/kernel/mm/transparent_hugepage/enabled",),
    words={"always": "always", "madvise": "madvise", "never": "never"},
    good=("madvise", "never"),
    bad_for=("memory",),
)
