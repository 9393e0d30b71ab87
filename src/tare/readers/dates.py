"""What rows are ordered by: numbers, or dates as seconds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tare.readers.cells import Cells
from tare.readers.series import FloatArray


class Times:
    """Turns a column that gives the order of time into numbers, chunk by chunk."""

    def __init__(self) -> None:
        #: Dates count from the first of them, since a double cannot tell nanoseconds since 1970
        #: apart.
        self._first: int | None = None

    def numbers(self, column: pa.Array) -> FloatArray | None:
        """Convert.

        Returns
        -------
        array, shape (n,), or None
            Numbers as they are, dates (ISO 8601, or with slashes) in seconds; NaN where there is
            neither. None where no row has either.
        """
        if pa.types.is_floating(column.type):
            return np.asarray(column.fill_null(np.nan), dtype=np.float64)
        if pa.types.is_string(column.type):
            numbers, _ = Cells(None).numbers(column)
            if np.isfinite(numbers).mean() > 0.5:
                return numbers
        return self._dates(column)

    def _dates(self, column: pa.Array) -> FloatArray | None:
        if pa.types.is_string(column.type):
            column = pc.replace_substring_regex(column, r"^(\d{4})/(\d\d)/(\d\d)", r"\1-\2-\3")
        try:
            dates = pd.to_datetime(column.to_pandas(), format="ISO8601", utc=True, errors="coerce")
            stamps = dates.astype("datetime64[ns, UTC]").astype("int64").to_numpy()
        except (ValueError, TypeError, OverflowError):
            return None
        absent = dates.isna().to_numpy()
        if absent.all():
            return None
        if self._first is None:
            self._first = int(stamps[~absent][0])
        seconds = (stamps - self._first) / 1e9
        seconds[absent] = np.nan
        return np.asarray(seconds)
