"""``tare net``: networks measured, emulated, identified, planned with."""
