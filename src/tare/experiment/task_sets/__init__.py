"""Tasks that several configurations run: what each solves, how fast, and which one is best."""
