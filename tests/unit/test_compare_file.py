"""``compare`` and ``gate`` in an experiment file: what they mean, what does not go with them."""

from __future__ import annotations

import pytest
from offered import catalogue

from tare.errors import ExperimentError
from tare.experiment.file import parse

FILE = """
[experiment]
name = "a"
question = "b?"
{experiment}
[[workload]]
name = "old"
command = ["./old"]
[[workload]]
name = "new"
command = ["./new"]
[factors]
platform = ["bare", "unshare"]
workers = [1]
"""


def read(text: str) -> object:
    return parse(FILE.format(experiment=text), "mine.toml", catalogue()).stopping


@pytest.mark.parametrize("factor", ["workload", "platform"])
def test_any_factor_with_levels_can_be_compared(factor: str) -> None:
    found = parse(FILE.format(experiment=f'compare = "{factor}"'), "x", catalogue()).stopping
    assert found.compare == factor
    assert found.gate is None
    assert found.budget_s == 600.0


def test_a_gate_is_a_share_and_a_fixed_number_goes_with_compare() -> None:
    text = 'compare = "workload"\ngate = "3%"\ntrials = 20'
    found = parse(FILE.format(experiment=text), "x", catalogue()).stopping
    assert (found.gate, found.trials) == (0.03, 20)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('compare = "plattform"', ["compare", "plattform", "platform"]),
        ('compare = "workers"', ["compare", "one level"]),
        ('gate = "3%"', ["gate", "compare"]),
        ('compare = "workload"\ngate = "3"', ["gate"]),
        ('compare = "workload"\nprecision = "1%"', ["precision", "excludes compare"]),
        ("min_trials = 44", ["min_trials", "compare"]),
        ('compare = "workload"\ntrials = 9\nmin_trials = 9', ["min_trials", "excludes trials"]),
        ('compare = "workload"\nquantile = "p95"', ["quantile", "excludes compare"]),
        ('compare = "workload"\nanytime = true', ["anytime", "excludes compare"]),
        ('compare = "workload"\nearly = true', ["early", "excludes compare"]),
        ('compare = "workload"\norder = "sequential"', ["order", "blocks"]),
    ],
)
def test_what_does_not_go_with_it_is_refused(text: str, words: list[str]) -> None:
    with pytest.raises(ExperimentError) as raised:
        read(text)
    told = f"{raised.value.message} {raised.value.hint or ''}"
    assert "mine.toml" in told
    for word in words:
        assert word in told
