"""Where Spark cannot parse a query of TPC-DS as DuckDB has it: what is written instead, and why."""

from __future__ import annotations

import re

#: Queries, an expression, its replacement.
ADAPTED = [
    # What is between double quotes is a text for Spark; DuckDB, as the standard, names columns so.
    ((16, 32, 50, 62, 92, 94, 95, 99), r'"([^"]+)"', r"`\1`"),
]


def spark(number: int, query: str) -> str:
    """Return the text of a query for Spark."""
    query = query.strip().rstrip(";")
    for numbers, expression, replacement in ADAPTED:
        if number in numbers:
            query = re.sub(expression, replacement, query)
    return query
