"""``tare compare``: which of two commands is faster."""
