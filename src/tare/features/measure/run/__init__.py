"""``tare run``: one command or several, on any platform."""
