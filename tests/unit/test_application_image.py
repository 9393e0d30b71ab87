"""Images of applications: what is made, from what, and what is kept; by programs that pretend."""

from __future__ import annotations

import functools
import hashlib
import io
import json
import os
import struct
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest
from said import Phrase, template

from tare.applications.image import (
    Lock,
    artefacts,
    built,
    cache,
    format_,
    given_digest,
    keystore,
    parse,
    prepare,
    prepared,
    remnants,
    size_bytes,
    sources,
    tree,
)
from tare.errors import ExperimentError, PlatformError
from tare.results.message import Message, Said
from tare.workloads.application import Application, Artefact, Image

MMDEBSTRAP = """\
import io, os, sys, tarfile
include = next((a[10:] for a in sys.argv if a.startswith("--include=")), "").split(",")
with open(os.environ["FAKES"] + "/calls", "a") as calls:
    print(" ".join(sys.argv[1:]), file=calls)
if os.environ.get("LOST"):
    sys.exit(f"E: Version '1.0' for '{os.environ['LOST']}' was not found")
print("I: installing remaining packages inside the chroot...", file=sys.stderr)
print("0 upgraded, 2 newly installed, 0 to remove", file=sys.stderr)
print("Setting up one (1) ...", file=sys.stderr, flush=True)
status = "".join(
    f"Package: {name.partition(':')[0]}\\nStatus: install ok installed\\n"
    f"Version: {version or '1.0'}\\nArchitecture: amd64\\n\\n"
    for name, _, version in (one.partition("=") for one in include)
)
tar = tarfile.open(fileobj=sys.stdout.buffer, mode="w|")
def add(name, content=b"", **about):
    info = tarfile.TarInfo(name)
    info.size, info.uid, info.mtime = len(content), os.getpid(), os.getpid()
    for key, value in about.items():
        setattr(info, key, value)
    tar.addfile(info, io.BytesIO(content))
add("./var", type=tarfile.DIRTYPE, mode=0o700)
add("./var/lib/dpkg/status", status.encode())
add("./var/log/of-this-run", str(os.getpid()).encode())
add("./etc/machine-id", str(os.getpid()).encode())
add("./etc/resolv.conf", type=tarfile.SYMTYPE, linkname="/run/resolv.conf")
add("./usr/bin/su", b"program", mode=0o4755)
add("./dev/null", type=tarfile.CHRTYPE)
tar.close()
"""
MVN = """\
import os, re, sys
folder = next(a[len("-DoutputDirectory="):] for a in sys.argv if "outputDirectory" in a)
project = next(a[len("--file="):] for a in sys.argv if a.startswith("--file="))
for one in open(project).read().split("<dependency>")[1:]:
    known = [re.search(f"<{k}>(.*?)</{k}>", one) for k in ("artifactId", "version", "classifier")]
    open(folder + "/" + "-".join(k[1] for k in known if k) + ".jar", "w").write("jar")
with open(os.environ["FAKES"] + "/maven", "a") as calls:
    print("called", file=calls)
"""
ENGINE = """\
import io, os, sys, tarfile
if sys.argv[1] == "image":
    sys.exit(1) if "lost" in sys.argv else print("sha256:" + "e" * 64)
elif sys.argv[1] == "create":
    print("c0ffee")
elif sys.argv[1] == "export":
    tar = tarfile.open(fileobj=sys.stdout.buffer, mode="w|")
    tar.addfile(tarfile.TarInfo("usr/share/doc/kept"))
    tar.close()
else:
    open(os.environ["FAKES"] + "/removed", "w").write(sys.argv[-1])
"""


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of programs that come before the real ones."""
    folder = tmp_path / "fakes"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("FAKES", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name, code in {"mmdebstrap": MMDEBSTRAP, "mvn": MVN, "docker": ENGINE}.items():
        program(folder / name, f"#!{sys.executable}\n{code}")
    program(folder / "unshare", '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"')
    return folder


def program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def application(folder: Path, **image: object) -> Application:
    return Application(
        name="some", question="?", folder=str(folder), digest="0" * 64, command=("true",),
        image=Image(**{"suite": "bookworm"} | image),  # type: ignore[arg-type]
    )  # fmt: skip


def silent(_: Said) -> None:
    pass


def calls(fakes: Path) -> list[str]:
    return (fakes / "calls").read_text().splitlines()


def test_an_image_is_made_once_without_what_differs_from_one_making_to_the_next(
    fakes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[Said] = []
    wanted = application(tmp_path, packages=("one", "two=2.0"))
    assert size_bytes(wanted) is None
    first = built(wanted, said.append)
    assert first.made
    assert {p.name: p.version for p in first.lock.packages} == {"one": "1.0", "two": "2.0"}
    assert size_bytes(wanted) == sum(p.stat().st_size for p in first.path.rglob("*") if p.is_file()
                                     and not p.is_symlink())  # fmt: skip
    assert {template(one) for one in said if isinstance(one, Message)} >= {Phrase("of its files")}
    again = built(wanted, silent)
    assert (again.made, again.path, again.lock) == (False, first.path, first.lock)
    assert len(calls(fakes)) == 1
    assert "localhost tare" in (first.path / "etc/hosts").read_text()
    for empty in ("etc/machine-id", "etc/resolv.conf"):
        assert (first.path / empty).read_bytes() == b""
        assert not (first.path / empty).is_symlink()
    assert not (first.path / "var/log/of-this-run").exists()
    assert not (first.path / "dev/null").exists()
    assert (first.path / "usr/bin/su").stat().st_mode & 0o7777 == 0o755
    assert (first.path / "var").stat().st_mode & 0o7777 == 0o755
    for folder in ("application", "data", "tare", "proc", "sys", "dev", "tmp", "run", "var/tmp"):
        assert (first.path / folder).is_dir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    assert built(wanted, silent).digest == first.digest


def test_a_lock_makes_the_same_again_from_exactly_these_versions(
    fakes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = application(tmp_path, packages=("one",))
    first = built(wanted, silent)
    lock = parse(format_(first.lock))
    assert lock == first.lock
    assert not built(wanted, silent, lock).made
    older = msgspec.structs.replace(
        lock, packages=(msgspec.structs.replace(lock.packages[0], version="0.9"),)
    )
    second = built(wanted, silent, older)
    assert second.made
    assert second.lock.packages == older.packages
    assert second.digest != first.digest
    assert "--include=one:amd64=0.9" in calls(fakes)[-1]
    monkeypatch.setenv("LOST", "one")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    with pytest.raises(ExperimentError, match=r"one 1\.0") as caught:
        built(wanted, silent, lock)
    assert caught.value.hint


def test_a_lock_of_another_state_of_the_application_is_refused(fakes: Path, tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text("1")
    wanted = application(tmp_path, packages=("one",), files=("a.sh",))
    lock = built(wanted, silent).lock
    (tmp_path / "a.sh").write_text("2")
    with pytest.raises(ExperimentError, match=r"a\.sh"):
        built(wanted, silent, lock)
    with pytest.raises(ExperimentError, match="suite"):
        built(application(tmp_path, packages=("one",), suite="sid"), silent,
              msgspec.structs.replace(lock, files={}))  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"digest": "../../etc"},
        {"more": 1},
        {"suite": "-o"},
        {"packages": [{"name": "--hook", "version": "1", "architecture": "amd64"}]},
        {"packages": [{"name": "one", "version": "1\nPin: x", "architecture": "amd64"}]},
        {"packages": [{"name": "one", "version": "1,two", "architecture": "amd64"}]},
        {"packages": [{"name": "one", "version": "1", "architecture": "amd64\n"}]},
        {"files": {"a": "no digest"}},
        {"packages": "one"},
    ],
)
def test_a_hostile_lock_is_refused(change: dict[str, object]) -> None:
    good = json.loads(format_(Lock(tare="1", digest="0" * 64)))
    assert parse(json.dumps(good).encode()).tare == "1"
    with pytest.raises(ExperimentError, match="lock"):
        parse(json.dumps(good | change).encode())
    for data in (b"", b"[" * 100_000, b"\xff", b" " * (9 << 20)):
        with pytest.raises(ExperimentError, match="lock"):
            parse(data)


def test_files_are_copied_and_links_are_not_followed(fakes: Path, tmp_path: Path) -> None:
    folder = tmp_path / "application"
    (folder / "sub").mkdir(parents=True)
    program(folder / "sub/run.sh", "#!/bin/sh")
    (folder / "data").write_text("1")
    got = built(application(folder, packages=("one",), files=("sub", "data")), silent)
    assert (got.path / "application/sub/run.sh").stat().st_mode & 0o777 == 0o755
    assert (got.path / "application/data").read_text() == "1"
    assert set(got.lock.files) == {"sub/run.sh", "data"}
    # Another file is another image of the same packages.
    (folder / "data").write_text("2")
    said: list[Said] = []
    other = built(application(folder, packages=("one",), files=("sub", "data")), said.append)
    assert {template(one) for one in said if isinstance(one, Message)} == {Phrase("files to the")}
    assert other.made
    assert other.digest != got.digest
    assert (got.path / "application/data").read_text() == "1"
    assert len(calls(fakes)) == 1
    (tmp_path / "secret").write_text("x")
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "sub/link").symlink_to(tmp_path)
    for files in ("link", "sub", "sub/link/secret", "../secret", str(tmp_path / "secret"), "none"):
        with pytest.raises(ExperimentError, match=r"image\.files"):
            built(application(folder, packages=("one",), files=(files,)), silent)


def test_an_artefact_is_of_its_digest_or_refused(fakes: Path, tmp_path: Path) -> None:
    jar = Artefact(
        registry="maven", name="g:a", version="1", sha256=hashlib.sha256(b"jar").hexdigest()
    )
    got = built(application(tmp_path, packages=("one",), artefacts=(jar,)), silent)
    assert (got.path / "application/a-1.jar").read_text() == "jar"
    other = msgspec.structs.replace(jar, sha256="0" * 64)
    with pytest.raises(ExperimentError, match=jar.sha256):
        built(application(tmp_path, packages=("one",), artefacts=(other,)), silent)
    assert [p for p in cache.folder().iterdir() if p.name.endswith(cache.UNFINISHED)] == []


def test_maven_is_called_once_for_all_artefacts(fakes: Path, tmp_path: Path) -> None:
    jar = Artefact(
        registry="maven", name="g:a", version="1", sha256=hashlib.sha256(b"jar").hexdigest()
    )
    both = (jar, msgspec.structs.replace(jar, name="g:b:native"))
    got = built(application(tmp_path, packages=("one",), artefacts=both), silent)
    assert {path.name for path in (got.path / "application").iterdir()} == {
        "a-1.jar", "b-1-native.jar",
    }  # fmt: skip
    assert (fakes / "maven").read_text() == "called\n"
    assert (got.path / "application/a-1.jar").stat().st_mtime == 0
    wrong = (jar, msgspec.structs.replace(both[1], sha256="0" * 64))
    with pytest.raises(ExperimentError, match=r"g:b:native 1 has another SHA-256"):
        built(application(tmp_path, packages=("one",), artefacts=wrong), silent)
    with pytest.raises(PlatformError, match="came as 1 files"):
        built(application(tmp_path, packages=("one",), artefacts=(jar, jar)), silent)


@pytest.fixture
def index(fakes: Path, tmp_path: Path) -> Iterator[Path]:
    """Serve a directory as the mirror that pip is configured for; it holds a distribution."""
    served = tmp_path / "served"
    (served / "simple/some-thing").mkdir(parents=True)
    with tarfile.open(served / "a.tar.gz", "w:gz") as archive:
        for name in ("lib/a.zip", "deps/run", "deps/test.jar", "deps/a.jar", "setup.py"):
            info = tarfile.TarInfo(f"Some.thing-1.0/{name}")
            info.size, info.mode, info.mtime = len(name), 0o755 if name == "deps/run" else 0o644, 9
            archive.addfile(info, io.BytesIO(name.encode()))
    handler = functools.partial(SilentHandler, directory=str(served))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/simple"
        program(fakes / "pip", f"#!/bin/sh\necho \"global.index-url='{url}'\"\n")
        yield served
        server.shutdown()
        thread.join()


class SilentHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def distribution(index: Path, *wanted: str) -> Artefact:
    sha256 = hashlib.sha256((index / "a.tar.gz").read_bytes()).hexdigest()
    link = f'<a href="../../a.tar.gz#sha256={sha256}">a</a>'
    (index / "simple/some-thing/index.html").write_text(f"<html>{link}</html>")
    return Artefact(registry="pypi", name="Some.thing", version="1.0", sha256=sha256, sdist=wanted)


def test_of_a_source_distribution_what_is_named_is_unpacked(index: Path, tmp_path: Path) -> None:
    some = distribution(index, "lib/*", "deps/*", "!deps/test*")
    got = built(application(tmp_path, packages=("one",), artefacts=(some,)), silent)
    inside = got.path / "application"
    assert {str(path.relative_to(inside)) for path in inside.rglob("*") if path.is_file()} == {
        "lib/a.zip", "deps/run", "deps/a.jar",
    }  # fmt: skip
    assert os.access(inside / "deps/run", os.X_OK)
    assert (inside / "deps/a.jar").stat().st_mtime == 0
    none = distribution(index, "none/*")
    with pytest.raises(ExperimentError, match=r"Some\.thing-1\.0 has none of none"):
        built(application(tmp_path, packages=("one",), artefacts=(none,)), silent)


def test_a_source_distribution_is_of_its_digest_or_refused(index: Path, tmp_path: Path) -> None:
    some = distribution(index, "lib/*")
    (index / "a.tar.gz").write_bytes(b"another")
    with pytest.raises(ExperimentError, match="has another SHA-256"):
        built(application(tmp_path, packages=("one",), artefacts=(some,)), silent)
    other = msgspec.structs.replace(some, sha256="0" * 64)
    with pytest.raises(PlatformError, match="has no file with the SHA-256 0000"):
        built(application(tmp_path, packages=("one",), artefacts=(other,)), silent)
    (index / "simple/some-thing/index.html").write_text(
        f'<a href="file:///etc/passwd#sha256={some.sha256}">a</a>'
    )
    with pytest.raises(PlatformError, match="no address of the web"):
        built(application(tmp_path, packages=("one",), artefacts=(some,)), silent)


def test_programs_of_tare_are_put_next_to_the_files(
    fakes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "bin"
    own.mkdir()
    monkeypatch.setattr(artefacts, "PROGRAMS", own)
    wanted = application(tmp_path, packages=("one",), programs=("tare-cql",))
    with pytest.raises(PlatformError, match="tare-cql is missing"):
        built(wanted, silent)
    program(own / "tare-cql", "first")
    first = built(wanted, silent)
    at = first.path / "application/tare-cql"
    assert (at.read_text(), at.stat().st_mode & 0o777) == ("first", 0o755)
    assert first.lock.files == {"tare-cql": hashlib.sha256(b"first").hexdigest()}
    # Another tare's program is another image.
    program(own / "tare-cql", "second")
    assert built(wanted, silent).digest != first.digest
    with pytest.raises(ExperimentError, match="tare-cql"):
        built(wanted, silent, first.lock)
    (tmp_path / "tare-cql").write_text("of the folder")
    both = application(tmp_path, packages=("one",), programs=("tare-cql",), files=("tare-cql",))
    with pytest.raises(ExperimentError, match="two files"):
        built(both, silent)
    with pytest.raises(ExperimentError, match="no programs"):
        built(application(tmp_path, root=str(own), programs=("tare-cql",)), silent)


@pytest.mark.parametrize(
    "image",
    [
        {"packages": ("./other.deb",)},
        {"packages": ("/tmp/other.deb",)},
        {"packages": ("one,--hook",)},
        {"packages": ("one=1\n",)},
        {"packages": ("one",), "suite": "--hook"},
        {"packages": ("one",), "suite": "http://elsewhere"},
        *(
            {"artefacts": (Artefact(registry=r, name=n, version=v, sha256="0" * 64),)}
            for r, n, v in [
                ("pypi", "six --index-url=http://elsewhere", "1"),
                ("pypi", "six", "1\nother"),
                ("maven", "a", "1"),
                ("maven", "g:a", "1:jar:x"),
                ("maven", "-Dx:a", "1"),
            ]
        ),
    ],
)
def test_a_name_that_is_none_reaches_no_program(
    fakes: Path, tmp_path: Path, image: dict[str, object]
) -> None:
    with pytest.raises(ExperimentError, match="no name of a package"):
        built(application(tmp_path, **image), silent)
    assert not (fakes / "calls").exists()


def test_an_engines_image_is_exported_whole_and_its_container_removed(
    fakes: Path, tmp_path: Path
) -> None:
    got = built(application(tmp_path, oci="some:1"), silent)
    assert got.lock.oci == "e" * 64
    assert (got.path / "usr/share/doc/kept").exists()
    assert (fakes / "removed").read_text() == "c0ffee"
    with pytest.raises(PlatformError, match="no image lost") as caught:
        built(application(tmp_path, oci="lost"), silent)
    assert caught.value.hint in ("docker pull lost",)


def test_a_directory_is_used_where_it_is(fakes: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    first = built(application(tmp_path, root=str(root)), silent)
    assert (first.path, first.made) == (root, False)
    (root / "new").write_text("1")
    assert built(application(tmp_path, root=str(root)), silent).digest != first.digest
    (tmp_path / "a").write_text("1")
    with pytest.raises(ExperimentError, match="no files"):
        built(application(tmp_path, root=str(root), files=("a",)), silent)


def test_what_is_in_use_outlives_what_is_only_unused(
    fakes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = [application(tmp_path, packages=(name,)) for name in ("one", "two", "three")]
    oldest, older = built(wanted[0], silent), built(wanted[1], silent)
    older.close()
    monkeypatch.setattr(cache, "MOST_BYTES", 1)
    built(wanted[2], silent)
    assert (size_bytes(wanted[0]) is None, size_bytes(wanted[1]) is None) == (False, True)
    assert oldest.path.is_dir()
    oldest.close()
    built(application(tmp_path, packages=("four",)), silent)
    assert size_bytes(wanted[0]) is None
    assert not oldest.path.exists()


def test_what_was_interrupted_counts_as_nothing_and_is_removed(fakes: Path) -> None:
    def interrupted(path: Path) -> tuple[()]:
        (path / "half").write_text("x")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.entry("a", interrupted, lambda: None)
    assert cache.look("a") is None
    assert remnants() == []
    assert [path.name for path in cache.folder().iterdir()] == ["a.lock"]
    # As after SIGKILL: nothing was undone.
    for name in ("killed", "other"):
        (cache.folder() / f"{name}.new/content").mkdir(parents=True)
    [one] = [one for one in remnants() if one.name == "other.new"]
    one.remove()
    assert [one.name for one in remnants()] == ["killed.new"]
    umask = os.umask(0o077)
    entry, _ = cache.entry("b", lambda _: (), lambda: None)
    os.umask(umask)
    assert remnants() == []
    # Others may enter what is made, and nothing is left of what was not.
    assert {path.stat().st_mode & 0o777 for path in (entry.path, *entry.path.parents[:2])} == {
        0o755
    }
    assert sorted(path.name for path in cache.folder().iterdir()) == ["b", "b.lock"]


def test_who_wants_what_another_makes_waits_for_it(fakes: Path) -> None:
    begun, waits, events = threading.Event(), threading.Event(), []

    def make(path: Path) -> tuple[()]:
        begun.set()
        assert waits.wait(60)
        # What is being made is no leftover.
        for one in remnants():
            one.remove()
        (path / "a").write_text("1")
        events.append("made")
        return ()

    found: list[bool] = []

    def want(wait: Callable[[], None]) -> None:
        found.append(cache.entry("a", make, wait)[1])

    first = threading.Thread(target=want, args=[lambda: None])
    first.start()
    assert begun.wait(60)
    second = threading.Thread(target=want, args=[waits.set])
    second.start()
    first.join()
    second.join()
    assert sorted(found) == [False, True]
    assert events == ["made"]


def archive(*members: tuple[str, bytes, str]) -> io.BytesIO:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, kind, target in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            tar.addfile(info)
    out.seek(0)
    return out


@pytest.mark.parametrize(
    "members",
    [
        [("../out", tarfile.REGTYPE, "")],
        [("a", tarfile.SYMTYPE, ".."), ("a/out", tarfile.REGTYPE, "")],
        [("a", tarfile.SYMTYPE, ".."), ("a", tarfile.DIRTYPE, ""), ("a/out", tarfile.REGTYPE, "")],
        [("a", tarfile.DIRTYPE, ""), ("a", tarfile.SYMTYPE, "..")],
        [("a", tarfile.LNKTYPE, "../secret")],
        [("l", tarfile.SYMTYPE, ".."), ("a", tarfile.LNKTYPE, "l/secret")],
        [("l", tarfile.SYMTYPE, "../secret"), ("a", tarfile.LNKTYPE, "l")],
    ],
)
def test_a_hostile_archive_writes_and_reads_nothing_outside(
    tmp_path: Path, members: list[tuple[str, bytes, str]]
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret").write_text("x")
    with pytest.raises(PlatformError, match="the image has"):
        tree.Unpacked(root).read(archive(*members))
    assert not (tmp_path / "out").exists()
    assert not (root / "a").is_file()


def test_a_file_is_put_in_the_place_of_a_link_not_through_it(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "etc").symlink_to(outside)
    tree.place(root, "etc/hosts", b"1")
    assert (root / "etc/hosts").read_bytes() == b"1"
    assert list(outside.iterdir()) == []


def test_a_digest_is_of_names_kinds_and_contents(tmp_path: Path) -> None:
    found = [tree.digest(tmp_path)]
    (tmp_path / "a").write_text("1")
    found.append(tree.digest(tmp_path))
    os.utime(tmp_path / "a", (1, 1))
    (tmp_path / "a").chmod(0o600)
    assert tree.digest(tmp_path) == found[-1]
    (tmp_path / "a").chmod(0o700)
    found.append(tree.digest(tmp_path))
    (tmp_path / "a").write_text("2")
    found.append(tree.digest(tmp_path))
    (tmp_path / "b").symlink_to("a")
    found.append(tree.digest(tmp_path))
    assert len({*found}) == len(found)


def store(*entries: tuple[bytes, int], tag: int = 2) -> bytes:
    """Return a store of certificates as Java writes it, with when each was added."""
    body = struct.pack(">III", 0xFEEDFEED, 2, len(entries))
    for name, time in entries:
        body += struct.pack(">IH", tag, len(name)) + name + struct.pack(">Q", time)
        body += struct.pack(">H", 5) + b"X.509" + struct.pack(">I", 4) + b"cert"
    return body + hashlib.sha1("changeit".encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()


def test_a_store_of_certificates_has_no_times_and_one_order() -> None:
    same = store((b"a", 0), (b"b", 0))
    assert keystore.without_times(store((b"b", 7), (b"a", 8))) == same
    assert keystore.without_times(same) == same
    keys, forged = store((b"a", 7), tag=1), store((b"a", 7))[:-1] + b"x"
    for other in (b"", b"\0" * 40, keys, forged, store((b"a", 7)) + b"x", store((b"a", 7))[:40]):
        assert keystore.without_times(other) == other


def test_only_debians_own_entries_of_the_suite_are_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "os-release").write_text('ID=debian\nVERSION_CODENAME="bookworm"\n')
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text(
        "deb http://mirror/debian bookworm main contrib # ours\n"
        "deb-src http://mirror/debian bookworm main\n"
        "# deb http://off/debian bookworm main\n"
        "deb [arch=amd64 signed-by=/usr/share/keyrings/x.gpg] http://third/x bookworm main\n"
        "deb http://third/y bookworm stable\n"
    )
    other = tmp_path / "sources.list.d/other.list"
    other.write_text("deb http://third/z bookworm-z main\n")
    (tmp_path / "sources.list.d/debian.sources").write_text(
        "Types: deb\n# a comment\nURIs: http://mirror/security\nSuites: bookworm-security\n"
        " trixie\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n\n"
        "Types: deb\nEnabled: no\nURIs: http://off\nSuites: bookworm\nComponents: main\n"
    )
    monkeypatch.setattr(sources, "APT", tmp_path)
    monkeypatch.setattr(sources, "OS_RELEASE", tmp_path / "os-release")
    assert sources.suite() == "bookworm"
    assert sources.mirrors("bookworm") == [
        "deb http://mirror/debian bookworm main contrib",
        "deb http://mirror/security bookworm-security main",
    ]
    assert sources.mirrors("trixie") == []
    (tmp_path / "os-release").write_text("ID=other\nVERSION_CODENAME=bookworm\n")
    assert (sources.suite(), sources.mirrors("bookworm")) == (sources.SUITE, [])


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what is to run in an image run here, with DATA where it may write."""
    path = tmp_path / "agent"
    program(
        path,
        '#!/bin/sh\nfor word; do case "$word" in /data=*) export DATA="${word#/data=}";; esac; done'
        '\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n',
    )
    monkeypatch.setattr(prepare.client, "binary", lambda: path)


