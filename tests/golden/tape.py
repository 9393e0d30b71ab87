"""What a command was told by the outside, in order, and the clock that it was told it by."""

from __future__ import annotations

import json
import lzma
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

_REPOSITORY = Path(__file__).resolve().parents[2]
#: That a tape has to have it.
_ASKED = object()


class Tape:
    """Values of named tracks, each in its own order.

    A track is one source of what a command cannot know by itself: a file of the kernel, the answer
    to one job, a program's output. What a changed program asks for in another order is answered
    alike, as long as it asks each source for the same.

    Parameters
    ----------
    path : Path
        Of the file.
    recording : bool
        Whether what comes is written down, rather than handed out.
    """

    def __init__(self, path: Path, *, recording: bool) -> None:
        self._path = path
        self.recording = recording
        #: By track: moment (ns since the beginning) and value.
        self._tracks: dict[str, list[tuple[int, Any]]] = {}
        self._taken: Counter[str] = Counter()
        #: Moment of the latest value that was handed out, and what was slept since.
        self.now_ns = 0
        self.live_ns: Callable[[], int] = lambda: 0
        if not recording:
            self._tracks = json.loads(lzma.decompress(path.read_bytes()))

    def through(self, track: str, make: Callable[[], Any], absent: Any = _ASKED) -> Any:
        """Return what comes from outside: made and written down, or the next that was.

        The last value of a track stays: a file that is read once more reads the same. ``absent``
        is what there is of what was not asked for when the tape was made; by default an error.
        """
        if self.recording:
            return self.note(track, make())
        values = self._tracks.get(track)
        if not values:
            if absent is _ASKED:
                raise LookupError(f"the tape has no {track}")
            return absent
        at, value = values[min(self._taken[track], len(values) - 1)]
        self._taken[track] += 1
        self.pass_to(at)
        return value

    def constant(self, track: str, make: Callable[[], Any]) -> Any:
        """Return what stays the same, such as who the user is; to ask for it takes no time.

        How often it is asked for depends on what else runs on the machine: users of files and of
        control groups are compared with it.
        """
        if self.recording:
            return self.note(track, make())
        if track not in self._tracks:
            raise LookupError(f"the tape has no {track}")
        return self._tracks[track][0][1]

    def pass_to(self, moment_ns: int) -> None:
        """Let time pass, up to when something came."""
        self.now_ns = max(self.now_ns, moment_ns)

    def note(self, track: str, value: Any) -> Any:
        """Write one value down, and return it: what grows later is written as it is at last."""
        self.pass_to(self.live_ns())
        self._tracks.setdefault(track, []).append((self.now_ns, value))
        return value

    def save(self) -> None:
        """Write the file."""
        text = json.dumps(self._tracks, separators=(",", ":"), ensure_ascii=False)
        # Where things lie on the machine that it was recorded on is nobody's business.
        for place, name in ((_REPOSITORY, "/opt/tare"), (sys.base_prefix, "/opt/python")):
            text = text.replace(str(place), name)
        self._path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
