"""Applications: real programs with what they run in, as folders of data; built and judged here."""
