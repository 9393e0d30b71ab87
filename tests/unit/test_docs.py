"""The documents: links lead somewhere, commands are those of the command line, pages are found."""

from __future__ import annotations

import re
from pathlib import Path

import documents
import pytest
from documents import ROOT, Block

from tare.errors import UsageError
from tare.options import parsing
from tare.options.command import find
from tare.wiring import ROOT as COMMANDS

#: What pages do not say, as the field has other words for it; data and output have them still.
NOT_OURS = re.compile(
    r"\b(beside|told|tells?|telling|remembers?|remembered|undecided|mends?|side by side|runs dry)\b"
)
#: Of all blocks: what nobody can execute is not checked by anything else.
MOST_NOT_RUN = 15
LONGEST_README = 150


def name(value: object) -> str:
    return str(value.relative_to(ROOT)) if isinstance(value, Path) else str(value)


SHELL_BLOCKS = [
    block
    for page in documents.WRITTEN
    for block in documents.blocks(page)
    if block.language in documents.SHELLS
]


def parse(words: list[str]) -> None:
    path, found, used = find(COMMANDS, words)
    if not {"--help", "-h"} & set(words):
        parsing.parse(path, found.options, words[used:])


@pytest.mark.parametrize("page", [*documents.PAGES, *documents.OTHERS], ids=name)
def test_links_lead_to_files_and_anchors(page: Path) -> None:
    for target in documents.links(page):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), target
        if anchor:
            assert anchor in documents.anchors(file), target


@pytest.mark.parametrize("block", SHELL_BLOCKS, ids=str)
def test_commands_can_be_parsed(block: Block) -> None:
    for words in documents.invocations(block.script):
        try:
            parse(words)
        except UsageError as error:
            pytest.fail(f"tare {' '.join(words)}: {error.message}")


@pytest.mark.parametrize("page", [*documents.WRITTEN, *documents.INSTRUCTIONS], ids=name)
def test_commands_in_the_text_have_the_options_that_they_name(page: Path) -> None:
    for words in documents.inline(page):
        try:
            parse(words)
        except UsageError as error:
            # What is missing does not matter there, nor a placeholder in place of a value.
            if re.search("has no (option|command)|takes no", error.message):
                pytest.fail(f"tare {' '.join(words)}: {error.message}")


@pytest.mark.parametrize("page", [*documents.PAGES, *documents.OTHERS], ids=name)
def test_files_that_a_page_names_exist(page: Path) -> None:
    # Other tools' repositories have a tests/ as well.
    ours = "src/tare|agent|docs|tests/(?:unit|contract|golden|system|slow|data)"
    named = re.findall(rf"`((?:{ours})/[\w./-]+)", page.read_text())
    missing = [path for path in named if "NAME" not in path and not (ROOT / path).exists()]
    assert missing == []


def test_a_command_that_does_not_exist_is_found() -> None:
    for words in (["rum"], ["run", "--runs", "3", "true"], ["net", "measure", "--bogus", "HOST"]):
        with pytest.raises(UsageError):
            parse(words)


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("tare run -- ./prog -n 3 | head\n", [["run", "--", "./prog", "-n", "3"]]),
        ("sudo tare doctor --fix all -- tare compare a b\n",
         [["doctor", "--fix", "all", "--", "tare", "compare", "a", "b"], ["compare", "a", "b"]]),
        ("cat > f <<'END'\ntare nonsense\nEND\ntare cleanup  # comment\n", [["cleanup"]]),
        ("tare compare 'a\nb' \\\n  c > out 2>&1\n", [["compare", "a\nb", "c"]]),
    ],
)  # fmt: skip
def test_calls_are_found(script: str, found: list[list[str]]) -> None:
    assert list(documents.invocations(script)) == found


def test_of_a_console_only_what_was_typed_is_taken() -> None:
    typed = "tare run \\\n    -- true\n"
    block = Block(ROOT, 1, "console", None, f"$ {typed}median 1\nhere$ ls\n")
    assert block.script == f"{typed}ls\n"


@pytest.mark.parametrize("page", documents.WRITTEN, ids=name)
def test_blocks_of_commands_are_marked_as_such(page: Path) -> None:
    for block in documents.blocks(page):
        if block.language not in documents.SHELLS:
            assert not re.search(r"^(\w*\$ +)?(sudo )?tare ", block.text, re.MULTILINE), block
        assert block.language == "console" or not re.search(r"^\w*\$ ", block.text, re.M), block


def test_pages_that_the_program_names_exist() -> None:
    named = re.compile(r"\bdocs/[a-z_/-]+\.md")
    missing = {
        f"{file.relative_to(ROOT)}: {page}"
        for file in (ROOT / "src").rglob("*.py")
        for page in named.findall(file.read_text(encoding="utf-8"))
        if not (ROOT / page).is_file()
    }
    assert missing == set()


def test_few_blocks_are_not_run() -> None:
    reasons = [block.not_run for block in SHELL_BLOCKS if block.not_run is not None]
    assert len(reasons) <= MOST_NOT_RUN
    assert all(reasons)


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= LONGEST_README


def test_every_page_is_listed() -> None:
    index = ROOT / "docs" / "index.md"
    listed = {
        (index.parent / target.partition("#")[0]).resolve() for target in documents.links(index)
    }
    site = (ROOT / "mkdocs.yml").read_text()
    for page in (ROOT / "docs").rglob("*.md"):
        assert page == index or page in listed, page
        assert f"{page.relative_to(ROOT / 'docs')}\n" in site, page


@pytest.mark.parametrize("page", documents.WRITTEN, ids=name)
def test_a_page_has_the_words_of_the_field(page: Path) -> None:
    assert NOT_OURS.findall(re.sub(r"`[^`]*`", "", documents.prose(page))) == []


@pytest.mark.parametrize("page", documents.PAGES[1:], ids=name)
def test_a_page_begins_with_the_question_that_it_answers(page: Path) -> None:
    title, _, text = page.read_text().partition("\n")
    assert title.startswith("# ")
    first = text.strip().split("\n\n")[0]
    assert title.endswith("?") or "?" in first, first
