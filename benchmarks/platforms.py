"""What does each platform cost besides measuring, and what does tare hold while it measures?

(a) A trial of an empty static program inside a running platform: the round trip of its job, less
    the time of the program itself, beside the same on the bare machine: what the layer adds each
    time (bar: 3 ms). Beside `docker exec` and, where it is on PATH, BenchExec's `runexec`.
(b) From asking for a virtual machine to the agent's first record (bar under TCG: 3 s), beside QEMU
    by itself with the same kernel and initramfs to the first line of its init.
(c) Memory of the front and of its agents while a trial runs (bars: 60 MB, 5 MB).

    .venv/bin/python benchmarks/platforms.py [--platform bare docker …] [--trials 200]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tare import platforms
from tare.agent import client, record
from tare.experiment import remnants
from tare.features.machine.fingerprint import trial_probe
from tare.host import lease
from tare.platforms import processes

TARE = [sys.executable, "-c", "from tare.wiring import main; main()"]
IMAGE = "tare-benchmark-exec"
EXPERIMENT = """
[experiment]
name = "memory"
question = "What does the front hold while a trial runs?"
trials = 2
[[workload]]
name = "sleep"
command = ["sleep", "4"]
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--platform", nargs="*", default=list(platforms.offered()))
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--starts", type=int, default=6)
    options = parser.parse_args()
    print("one trial of an empty program in a running platform, ms (median, least)")
    print(f"  {'':<20} {'round trip':>18} {'beyond the program':>20}  start s (median)  agent MB")
    for stack in options.platform:
        found = platforms.availability(stack)
        if found.works:
            steady(stack, options.trials, options.starts)
        else:
            print(f"  {stack:<20} {found.why[:100]}")
    others()
    if "vm" in options.platform:
        boot(options.starts)
    held()


def steady(stack: str, trials: int, starts: int) -> None:
    """Print what trials in one platform take, and what starting it takes."""
    name = lease.new_name()
    shared = Path("/dev/shm") / name
    took, trips, beyond, weight = [], [], [], None
    with remnants.lease(name):
        shared.mkdir()
        shared.chmod(0o777)
        try:
            for number in range(starts):
                place = platforms.Place(name=f"{name}-{number}", shared=str(shared))
                instance = platforms.start(stack, place)
                took.append(instance.start_ns / 1e9)
                try:
                    if number == starts - 1:
                        trips, beyond = empty_trials(client.Agent(instance.channel), trials)
                        weight = processes.weight(place.name)
                finally:
                    instance.close()
        finally:
            shutil.rmtree(shared, ignore_errors=True)
    seen = weight is not None and weight.agent is not None
    print(
        f"  {stack:<20} {told(trips):>18} {told(beyond):>20}  "
        f"{statistics.median(took):>16.3f}  {weight.agent.memory_bytes / 1e6 if seen else '–':>8.3}"
    )


def empty_trials(there: client.Agent, trials: int) -> tuple[list[float], list[float]]:
    """Return the round trip of each trial, and that less the program's own time, in ms."""
    trips, beyond = [], []
    for n in range(trials + 5):
        job = trial_probe.job(there.next_id())
        asked = time.monotonic_ns()
        answers = there.ask(job, 60)
        trip = (time.monotonic_ns() - asked) / 1e6
        walls = [
            a.value for a in answers
            if isinstance(a, record.Sample) and (a.metric, a.source) == ("wall_ns", "around")
        ]  # fmt: skip
        if n >= 5 and walls:
            trips.append(trip)
            beyond.append(trip - walls[0] / 1e6)
    return trips, beyond


