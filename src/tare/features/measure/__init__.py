"""``tare run``, ``tare compare`` and what both share: commands compared in turns."""
