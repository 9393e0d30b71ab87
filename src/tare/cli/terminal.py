"""The consoles: what they print holds no orders to a terminal but their own."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from tare.cli.terminated import reader_gone
from tare.render.escaping import ORDERS, harmless, in_one_item

#: Width at which no line is broken.
_UNLIMITED = 100_000


def line_width(to: Console) -> int:
    """Return how long the lines of a report may be: everywhere else than in a terminal, any length.

    A variable COLUMNS that is exported limits them as well.
    """
    return to.width if to.is_terminal or os.environ.get("COLUMNS") else _UNLIMITED


class _Harmless(Console):
    """A console whose orders to the terminal are all its own.

    Each text that is printed is one item: of several lines, the others are indented. Only in a
    terminal are lines broken between words.
    """

    def print(self, *objects: Any, **options: Any) -> None:
        options.setdefault("soft_wrap", not self.is_terminal)
        items = (in_one_item(one) if isinstance(one, str) else one for one in objects)
        super().print(*items, **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control or not ORDERS.search(segment.text):
                yield segment
            else:
                yield Segment(harmless(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        self.quiet = True
        reader_gone()


#: Answers go to standard output, progress and warnings to standard error. No markup: what is
#: printed holds names that people chose.
out = _Harmless(highlight=False, markup=False, emoji=False)
err = _Harmless(stderr=True, highlight=False, markup=False, emoji=False)
