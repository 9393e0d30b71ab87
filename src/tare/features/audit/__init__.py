"""``tare audit``: what the results of other tools say, and how far they can be trusted."""