@pytest.mark.usefixtures("agent")
def test_a_layer_is_made_once_by_all_its_commands(fakes: Path, tmp_path: Path) -> None:
    wanted = application(tmp_path, packages=("one",))
    image = built(wanted, silent)
    commands = [
        ["sh", "-c", "umask 077; mkdir $DATA/d; env > $DATA/d/env"],
        ["sh", "-c", "cat $DATA/d/env > $DATA/copy"],
    ]
    said: list[Said] = []
    path, digest = prepared(wanted, image, commands, said.append)
    ids = [template(one) for one in said if isinstance(one, Message)]
    assert ids == [*["prepare: command"] * 2, "SHA-256 of what"]
    seen = dict(line.split("=", 1) for line in (path / "copy").read_text().splitlines())
    assert set(seen) - {"DATA", "PWD", "SHLVL", "_", "OLDPWD"} == {"PATH", "HOME", "LANG"}
    assert (path / "d").stat().st_mode & 0o777 == 0o755
    assert (path / "d/env").stat().st_mode & 0o777 == 0o644
    inode = (path / "copy").stat().st_ino
    again = prepared(wanted, image, commands, said.append)
    assert len(said) == len(ids)
    assert again == (path, digest)
    assert (path / "copy").stat().st_ino == inode
    assert prepared(wanted, image, commands[:1], silent)[1] != digest


