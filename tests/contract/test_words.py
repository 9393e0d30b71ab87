"""What holds for every template of words, and for every message that the source makes."""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from jinja2 import meta

import tare
from tare.render import words
from tare.results.message import Amount, Message, message

SOURCE = Path(tare.__file__).parent
#: What stands in a sentence for a value.
VALUE = re.compile(r"{[^%].*?}")
CONDITION = re.compile(r"{%.*?%}")
MOST_WORDS = 25
#: Words that the field has others for.
HABITS = re.compile(
    r"\b(told|tells?|beside|side by side|undecided|not decided|remembers?|lingers?|whoever|"
    r"speaks?|nobody|somebody|so that)\b",
    re.IGNORECASE,
)


class Module:
    """A file of the source: its syntax tree, and the templates that its constants hold."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.tree = ast.parse(file.read_text(encoding="utf-8"))
        self.constants = {
            target.id: node.value
            for node in self.tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        self.imports = {
            name.asname or name.name: f"{node.module}.{name.name}"
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ImportFrom)
            for name in node.names
        }

    @functools.cached_property
    def calls(self) -> list[ast.Call]:
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.Call)]


@functools.cache
def modules() -> Mapping[str, Module]:
    """Return every module of the source by its name."""
    files = sorted(SOURCE.rglob("*.py"))
    names = [".".join(file.relative_to(SOURCE.parent).with_suffix("").parts) for file in files]
    return {name: Module(file) for name, file in zip(names, files, strict=True)}


def templates(node: ast.expr, module: Module) -> Iterator[str]:
    """Yield the templates that an expression may be: literals, and constants that hold literals."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.IfExp(body=first, orelse=second):
            yield from templates(first, module)
            yield from templates(second, module)
        case ast.Subscript(value=table):
            yield from templates(table, module)
        case ast.Dict(values=values):
            for value in values:
                yield from templates(value, module)
        case ast.Name(id=name) if name in module.constants:
            yield from templates(module.constants[name], module)
        case ast.Attribute(value=ast.Name(id=name), attr=constant) if name in module.imports:
            other = modules()[module.imports[name]]
            yield from templates(other.constants[constant], other)
        case _:
            raise AssertionError(f"the template of a message is no literal: {ast.unparse(node)}")


@functools.cache
def made() -> list[tuple[str, ast.Call, tuple[str, ...]]]:
    """Return each call of ``message`` in the source with its place and its possible templates."""
    return [
        (f"{module.file}:{call.lineno}", call, (*templates(call.args[0], module),))
        for module in modules().values()
        for call in module.calls
        if isinstance(call.func, ast.Name) and call.func.id == "message"
    ]


def all_templates() -> set[str]:
    return {template for _, _, some in made() for template in some}


def shown(template: str) -> set[str]:
    """Return the names that a template shows."""
    return set(meta.find_undeclared_variables(words.environment().parse(template)))


def test_every_message_shows_what_it_has() -> None:
    assert made()
    for where, call, some in made():
        names = [shown(template) for template in some]
        if any(keyword.arg is None for keyword in call.keywords):
            continue
        given = {keyword.arg for keyword in call.keywords}
        assert set().union(*names) == given, where


@pytest.mark.parametrize(
    "code",
    ["message(f'{n} trials')", "message('a' + 'b')", "message(text)", "message('a'.upper())"],
)
def test_a_template_that_is_no_literal_is_refused(code: str, tmp_path: Path) -> None:
    file = tmp_path / "made_up.py"
    file.write_text(f"text = str(1)\n{code}\n", encoding="utf-8")
    module = Module(file)
    call = next(one for one in module.calls if ast.unparse(one.func) == "message")
    with pytest.raises(AssertionError, match="no literal"):
        list(templates(call.args[0], module))


