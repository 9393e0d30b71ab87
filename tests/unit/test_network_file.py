"""The network of an experiment file: what is read, and what is refused with what would do."""

from __future__ import annotations

import pytest
from test_experiment_file import HEAD, KERNEL, parse

from tare.errors import ExperimentError
from tare.experiment.specification import NetworkSpec

CLIENT = """
[[workload]]
command = ["client", "{hosts}", "{host2}", "{host_file}", "{network}"]
"""
BUCKET = "bucket high=2Gbit low=200Mbit budget=10Gbit refill=100Mbit"
LEVELS = f'[factors]\nnetwork = ["none", "{BUCKET}"]\n'


def test_levels_are_kept_as_they_are_written() -> None:
    asked = parse(HEAD + CLIENT + LEVELS)
    assert asked.factors["network"] == ("none", BUCKET)
    assert asked.network == NetworkSpec()
    assert asked.networked


def test_a_level_may_have_a_short_name() -> None:
    named = '[factors]\nnetwork = ["none", "slow"]\n[networks.slow]\nspec = "rate 200Mbit"\n'
    asked = parse(HEAD + CLIENT + named)
    assert asked.factors["network"] == ("none", "slow")
    assert (asked.shaped("slow"), asked.shaped("none")) == ("rate 200Mbit", "none")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('["./serve", "{host}"]', (("./serve", "{host}"),)),
        ('"./serve {host}"', (("./serve", "{host}"),)),
        ('[["a", "{hosts}"], ["b"]]', (("a", "{hosts}"), ("b",))),
    ],
)
def test_a_list_of_words_is_one_server(written: str, read: tuple[tuple[str, ...], ...]) -> None:
    asked = parse(HEAD + CLIENT + LEVELS + f"[network]\nserve = {written}\n")
    assert asked.network.serve == read


@pytest.mark.parametrize(
    ("written", "read"), [('"refill"', "refill"), ('"none"', "none"), ('"1 min"', 60.0)]
)
def test_rests_are_words_or_times(written: str, read: object) -> None:
    asked = parse(HEAD + CLIENT + LEVELS + f'[network]\nbudget = "carry"\nrest = {written}\n')
    assert asked.network.rest == read


@pytest.mark.parametrize(
    ("text", "complaint", "hint"),
    [
        (CLIENT, "{host2}", "network = ["),
        (KERNEL + "[network]\nhosts = 3\n", "network: says nothing without", "[factors]"),
        (
            CLIENT + LEVELS.replace("none", "bukket"),
            "factors.network: 'bukket'",
            "bucket",
        ),
        (CLIENT + LEVELS.replace("2Gbit", "2Gigs"), "factors.network: 'bucket", ""),
        (CLIENT + LEVELS + "[network]\nhosts = 0\n", "network.hosts: 0", ""),
        (
            CLIENT.replace(', "{host2}"', "") + LEVELS + '[network]\nhosts = 1\nserve = "a"\n',
            "network.serve: runs on every host but the first",
            "hosts = 2",
        ),
        (CLIENT + LEVELS + "[network]\nhosts = 1\n", "placeholder {host2}", "hosts = 2"),
        (CLIENT + LEVELS + '[network]\nserve = "a {hots}"\n', "network.serve: there is", "{{"),
        (CLIENT + LEVELS + '[network]\nserve = "a {size}"\n', "network.serve: there is", "host"),
        (CLIENT + LEVELS + "[network]\nserve = []\n", "network.serve: []", ""),
        (CLIENT + LEVELS + '[network]\nrest = "refill"\n', "network.rest: says nothing", "carry"),
        (
            CLIENT
            + LEVELS.replace("refill=100Mbit", "refill=0bit")
            + '[network]\nbudget = "carry"\nrest = "refill"\n',
            "factors.network: ",
            "",
        ),
        (
            CLIENT + LEVELS + '[networks.slow]\nspec = "rate 1Mbit"\n',
            "networks.slow: is no level",
            "add it to network",
        ),
        (
            CLIENT + LEVELS + '[networks.none]\nspec = "rate 1Mbit"\n',
            "networks.none: is unshaped",
            "another name",
        ),
        (
            CLIENT + '[factors]\nnetwork = ["slow"]\n[networks.slow]\nspec = "rate"\n',
            "factors.network: 'slow'",
            "rate",
        ),
        (
            CLIENT + '[factors]\nnetwork = ["slow"]\n[networks.slow]\n',
            "networks.slow.spec: is missing",
            "",
        ),
    ],
)
def test_complaints_say_what_and_what_would_do(text: str, complaint: str, hint: str) -> None:
    with pytest.raises(ExperimentError) as raised:
        parse(HEAD + text)
    assert complaint in raised.value.message
    assert hint in (raised.value.hint or "")
