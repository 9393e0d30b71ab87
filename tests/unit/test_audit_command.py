"""Options of ``tare audit``: values that are none are refused, and the others become a question."""

from __future__ import annotations

from pathlib import Path

import pytest
from inprocess import invoke

from tare.errors import InputError, UsageError
from tare.features.audit.ask import ask
from tare.features.audit.options import AuditOptions
from tare.features.audit.question import QUANTILES, Question, Sizing
from tare.options.parsing import parse
from tare.readers import ColumnOptions


def asked(*words: str) -> Question:
    return ask(parse("tare audit", AuditOptions, words))


def test_without_options_it_is_the_question_that_needs_none() -> None:
    assert asked() == Question()


def test_options_become_a_question() -> None:
    words = (
        "--group a,b --group c --compare b --order n --trial row --block d --drop-missing "
        "--cores size --pinning pin --reference bare --host-cores 64 --precision 1% "
        "--confidence 90% --quantile median --quantile p75 --time-unit 5min --seed 7 --steady "
        "--format table --value wall"
    )
    assert asked(*words.split()) == Question(
        columns=ColumnOptions("wall", ("a", "c", "size", "pin"), ("b",), "n", "row", "d", True),
        format="table",
        precision=0.01,
        confidence=0.9,
        quantiles=(0.5, 0.75),
        seed=7,
        unit_s=300,
        sizing=Sizing("size", "pin", "bare", 64),
        steady=True,
    )
    assert asked("--precision", "1%").quantiles == QUANTILES


@pytest.mark.parametrize(
    "words",
    [
        ("--precision", "100%"), ("--confidence", "0%"), ("--quantile", "100%"),
        ("--quantile", "0"), ("--finding", "overheads"), ("--host-cores", "0"),
        ("--host-cores", "inf"), ("--time-unit", "1"), ("--seed", "-1"), ("--kappa", "a.csv"),
        ("--value", "a", "--value", "b"),
    ],
)  # fmt: skip
def test_what_is_no_such_value_is_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as refused:
        asked(*words)
    assert words[0] in refused.value.message
    assert refused.value.hint


def test_a_reference_needs_what_it_is_a_level_of() -> None:
    with pytest.raises(InputError, match="--reference"):
        asked("--reference", "bare")


def test_raters_are_two_files_and_nothing_else(tmp_path: Path) -> None:
    files = []
    for name, last in (("a", "no"), ("b", "yes")):
        files.append(tmp_path / f"{name}.csv")
        files[-1].write_text(f"item,rating\n1,yes\n2,no\n3,{last}\n")
    both = map(str, files)
    found = invoke("audit", "--kappa", *both)
    assert isinstance(invoke("audit", "--kappa", *map(str, files), "c.csv").exception, InputError)
    assert found.exit_code == 0, found.output
    assert "κ" in found.stdout or "kappa" in found.stdout.lower()


def test_without_a_file_nothing_is_looked_at() -> None:
    assert isinstance(invoke("audit").exception, InputError)
