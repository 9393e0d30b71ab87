"""Charts of measured networks, one a file: each draws some series, and tells the same in words."""
