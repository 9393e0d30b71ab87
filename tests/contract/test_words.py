"""What holds for every template of words, and for every message that the source makes."""

from __future__ import annotations

import ast
import functools
import re
import tomllib
from pathlib import Path

import pytest
from jinja2 import meta

import tare
from tare.render import words
from tare.results.message import Amount, Message, message

TEMPLATES = words.templates()
#: What stands in a sentence for a value.
VALUE = re.compile(r"{{.*?}}")
CONDITION = re.compile(r"{%.*?%}")
MOST_WORDS = 25
#: Words that the field has others for.
HABITS = re.compile(
    r"\b(told|tells?|beside|side by side|undecided|not decided|remembers?|lingers?|whoever|"
    r"speaks?|nobody|somebody|so that)\b",
    re.IGNORECASE,
)


@functools.cache
def expressions() -> list[tuple[str, ast.AST]]:
    """Return each call and each comparison in the source, with its place."""
    return [
        (f"{file}:{getattr(node, 'lineno', 0)}", node)
        for file in sorted(Path(tare.__file__).parent.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call | ast.Compare)
    ]


@functools.cache
def made() -> list[tuple[str, ast.Call, str]]:
    """Return each call of ``message`` in the source, with where, and its id as a pattern."""
    return [
        (where, node, pattern(node.args[0]))
        for where, node in expressions()
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "message"
    ]


def pattern(node: ast.expr) -> str:
    """Return a pattern of what a constant or a formatted string may be."""
    match node:
        case ast.Constant(value=str(text)):
            return re.escape(text)
        case ast.JoinedStr(values=parts):
            return "".join(pattern(part) for part in parts)
        case ast.FormattedValue(value=ast.IfExp(body=first, orelse=second)):
            return f"(?:{pattern(first)}|{pattern(second)})"
        case ast.IfExp(body=first, orelse=second):
            return f"(?:{pattern(first)}|{pattern(second)})"
        case ast.FormattedValue():
            return r"[\w.]+"
    raise AssertionError(f"the id of a message is no text: {ast.unparse(node)}")


def shown(id_: str) -> set[str]:
    """Return the names that a template shows."""
    return set(meta.find_undeclared_variables(words.environment().parse(TEMPLATES[id_])))


def test_every_message_has_a_template_that_shows_what_it_has() -> None:
    assert made()
    for where, call, ids in made():
        found = [id_ for id_ in TEMPLATES if re.fullmatch(ids, id_)]
        assert found, f"{where}: no template for {ids}"
        if not isinstance(call.args[0], ast.Constant) or any(k.arg is None for k in call.keywords):
            continue
        given = {keyword.arg for keyword in call.keywords}
        assert shown(found[0]) == given, f"{where}: {found[0]}"


def test_every_template_is_of_a_message() -> None:
    patterns = re.compile("|".join({ids for _, _, ids in made()}))
    assert [id_ for id_ in TEMPLATES if not patterns.fullmatch(id_)] == []


def test_no_feature_has_the_words_of_what_stands_below_or_beside_it() -> None:
    source = Path(tare.__file__).parent
    features = source / "features"
    ids = {
        id_: file.relative_to(features).parts[0]
        for file in features.rglob("*words.toml")
        for id_, _ in words.flat(tomllib.loads(file.read_text(encoding="utf-8")))
    }
    wrong = [
        (where, id_)
        for where, call, _ in made()
        if isinstance(call.args[0], ast.Constant)
        and (id_ := call.args[0].value) in ids
        and not where.startswith(f"{features / ids[id_]}/")
    ]
    assert wrong == []


def test_templates_are_short_and_in_the_terms_of_the_field() -> None:
    texts = {id_: CONDITION.sub(" ", VALUE.sub("value", some)) for id_, some in TEMPLATES.items()}
    long = [
        (id_, sentence)
        for id_, text in texts.items()
        for sentence in re.split(r"[.;:!?](?:\s|$)", text)
        if len(sentence.split()) > MOST_WORDS
    ]
    assert long == []
    assert [(id_, text) for id_, text in texts.items() if HABITS.search(text)] == []


def test_values_are_written_by_their_type_and_absent_ones_not_at_all() -> None:
    value = message(
        "doctor.steal.value", now=Amount(0.021, "share"), since_boot=Amount(0.2, "share")
    )
    assert words.text(value) == "2.1 % now, 20 % of the busy time since boot"
    absent = Message("doctor.setting.value", {"value": None})
    with pytest.raises(TypeError, match="has no form"):
        words.text(absent)


@pytest.mark.parametrize("name", ["{{ 1 + 1 }}", "{% raw %}", "<b>"])
def test_a_value_is_no_template(name: str) -> None:
    value = message("doctor.load.user", name=name, share=Amount(0.5, "share"))
    assert words.text(value) == f"{name} 50 %"


#: What holds a sentence, and what would read one back.
SENTENCES = {
    "title", "question", "answer", "summary", "advice", "why", "note", "caveats", "sentence",
}  # fmt: skip
READERS = {
    "startswith", "endswith", "split", "rsplit", "partition", "rpartition", "removeprefix",
    "removesuffix", "find", "index",
}  # fmt: skip


def reading(node: ast.AST) -> bool:
    """Tell whether a piece of code takes a sentence apart, or looks for words in one."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Attribute(attr=held), attr=reader)):
            return held in SENTENCES and reader in READERS
        case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id=writer)), attr=reader)):
            return writer in ("text", "sentence") and reader in READERS
        case ast.Compare(
            left=ast.Constant(value=str()),
            ops=[ast.In() | ast.NotIn()],
            comparators=[ast.Attribute(attr=held)],
        ):
            return held in SENTENCES
    return False


def test_no_code_reads_a_sentence() -> None:
    assert [where for where, node in expressions() if reading(node)] == []


@pytest.mark.parametrize(
    ("code", "reads"),
    [
        ("table.title.startswith('SD')", True),
        ("'not decided' in one.advice", True),
        ("text(found).split(' ')", True),
        ("path.name.startswith('a')", False),
        ("'a' in names", False),
    ],
)
def test_who_reads_a_sentence_is_seen(code: str, reads: bool) -> None:
    assert any(map(reading, ast.walk(ast.parse(code)))) == reads
