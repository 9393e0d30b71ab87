"""Sentences that several modules of this package share, as templates."""

RESULT_TEXTS = {
    "correct": "correct",
    "wrong": "wrong",
    "done": "done",
    "timeout": "timed out",
    "cpu_time": "out of CPU time",
    "out_of_memory": "out of memory",
    "output": "too much output",
    "processes": "too many processes",
    "crashed": "crashed",
    "killed": "killed",
    "unchecked": "unchecked",
    "lost": "lost",
    "unknown": "without an answer",
    "failed": "failed",
    "mixed": "mixed",
}
