"""Numbers that somebody can have asked for: a plan may come from anywhere."""

from __future__ import annotations

from typing import Annotated

import msgspec

Count = Annotated[int, msgspec.Meta(ge=1, le=10**9)]
Bytes = Annotated[int, msgspec.Meta(ge=1, le=1 << 60)]
Positive = Annotated[float, msgspec.Meta(gt=0, le=1e9)]
Duration = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
Proportion = Annotated[float, msgspec.Meta(gt=0, lt=1)]
