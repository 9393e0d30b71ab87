"""``tare net plan``: repetitions and idle periods before anything is measured."""
