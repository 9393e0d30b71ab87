"""The charts of the report, one file each."""