def others() -> None:
    """Print what others take for one execution of an empty program, on this machine."""
    if shutil.which("docker"):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(client.binary(), Path(folder) / "empty")
            (Path(folder) / "Dockerfile").write_text("FROM scratch\nCOPY empty /empty\n")
            quietly("docker", "build", "-q", "-t", IMAGE, folder)
        quietly("docker", "run", "-d", "-i", "--network", "none", "--name", IMAGE, IMAGE,
                "/empty", "serve")  # fmt: skip
        print(f"  {'docker exec':<20} {timed('docker', 'exec', IMAGE, '/empty', '--version'):>18}")
        quietly("docker", "rm", "-f", IMAGE)
        quietly("docker", "rmi", IMAGE)
    if shutil.which("runexec"):
        command = ("runexec", "--no-container", "--output", "/dev/null", "--")
        print(f"  {'runexec':<20} {timed(*command, str(client.binary()), '--version'):>18}")


def quietly(*command: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, capture_output=True, check=False)


def timed(*command: str) -> str:
    took = []
    for _ in range(20):
        began = time.monotonic()
        done = quietly(*command)
        took.append((time.monotonic() - began) * 1e3)
        if done.returncode:
            return f"failed: {done.stderr.decode()[-60:]!r}"
    return told(took)


def told(values: list[float]) -> str:
    return f"{statistics.median(values):.2f}, {min(values):.2f}" if values else "–"


def boot(starts: int) -> None:
    """Print what QEMU by itself takes to the first line of an init, with the host's kernel."""
    kernels = sorted(Path("/boot").glob("vmlinuz-*"))
    if not kernels or not shutil.which("qemu-system-x86_64") or not shutil.which("cpio"):
        return
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder)
        source = made / "init.c"
        source.write_text(
            "#include <stdio.h>\n#include <unistd.h>\n#include <sys/reboot.h>\n"
            'int main(void) { puts("INIT"); fflush(stdout); sleep(60); return 0; }\n'
        )
        (made / "root" / "dev").mkdir(parents=True)
        subprocess.run(["cc", "-O2", "-static", "-o", made / "root/init", source], check=True)
        os.mknod(made / "root/dev/console", 0o20600, os.makedev(5, 1))
        subprocess.run("find . | cpio -o -H newc > ../initramfs", shell=True, check=True,
                       cwd=made / "root", capture_output=True)  # fmt: skip
        took = [first_line(kernels[-1], made / "initramfs") for _ in range(starts)]
    print(f"bare QEMU to the first line of init, s: {statistics.median(took):.2f}")


def first_line(kernel: Path, initramfs: Path) -> float:
    command = [
        "qemu-system-x86_64", "-kernel", str(kernel), "-initrd", str(initramfs), "-nographic",
        "-no-reboot", "-m", "256", "-nodefaults", "-serial", "stdio", "-append",
        "console=ttyS0 quiet",
    ]  # fmt: skip
    began = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as qemu:
        for line in qemu.stdout:
            if b"INIT" in line:
                took = time.monotonic() - began
                qemu.kill()
                return took
    raise SystemExit("QEMU ended before its init said anything")


def held() -> None:
    """Print what the front and what belongs to it hold while a trial runs."""
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "memory.toml", Path(folder) / "out"
        file.write_text(EXPERIMENT)
        command = [*TARE, "experiment", "run", str(file), "--out", str(out)]
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as tare:
            while tare.poll() is None and not trial_begun(out):
                time.sleep(0.2)
            time.sleep(1.5)
            print(f"front while a trial runs, MB: {memory(tare.pid)}")
            for pid in children(tare.pid):
                argv = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
                print(f"  {' '.join(argv[:2])[-40:]:<40} {memory(pid)}")
            tare.wait()


def trial_begun(out: Path) -> bool:
    journal = out / "journal" / "1.ndjson"
    return journal.exists() and any(
        json.loads(line)["record"] == "ended"
        for line in journal.read_bytes().splitlines(keepends=True)
        if line.endswith(b"\n")
    )


def children(pid: int) -> list[int]:
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def memory(pid: int) -> str:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    rss, pss = (int(re.search(rf"^{k}: +(\d+)", text, re.M)[1]) / 1e3 for k in ("Rss", "Pss"))
    return f"{rss:.1f} resident, {pss:.1f} proportional"


if __name__ == "__main__":
    main()
