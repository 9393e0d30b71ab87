"""Whether the processor itself runs a guest (KVM), or QEMU translates (TCG): that is emulation.

That ``/dev/kvm`` is there says little: on a machine that is a guest itself, guests may crash or
hang under it. So it is tried once, and what was seen is remembered for this process.
"""

from __future__ import annotations

import os
import platform
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tare.agent.client import SilenceError
from tare.errors import PlatformError, TareError

DEVICE = "/dev/kvm"
#: A guest boots within a second under KVM; what takes longer than this hangs.
TRY_S = 8.0
#: Most characters of an error's reason, which may contain the end of the guest's console.
_MOST_LETTERS = 300
#: Accelerator option of QEMU's emulation, with one thread per virtual CPU.
TCG = "tcg,thread=multi"

#: Under TCG alone, where time measures nothing: what a kernel spends its boot on (tests of its own
#: ciphers, keys for signatures of modules) and what makes every instruction translated dear.
TCG_WORDS = (
    *("cryptomgr.notests", "initcall_blacklist=load_system_certificate_list"),
    *("mitigations=off", "rodata=off", "init_on_alloc=0", "audit=0"),
)
#: The same for x86: five levels of pages; a test of the timer that a busy host makes fail.
X86_WORDS = ("no5lvl", "no_timer_check")
#: A firmware that does nothing but start a kernel, which comes with QEMU.
FIRMWARE = Path("/usr/share/qemu/qboot.rom")
CPUINFO = Path("/proc/cpuinfo")


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
        if platform.machine() != "x86_64":
            return TCG_WORDS
        return (*TCG_WORDS, *X86_WORDS, *_ticks())

    @property
    def firmware(self) -> tuple[str, ...]:
        """QEMU's words for what starts the kernel: under TCG the usual one takes half a second."""
        lean = self.emulated and platform.machine() == "x86_64" and FIRMWARE.exists()
        return ("-bios", str(FIRMWARE)) if lean else ()


KVM = Accelerator("kvm")


def _ticks() -> tuple[str, ...]:
    """Tell a kernel how fast its counter of ticks is: TCG hands through that of the host.

    To measure it takes time, and on a busy host fails by factors, which the guest's clock would
    then be wrong by. It is measured nevertheless, and what differs by less than 1 % is kept.
    """
    found = re.search(r"^bogomips\s*:\s*([0-9.]+)$", CPUINFO.read_text(), re.MULTILINE)
    if found is None:
        return ()
    # Of every x86 with such a counter it is two millionths of what that counts in a second.
    khz = round(float(found.group(1)) * 500)
    # Ticks in each of 250 interrupts a second: what short delays are counted by.
    return (f"tsc_early_khz={khz}", "tsc=reliable", f"lpj={khz * 4}")


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
        If KVM was asked for, and this machine or user has none, or no guest starts under it.
    """
    if option == "tcg":
        return Accelerator("tcg")
    absent = missing()
    why = _attempted(attempt) if absent is None else absent[0]
    if why is None:
        return KVM
    if option != "kvm":
        return Accelerator("tcg", why)
    if absent is not None:
        raise PlatformError(*absent)
    raise PlatformError(
        "KVM, with which the processor runs virtual machines, does not work on this machine: "
        f"{why}",
        "a physical machine, or a virtual one whose host permits nested virtualization; "
        'accelerator = "tcg" under [platforms.vm] emulates it, but its times measure no VM',
    )


def missing() -> tuple[str, str] | None:
    """Return why KVM cannot be had, with what would mend it, as far as it is seen at once."""
    if not Path(DEVICE).exists():
        return (
            f"this machine has no KVM ({DEVICE}), with which the processor runs virtual machines",
            "sudo modprobe kvm_intel || sudo modprobe kvm_amd   (a virtual machine needs nested "
            "virtualization, which its host permits)",
        )
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        return (
            f"this user may not use KVM ({DEVICE})",
            "sudo usermod -aG kvm $USER   (and log in anew)",
        )
    return None


def _attempted(attempt: Callable[[Accelerator], None]) -> str | None:
    """Return why no guest starts under KVM; None: one does. Tried once."""
    with _trying:
        if not _tried:
            _tried.append(_refusal(attempt))
        return _tried[0]


def _refusal(attempt: Callable[[Accelerator], None]) -> str | None:
    try:
        attempt(KVM)
    except SilenceError as error:
        last = f"; {error.context}" if error.context else ""
        return _shortened(f"a virtual machine did not start within {TRY_S:.0f} s{last}")
    except TareError as error:
        return _shortened(f"a virtual machine did not start: {error.message}")
    return None


def _shortened(words: str) -> str:
    return " ".join(words.split())[:_MOST_LETTERS]