def test_what_several_modules_share_is_shared() -> None:
    shared = {name for name in modules() if name.endswith(".phrases")}
    uses = Counter(
        (module.imports[node.value.id], node.attr)
        for module in modules().values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and module.imports.get(node.value.id) in shared
    )
    constants = {(name, one) for name in shared for one in modules()[name].constants}
    assert {one for one in constants if uses[one] < 2} == set()


def test_templates_are_short_and_in_the_terms_of_the_field() -> None:
    texts = {one: CONDITION.sub(" ", VALUE.sub("value", one)) for one in all_templates()}
    long = [
        sentence
        for text in texts.values()
        for sentence in re.split(r"[.;:!?](?:\s|$)", text)
        if len(sentence.split()) > MOST_WORDS
    ]
    assert long == []
    assert [text for text in texts.values() if HABITS.search(text)] == []


def test_values_are_written_by_their_type_and_absent_ones_not_at_all() -> None:
    value = message(
        "{now} now, {since_boot} of the busy time since boot",
        now=Amount(0.021, "share"),
        since_boot=Amount(0.2, "share"),
    )
    assert words.text(value) == "2.1 % now, 20 % of the busy time since boot"
    absent = Message("{value}", {"value": None})
    with pytest.raises(TypeError, match="has no form"):
        words.text(absent)


@pytest.mark.parametrize("name", ["{{ 1 + 1 }}", "{1 + 1}", "{% raw %}", "<b>"])
def test_a_value_is_no_template(name: str) -> None:
    value = message("{name} {share}", name=name, share=Amount(0.5, "share"))
    assert words.text(value) == f"{name} 50 %"


#: What holds a sentence, and what would read one back.
SENTENCES = {
    "title", "question", "answer", "summary", "advice", "why", "note", "caveats", "sentence",
}  # fmt: skip
READERS = {
    "startswith", "endswith", "split", "rsplit", "partition", "rpartition", "removeprefix",
    "removesuffix", "find", "index",
}  # fmt: skip


#: What a report is made of, and the fields of it that are sentences.
PARTS = {"Report", "Finding", "Table", "Entry", "Compared", "Gate", "Lost"}
SAID = {
    "title", "question", "answer", "answers", "summary", "advice", "settle", "note", "notes",
    "caveats", "said", "method", "counted", "evidence", "missing", "failed", "doubts", "next",
}  # fmt: skip
#: Where a sentence stands in a call without its name.
POSITION = {"Entry": 1, "Table.of": 0}


def plain_texts(call: ast.Call) -> list[str]:
    """Return the sentences of a part of a report that are no messages."""
    called = ast.unparse(call.func)
    if called.split(".")[0] not in PARTS:
        return []
    values = [one.value for one in call.keywords if one.arg in SAID]
    values += call.args[POSITION[called] :][:1] if called in POSITION else []
    parts = [
        part
        for value in values
        for part in (value.elts if isinstance(value, ast.Tuple | ast.List) else [value])
    ]
    return [
        ast.unparse(one)
        for one in parts
        if isinstance(one, ast.JoinedStr)
        or (isinstance(one, ast.Constant) and isinstance(one.value, str))
    ]


def test_every_sentence_of_a_report_is_a_message() -> None:
    found = [
        f"{module.file}:{call.lineno} {text}"
        for module in modules().values()
        for call in module.calls
        for text in plain_texts(call)
    ]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        "Finding(answer='it is slow')",
        "Table.of(title=f'{n} rows')",
        "Report(notes=('a',))",
        "Entry('Time', f'{n} s')",
        "Table.of('The pieces', ())",
    ],
)
def test_a_sentence_that_is_no_message_is_seen(code: str) -> None:
    (call,) = (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call))
    assert plain_texts(call)


def reading(node: ast.AST) -> bool:
    """Return whether a piece of code takes a sentence apart, or looks for words in one."""
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
    found = [
        f"{module.file}:{node.lineno}"
        for module in modules().values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call | ast.Compare) and reading(node)
    ]
    assert found == []


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
