"""Whether the processor itself runs a guest (KVM), or QEMU translates (TCG): that is emulation.

That ``/dev/kvm`` is there says little: on a machine that is a guest itself, guests may crash or
hang under it. So it is tried once, and what was seen is remembered for this process.
"""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tare.errors import PlatformError, TareError

DEVICE = "/dev/kvm"
#: A guest boots within a second under KVM; what takes longer than this hangs.
TRY_S = 8.0
#: One thread a virtual processor.
TCG = "tcg,thread=multi"

#: Under TCG alone, where time measures nothing: what a kernel spends its boot on (tests of its own
#: ciphers, waiting to learn how fast it waits) and what makes every instruction translated dear.
TCG_WORDS = (
    *("cryptomgr.notests", "mitigations=off", "no_timer_check", "audit=0"),
    *("rodata=off", "init_on_alloc=0"),
)
TCG_WORDS_OF = {"x86_64": ("lpj=10000000", "tsc=reliable", "no5lvl")}


class Accelerator(NamedTuple):
    """What runs a guest's instructions."""

    name: str
    #: Why it is not KVM, if it could have been.
    why: str | None = None

    @property
    def emulated(self) -> bool:
        """Whether instructions are translated."""
        return self.name != "kvm"

    @property
    def argument(self) -> str:
        """QEMU's word for it."""
        return TCG if self.emulated else "kvm"

    @property
    def words(self) -> tuple[str, ...]:
        """What it wants said to the kernel."""
        if not self.emulated:
            return ()
        return (*TCG_WORDS, *TCG_WORDS_OF.get(platform.machine(), ()))


KVM = Accelerator("kvm")

_trying = threading.Lock()
_tried: list[str | None] = []


def chosen(option: str, attempt: Callable[[Accelerator], None]) -> Accelerator:
    """Return what is to run a guest.

    Parameters
    ----------
    option : str
        ``auto``, ``kvm`` or ``tcg``.
    attempt : callable
        Boots a guest under an accelerator, within ``TRY_S``, and ends it.

    Raises
    ------
    PlatformError
        If KVM was asked for and this machine or user has none.
    """
    if option == "tcg":
        return Accelerator("tcg")
    absent = missing()
    if option == "kvm":
        if absent is not None:
            raise PlatformError(*absent)
        return KVM
    if absent is not None:
        return Accelerator("tcg", absent[0])
    with _trying:
        if not _tried:
            _tried.append(_refusal(attempt))
        return KVM if _tried[0] is None else Accelerator("tcg", _tried[0])


def missing() -> tuple[str, str] | None:
    """Return why KVM cannot be had, with what would mend it, as far as it is seen at once."""
    if not Path(DEVICE).exists():
        return f"there is no {DEVICE}", "sudo modprobe kvm_intel || sudo modprobe kvm_amd"
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        return f"this user may not open {DEVICE}", "sudo usermod -aG kvm $USER   (and log in anew)"
    return None


def _refusal(attempt: Callable[[Accelerator], None]) -> str | None:
    try:
        attempt(KVM)
    except TareError as error:
        words = " ".join(error.message.split())
        return f"a guest under KVM did not start: {words[:300]}"
    return None