@pytest.mark.usefixtures("agent")
def test_a_layer_has_given_files_whose_content_decides_it(fakes: Path, tmp_path: Path) -> None:
    wanted = application(tmp_path, packages=("one",))
    image = built(wanted, silent)
    (tmp_path / "visit.har").write_text("one")
    (tmp_path / "tool/bin").mkdir(parents=True)
    program(tmp_path / "tool/bin/run", "#!/bin/sh\n")
    given = {"visit": tmp_path / "visit.har", "tool": tmp_path / "tool"}
    commands = [["sh", "-c", "cp $DATA/visit $DATA/copy"]]

    def made() -> tuple[Path, str]:
        digests = {name: (path, given_digest(path)) for name, path in given.items()}
        return prepared(wanted, image, commands, silent, None, digests)

    path, digest = made()
    assert (path / "copy").read_text() == "one"
    assert (path / "tool/bin/run").stat().st_mode & 0o777 == 0o755
    # Who may not read what was given may not read the copy either.
    assert path.parent.stat().st_mode & 0o007 == 0
    # Another path with the same content is the same layer, other content is not.
    (tmp_path / "visit.har").rename(tmp_path / "other.har")
    given["visit"] = tmp_path / "other.har"
    assert made()[0] == path
    given["visit"].write_text("two")
    again, other = made()
    assert (again / "copy").read_text() == "two"
    assert other != digest
    given["visit"] = tmp_path / "nothing"
    with pytest.raises(ExperimentError, match="cannot read"):
        made()
    os.mkfifo(tmp_path / "pipe")
    given["visit"] = tmp_path / "pipe"
    with pytest.raises(ExperimentError, match="cannot read"):
        made()
    (tmp_path / "pipe").rename(tmp_path / "tool/pipe")
    given["visit"] = tmp_path / "tool"
    with pytest.raises(ExperimentError, match="/pipe is neither a file nor a directory"):
        made()


@pytest.mark.usefixtures("agent")
def test_a_command_that_fails_or_leaves_too_much_is_told_with_its_last_words(
    fakes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = application(tmp_path, packages=("one",))
    image = built(wanted, silent)
    with pytest.raises(ExperimentError, match=r"exit code 3\):\nlast words"):
        prepared(wanted, image, [["sh", "-c", "echo last words >&2; exit 3"]], silent)
    with pytest.raises(PlatformError, match="neither a file"):
        prepared(wanted, image, [["sh", "-c", "mkfifo $DATA/pipe"]], silent)
    monkeypatch.setattr(prepare, "MOST_BYTES", 10)
    with pytest.raises(ExperimentError, match="more than 10 bytes"):
        prepared(wanted, image, [["sh", "-c", "echo 0123456789 > $DATA/a"]], silent)
    monkeypatch.setattr(prepare, "LIMIT_S", 0.0)
    monkeypatch.setattr(prepare, "LOOK_S", 0.01)
    with pytest.raises(ExperimentError, match="took more"):
        prepared(wanted, image, [["sleep", "600"]], silent)
    assert remnants() == []
