"""What a virtual machine is made of, without booting one."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest

from tare.agent.client import SilenceError
from tare.agent.record import User
from tare.errors import PlatformError, TareError
from tare.host import cache as host_cache
from tare.host import programs
from tare.platforms.vm import accelerator, cache, kernel, modules, root
from tare.platforms.vm.accelerator import Accelerator
from tare.platforms.vm.cpio import Archive


def module(folder: Path, name: str, ending: str = ".ko") -> Path:
    packs = {".ko.xz": lzma.compress, ".ko.gz": gzip.compress, ".ko.zst": zstd}
    (folder / "kernel").mkdir(parents=True, exist_ok=True)
    path = folder / "kernel" / f"{name}{ending}"
    path.write_bytes(packs.get(ending, bytes)(b"ELF" + name.encode()))
    return path


def zstd(data: bytes) -> bytes:
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as stream:
        stream.write(data)
    return bytes(out.getvalue().to_pybytes())


def test_modules_come_in_the_order_of_the_index_where_there_is_one(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        module(tmp_path, name)
    (tmp_path / "modules.dep").write_text(
        "kernel/a.ko: kernel/b.ko kernel/c.ko\nkernel/b.ko: kernel/c.ko\nkernel/c.ko:\n"
    )
    assert [path.stem for path in modules.ordered(tmp_path, ["a"])] == ["c", "b", "a"]


def test_what_is_built_in_needs_no_module_and_what_is_nowhere_is_told(tmp_path: Path) -> None:
    (tmp_path / "modules.builtin").write_text("kernel/fs/ext4/ext4.ko\n")
    assert modules.ordered(tmp_path, ["ext4"]) == []
    module(tmp_path, "a")
    (tmp_path / "modules.dep").write_text("kernel/a.ko: kernel/gone.ko\n")
    with pytest.raises(PlatformError, match=r"no module gone \(which a needs\)"):
        modules.ordered(tmp_path, ["a"])


def test_a_signature_is_cut_off_a_module_and_nothing_else(tmp_path: Path) -> None:
    about = bytes(8) + (5).to_bytes(4, "big")
    signed = tmp_path / "a.ko"
    signed.write_bytes(b"code" + b"12345" + about + modules.SIGNED)
    assert modules.content(signed) == b"code"
    signed.write_bytes(b"code")
    assert modules.content(signed) == b"code"


@pytest.mark.parametrize("ending", [".ko", ".ko.xz", ".ko.gz", ".ko.zst"])
def test_a_module_is_decompressed(tmp_path: Path, ending: str) -> None:
    assert modules.content(module(tmp_path, "a", ending)) == b"ELFa"


def test_a_damaged_module_is_told(tmp_path: Path) -> None:
    for ending in (".ko.xz", ".ko.gz", ".ko.zst"):
        broken = tmp_path / f"a{ending}"
        broken.write_bytes(b"no archive")
        with pytest.raises(PlatformError, match="cannot be read"):
            modules.content(broken)


@pytest.mark.skipif(shutil.which("cpio") is None, reason="cpio is not installed")
def test_two_archives_after_one_another_hold_what_was_put_in(tmp_path: Path) -> None:
    source = tmp_path / "program"
    source.write_bytes(b"12345")
    source.chmod(0o755)
    packed = io.BytesIO()
    archive = Archive(packed)
    archive.file("/usr/bin/program", source)
    archive.link("/bin", "usr/bin")
    archive.text("/tare/empty", b"")
    archive.close()
    inside = tmp_path / "inside"
    inside.mkdir()
    subprocess.run(["cpio", "--quiet", "-i", "-d"], input=packed.getvalue(), cwd=inside, check=True)
    assert (inside / "bin/program").read_bytes() == b"12345"
    assert (inside / "usr/bin/program").stat().st_mode & 0o777 == 0o755
    assert (inside / "tare/empty").read_bytes() == b""
    assert len(packed.getvalue()) % 4 == 0


def test_an_image_is_made_once_and_old_ones_make_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(cache, "MOST_BYTES", 25)
    made: list[Path] = []

    def make(path: Path) -> None:
        made.append(path)
        path.write_bytes(b"0123456789")

    for identity, first in ((b"a", True), (b"a", False), (b"b", True), (b"c", True)):
        file, cold = cache.image("cpio", identity, make)
        with file:
            assert file.read() == b"0123456789"
        assert cold is first
    assert len(made) == 3
    left = list((tmp_path / "tare/images").iterdir())
    assert len(left) == 2
    assert not [path for path in left if path.name.startswith(".")]


def test_an_image_that_cannot_be_written_says_where_room_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def full(path: Path) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(PlatformError, match="No space left") as caught:
        cache.image("cpio", b"a", full)
    assert "XDG_CACHE_HOME" in (caught.value.hint or "")
    assert list((tmp_path / "tare/images").iterdir()) == []


def bzimage(path: Path, version: str) -> Path:
    data = bytearray(0x1000)
    data[0x202:0x206] = b"HdrS"
    data[0x20E:0x210] = (0x600).to_bytes(2, "little")
    data[0x800 : 0x800 + len(version) + 8] = version.encode() + b" (build)"
    path.write_bytes(bytes(data))
    return path


def test_the_newest_kernel_for_clouds_is_taken_with_its_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "BOOT", tmp_path)
    monkeypatch.setattr(kernel, "MODULES", tmp_path / "modules")
    monkeypatch.setattr(kernel.platform, "machine", lambda: "x86_64")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for version in ("6.1.0-9-cloud", "6.1.0-10-cloud", "6.12.0-1-desktop"):
        bzimage(tmp_path / f"vmlinuz-{version}", version)
        (tmp_path / "modules" / version).mkdir(parents=True)
    assert kernel.newest().version == "6.1.0-10-cloud"
    (tmp_path / "modules/6.1.0-10-cloud").rmdir()
    assert kernel.newest().version == "6.1.0-9-cloud"
    for path in tmp_path.glob("vmlinuz-*"):
        path.unlink()
    with pytest.raises(PlatformError, match="no kernel for a virtual machine") as caught:
        kernel.newest()
    assert caught.value.hint


def test_a_kernel_for_another_machine_is_refused_before_it_boots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel.platform, "machine", lambda: "x86_64")
    arm = tmp_path / "vmlinuz-6.1"
    arm.write_bytes(bytes(56) + b"ARM\x64" + bytes(100))
    with pytest.raises(PlatformError, match="a kernel for aarch64, not x86_64"):
        kernel.chosen(str(arm))
    arm.write_bytes(b"text")
    with pytest.raises(PlatformError, match="is no kernel"):
        kernel.chosen(str(arm))


def test_kvm_is_tried_once_and_its_refusal_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accelerator, "_tried", [])
    monkeypatch.setattr(accelerator, "missing", lambda: None)
    tried: list[Accelerator] = []

    def crash(by: Accelerator) -> None:
        tried.append(by)
        raise TareError("exit code 1: failed to set MSR")

    found = [accelerator.chosen("auto", crash) for _ in range(2)]
    assert tried == [accelerator.KVM]
    assert found[0] == found[1]
    assert found[0].emulated
    assert "MSR" in (found[0].why or "")
    with pytest.raises(PlatformError, match=r"KVM.* does not work.*MSR") as told:
        accelerator.chosen("kvm", crash)
    assert "nested virtualization" in (told.value.hint or "")
    assert tried == [accelerator.KVM]
    monkeypatch.setattr(accelerator, "_tried", [None])
    assert not accelerator.chosen("kvm", crash).emulated
    monkeypatch.setattr(accelerator, "missing", lambda: ("no device", "modprobe"))
    assert accelerator.chosen("auto", crash).why == "no device"
    with pytest.raises(PlatformError, match="no device"):
        accelerator.chosen("kvm", crash)


def test_of_a_guest_that_hangs_it_is_said_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accelerator, "_tried", [])
    monkeypatch.setattr(accelerator, "missing", lambda: None)

    def hang(by: Accelerator) -> None:
        raise SilenceError(8.0)

    with pytest.raises(PlatformError) as told:
        accelerator.chosen("kvm", hang)
    assert told.value.message.endswith("a virtual machine did not start within 8 s")


@pytest.mark.skipif(shutil.which("mke2fs") is None, reason="mke2fs is not installed")
def test_a_directory_becomes_a_disk_that_holds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tree = tmp_path / "tree"
    (tree / "etc").mkdir(parents=True)
    (tree / "etc/file").write_bytes(b"x" * 3_000_000)
    disk = root.disk(str(tree))
    listed = subprocess.run(
        ["debugfs", "-R", "ls -p /etc", disk.name],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    disk.close()
    assert "/file/3000000/" in listed.stdout
    (tree / "etc/file").write_bytes(b"y")
    again = root.disk(str(tree))
    again.close()
    assert again.name != disk.name


def test_programs_are_packed_with_interpreter_and_libraries() -> None:
    shell = programs.find("sh")
    found = programs.closure([shell])
    assert shell.resolve() in found
    assert found == sorted(found)
    for path in found:
        assert not path.parent.is_symlink()
        assert path.parent == Path("/") or path.parent in found
    listed = subprocess.run(["ldd", shell], capture_output=True, text=True, check=False).stdout
    libraries = [word for word in listed.split() if word.startswith("/")]
    assert all(Path(word).resolve() in found for word in libraries)


def test_a_script_takes_what_its_first_line_names(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/usr/bin/env -S cat\n")
    link = tmp_path / "link"
    link.symlink_to("script")
    found = programs.closure([link])
    assert {link, script, programs.find("cat").resolve()} <= set(found)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root reads for others")
def test_files_that_the_caller_of_sudo_cannot_read_are_not_packed() -> None:
    caller = User(uid=54321, gid=54321, groups=())
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        Path(name).chmod(0o755)
        secret, script = Path(name) / "secret", Path(name) / "script"
        secret.write_text("root's")
        script.write_text(f"#!{secret}\n")
        programs.check_readable(programs.closure([script]), caller)
        Archive(io.BytesIO()).copies([secret, script], caller)
        secret.chmod(0o600)
        with pytest.raises(PlatformError, match="secret is not packed, as user 54321"):
            programs.check_readable(programs.closure([script]), caller)
        # It may be another file by now, so it is opened with that user's rights.
        for mode in (0o600, 0o640):
            secret.chmod(mode)
            with pytest.raises(PlatformError, match="secret cannot be packed as user 54321"):
                Archive(io.BytesIO()).copies([script, secret], caller)
        Archive(io.BytesIO()).copies([script, secret])
        assert os.access(secret, os.R_OK)


def test_a_directory_is_packed_with_all_that_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/data").write_text("1")
    assert tmp_path / "a/b/data" in programs.closure([tmp_path / "a"])


def test_what_cannot_be_packed_is_told(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    for path, words in (
        ("/none/such", "cannot be packed: /none"),
        ("relative", "no absolute path"),
        (str(loop), "links without end"),
    ):
        with pytest.raises(PlatformError, match=words):
            programs.closure([path])
    with pytest.raises(PlatformError, match="not on this machine") as caught:
        programs.find("no-such-program")
    assert caught.value.hint


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Path:
        raise RuntimeError("no home")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", none)
    with pytest.raises(PlatformError, match="no home") as caught:
        host_cache.folder()
    assert "XDG_CACHE_HOME" in (caught.value.hint or "")
