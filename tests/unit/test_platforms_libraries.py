"""Libraries of programs are those that the dynamic linker loads, and nothing of a program runs."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from tare.errors import PlatformError
from tare.host import libraries, programs

PROGRAMS = ("sh", "bash", "ls", "python3", "ssh", "qemu-system-x86_64", "git", "gcc", "tar", "ip")
CC = shutil.which("cc")
compiled = pytest.mark.skipif(CC is None, reason="no C compiler")


def listed(path: Path) -> set[str]:
    """Return what the linker itself lists for a program that is trusted."""
    found = libraries.read(path)
    assert found is not None
    assert found.interpreter is not None
    words = [found.interpreter, "--list", str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    names = [line.strip().partition(" (0x")[0].rpartition(" ")[2] for line in done.splitlines()]
    own = os.path.realpath(found.interpreter)
    return {real for name in names if name[0] == "/" and (real := os.path.realpath(name)) != own}


def of(path: Path) -> set[str]:
    found = libraries.read(path)
    assert found is not None
    own = os.path.realpath(found.interpreter or "")
    return {real for name in libraries.of(path) if (real := os.path.realpath(name)) != own}


def test_the_libraries_are_those_that_the_linker_lists() -> None:
    paths = [Path(path) for name in PROGRAMS if (path := shutil.which(name, path="/usr/bin:/sbin"))]
    linked = [p for p in paths if (read := libraries.read(p)) is not None and read.interpreter]
    assert len(linked) >= 3
    for path in linked:
        assert of(path) == listed(path), path


def compile(folder: Path, name: str, text: str, *words: str) -> Path:
    (folder / f"{name}.c").write_text(text)
    assert CC is not None
    subprocess.run([CC, "-o", folder / name, folder / f"{name}.c", *words], check=True, cwd=folder)
    return folder / name


@compiled
@pytest.mark.parametrize("tags", ["--enable-new-dtags", "--disable-new-dtags"])
def test_libraries_are_found_beside_the_program(tmp_path: Path, tags: str) -> None:
    (tmp_path / "lib").mkdir()
    inner = ("-shared", "-fPIC", "-Wl,-soname,libinner.so")
    compile(tmp_path / "lib", "libinner.so", "int inner(void) { return 1; }", *inner)
    outer = ("-shared", "-fPIC", "-L.", "-l:libinner.so", f"-Wl,{tags},-rpath,$ORIGIN")
    text = "int inner(void); int outer(void) { return inner(); }"
    compile(tmp_path / "lib", "libouter.so", text, *outer)
    program = compile(
        tmp_path, "program", "int outer(void); int main(void) { return outer(); }",
        "-Llib", "-l:libouter.so", f"-Wl,{tags},-rpath,$ORIGIN/lib,-rpath-link,lib",
    )  # fmt: skip
    found = of(program)
    assert {str(tmp_path / "lib/libouter.so"), str(tmp_path / "lib/libinner.so")} <= found
    assert found == listed(program)
    (tmp_path / "lib/libinner.so").unlink()
    with pytest.raises(PlatformError, match=r"libinner\.so is not found"):
        libraries.of(program)


@compiled
def test_nothing_that_a_program_names_is_executed(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    text = f"""#include <fcntl.h>
    unsigned la_version(unsigned version) {{ open("{ran}", O_CREAT, 0600); return version; }}
    """
    audit = compile(tmp_path, "audit.so", text, "-shared", "-fPIC")
    program = compile(tmp_path, "program", "int main(void) { return 0; }", f"-Wl,--audit={audit}")
    assert libraries.of(program)
    assert not ran.exists()
    # The linker itself does execute it.
    assert listed(program)
    assert ran.exists()


def test_damaged_programs_are_refused(tmp_path: Path) -> None:
    whole = bytearray(Path(os.path.realpath("/bin/sh")).read_bytes())
    chance = random.Random(1)
    path, refused = tmp_path / "program", []
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 8)):
            damaged[chance.randrange(4, 1200)] = chance.randrange(256)
        path.write_bytes(damaged[: chance.randint(20, len(damaged))])
        try:
            libraries.of(path)
        except PlatformError as error:
            refused.append(error.message)
    assert len(refused) > 20
    assert all(str(path) in message for message in refused)


def test_files_of_other_kinds_have_none(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("#!/bin/sh\n")
    assert libraries.read(tmp_path / "text") is None
    assert libraries.of(tmp_path / "text") == []


def elf(needed: list[str], runpaths: int = 0, interpreter: str = "/lib64/ld.so") -> bytes:
    """Make a 64-bit ELF file that needs libraries, and has folders for them."""
    strings, names = b"\0", {}
    for name in (*needed, "/"):
        names[name] = len(strings)
        strings += name.encode() + b"\0"
    entries = [(1, names[name]) for name in needed] + [(29, names["/"])] * runpaths
    starts = 64 + 3 * 56
    dynamic = b"".join(struct.pack("<qQ", *one) for one in [*entries, (5, starts), (0, 0)])
    asked = interpreter.encode() + b"\0"
    at = {"strings": starts, "dynamic": starts + len(strings)}
    end = at["dynamic"] + len(dynamic)
    header = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9) + struct.pack(
        "<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 3, 0, 0, 0
    )  # fmt: skip
    segments = [(1, 0, end), (2, at["dynamic"], len(dynamic)), (3, end, len(asked))]
    table = b"".join(struct.pack("<IIQQQQQQ", k, 4, p, p, p, n, n, 8) for k, p, n in segments)
    return header + table + strings + dynamic + asked


def test_hostile_programs_cost_little(tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_bytes(elf(["liba.so"]))
    found = libraries.read(path)
    assert found is not None
    assert (found.needed, found.interpreter) == (("liba.so",), "/lib64/ld.so")
    for given, said in (
        (elf([], runpaths=60_000), "entries of type 29"),
        (elf([f"lib{n}.so" for n in range(3000)]), "entries of type 1"),
        (elf(["libnone.so"]), "libnone.so is not found"),
    ):
        path.write_bytes(given)
        with pytest.raises(PlatformError, match=said):
            libraries.of(path)


def test_a_folder_is_no_interpreter(tmp_path: Path) -> None:
    for name, data in (("elf", elf([], interpreter="/usr")), ("script", b"#!/usr\n")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(PlatformError, match="names /usr as a program, which is a folder"):
            programs.closure([tmp_path / name])


@pytest.mark.timeout(30)
def test_no_file_of_the_kernel_is_waited_for(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/proc/kmsg\n")
    with contextlib.suppress(PlatformError):
        programs.closure([script])
