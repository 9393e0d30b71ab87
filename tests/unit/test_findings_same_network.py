"""Sessions on the same network, and on one that is another by its fingerprint."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import synthetic
from said import args, template, templates
from situations import network_fingerprint as fingerprint
from situations import with_networks

from tare.experiment.findings.caveats import sentences
from tare.experiment.findings.same_network import UNIT, apart
from tare.experiment.findings.sessions import caveats, judged
from tare.experiment.fingerprints.network import cache
from tare.experiment.fingerprints.network.cache import GIVEN, REMEMBERED
from tare.experiment.fingerprints.network.document import NetworkFingerprint
from tare.experiment.results import Results
from tare.features.measure.baseline import Session, networked
from tare.features.measure.baseline.stored import lasting
from tare.features.network.fingerprint import page as network_fingerprint_page
from tare.render import files
from tare.render.words import shown, text
from tare.results.columns import Columns
from tare.results.message import Amount, Message, each, message


def sessions(*given: tuple[NetworkFingerprint, str]) -> Results:
    return with_networks(synthetic.make(trials=20), *given)


def test_one_session_says_what_its_network_was() -> None:
    found = UNIT.find(sessions((fingerprint(9.4), GIVEN)))
    assert found is not None
    assert found.verdict == "none"
    assert args(found.answer, "the network to") == {
        "end": "192.0.2.1",
        "date": "2030-01-01 00:00",
        "shaping": text(message("no search for a bucket was made")),
    }
    assert any("9.40 Gbit/s" in row["value"] for row in found.tables[0].rows)


def test_what_is_only_remembered_is_not_a_question() -> None:
    assert UNIT.find(sessions((fingerprint(9.4), REMEMBERED))) is None
    assert UNIT.find(synthetic.make(trials=20)) is None


def test_the_same_network_twice() -> None:
    same = sessions((fingerprint(9.4), GIVEN), (fingerprint(9.42), GIVEN))
    found = UNIT.find(same)
    assert found is not None
    assert found.verdict == "yes"
    assert [template(one) for one in each(found.answer) if isinstance(one, Message)] == [
        "not change by", "the network to",
    ]  # fmt: skip
    assert judged(same, (), Path("here")) is same


def test_levels_of_another_network_are_not_put_together_where_both_were_given() -> None:
    other = sessions((fingerprint(9.4), GIVEN), (fingerprint(4.7), GIVEN))
    found = UNIT.find(other)
    assert found is not None
    assert found.verdict == "no"
    second = other.trial_table["block"] >= 10
    trials = other.trial_table.with_columns(session=np.where(second, 2, 1))
    numbers = Columns({"session": [1, 2]})
    other = dataclasses.replace(other, trial_table=trials, sessions=numbers)
    assert judged(other, (), Path("here")).levels_of == 2
    [caveat] = caveats(other)
    assert (caveat.kind, caveat.of, caveat.sessions) == ("changed", "network", (1, 2))
    assert caveat.network is not None
    assert [c.figure for c in caveat.network.differing] == ["bandwidth.fresh"]
    network, levels = sentences([caveat], 2)
    assert template(network) == "({differences}"
    assert network.args["where"].args["sessions"] == [
        message(
            "session{% if sessions | length > 1 %}s{% endif %} {sessions | listing}",
            sessions=[1, 2],
        )
    ]
    assert levels == message(
        "levels are those of session {session} only; comparisons within blocks use all sessions",
        session=2,
    )


def test_another_network_is_told_where_it_is_only_remembered() -> None:
    other = sessions((fingerprint(9.4), REMEMBERED), (fingerprint(4.7), GIVEN))
    found = UNIT.find(other)
    assert found is not None
    assert found.summary == found.answer
    between = args(found.summary, "sessions {first}")
    assert (between["first"], between["second"]) == (1, 2)
    figure = args(found.summary, "{after}{% if change %}")
    assert figure["name"] == "base bandwidth"
    assert (figure["before"], figure["after"]) == (Amount(9.4e9, "bits/s"), Amount(4.7e9, "bits/s"))
    assert shown(figure["change"]) == "× 0.50 [0.49, 0.51]"
    assert judged(other, (), Path("here")) is other


def test_wide_intervals_decide_nothing() -> None:
    found = UNIT.find(sessions((fingerprint(9.4, width=0.3), GIVEN), (fingerprint(9.0), GIVEN)))
    assert found is not None
    assert found.verdict == "inconclusive"
    assert args(found.answer, "{first} and {second}") == {"first": 1, "second": 2}
    assert "whether the network" in templates(found.answer)


def test_baselines_of_another_network_do_not_agree() -> None:
    def facts(one: NetworkFingerprint) -> list[tuple[str, None, object]]:
        return [(fact.name, None, fact.value) for fact in cache.of(one, GIVEN)]

    assert lasting(facts(fingerprint(9.4))) == {}
    a, b, c = (networked(facts(one)) for one in (
        fingerprint(9.4), fingerprint(9.41), fingerprint(9.4, mtu="9000")))  # fmt: skip
    assert apart(a, b) is None
    unlike = apart(a, c)
    assert unlike is not None
    assert [tuple(one.args.values()) for one in unlike.args["differences"]] == [
        ("here mtu", "1500", "9000"),
        ("there mtu", "1500", "9000"),
    ]
    assert apart(a, {}) is None
    old = Session(started="", tare="", agent="", facts={}, values={})
    assert apart(old.network, a) is None


def test_page_of_a_fingerprint(tmp_path: Path) -> None:
    (page,) = files.write(
        network_fingerprint_page.make(fingerprint(9.4), "tare net fingerprint 192.0.2.1"),
        tmp_path / "network.html",
    )
    text = page.read_text()
    assert "9.40 Gbit/s" in text
