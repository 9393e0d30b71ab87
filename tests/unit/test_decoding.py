"""Whatever is read from a file or another process, there is one way in which it is damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cli
import msgspec
import pytest

from tare.decoding import DecodeError, Decoder, builtins, decode, toml
from tare.host import lease


class Point(msgspec.Struct):
    x: float
    name: str = ""


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b'{"x": "1"}', b'{"y": 1}', b'{"x": 1, "name": "\xff"}', b'"\xed\xa0\x80"',
     b"[" * 100_000, b'{"x": 1} {', b'{"x": 1e999}', b"\xff\xfe"],
)  # fmt: skip
def test_damage_is_one_kind_of_error(data: bytes) -> None:
    for parse in (lambda: decode(data, Point), lambda: Decoder(Point, packed=True).decode(data)):
        with pytest.raises(DecodeError):
            parse()
    with pytest.raises(DecodeError):
        Decoder(Point).decode_lines(b'{"x": 1}\n' + (data or b"?") + b"\n")


def test_what_is_sound_is_decoded() -> None:
    assert decode(b'{"x": 1, "name": "\xc3\xa9"}', Point) == Point(1.0, "\xe9")
    assert decode("[1, 2]", list[int]) == [1, 2]
    assert Decoder[Any](Point, packed=True).decode(msgspec.msgpack.encode(Point(2.0))) == Point(2.0)
    assert builtins('{"a": [1, null]}') == {"a": [1, None]}


def test_a_damaged_lease_stops_no_command(tmp_path: Path) -> None:
    folder = lease.places()[0]
    folder.mkdir(parents=True, exist_ok=True)
    damaged = folder / f"{lease.new_name()}.lease"
    damaged.write_bytes(b'{"folders": ["/\xff"]}')
    try:
        done = cli.run("run", "-n", "2", "--", "true", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert cli.run("cleanup").returncode == 0
        assert not damaged.exists()
    finally:
        damaged.unlink(missing_ok=True)


@pytest.mark.parametrize("name", ["plan.json", "journal/1.ndjson"])
def test_one_byte_of_a_folder_is_no_fault_of_tare(name: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    text = '[experiment]\nname = "a"\nquestion = "?"\ntrials = 3\nfingerprint = false\n'
    text += '[[workload]]\ncommand = ["true"]\n[factors]\nplatform = ["bare"]\n'
    (tmp_path / "a.toml").write_text(text)
    run = ("experiment", "run", str(tmp_path / "a.toml"), "-o", str(out))
    assert cli.run(*run).returncode == 0
    file = out / name
    file.write_bytes(file.read_bytes().replace(b"bare", b"b\xffre", 1))
    for words in (("experiment", "report", str(out)), (*run, "--resume")):
        done = cli.run(*words)
        assert done.returncode == 14, done.stderr
        assert "damaged" in done.stderr
        assert Path(name).name in done.stderr


@pytest.mark.parametrize(
    "text",
    ["a" + ".a" * 50_000 + " = 1", "[" + "a . " * 50_000 + "a]", "a = {" + "b." * 200 + "c = 1}",
     'a."b".' + "c." * 200 + "d = 1", "a = " + "[" * 100_000, "a = " + "1" * 10_000, "a = ="],
)  # fmt: skip
def test_toml_that_takes_long_is_refused(text: str) -> None:
    with pytest.raises(DecodeError):
        toml(text)


def test_toml_may_hold_many_dots_that_are_no_keys() -> None:
    values = toml(f"a = [{'0.5, ' * 300}]\nb.c = '{'.' * 300}' # x\n")
    assert values == {"a": [0.5] * 300, "b": {"c": "." * 300}}
