"""The commands that are replayed, and which of their outputs are compared.

Of most commands one document is compared: the JSON if they write one, otherwise the screen. Whole
screens and pages are compared for a few commands only, at least one for each renderer.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """One command of tare, as it is typed in a folder that contains its inputs.

    Attributes
    ----------
    name : str
        Name of its tape and of its expected files.
    arguments : str
        As typed, without `tare`; split as a shell does.
    inputs : tuple of str
        Files of `inputs/` or `tests/data` to copy into the folder; archives are unpacked.
    also : tuple of str
        Outputs that are compared besides the first: files, or "screen".
    output : str
        The first output that is compared; by default the file after `--json`, otherwise "screen".
    """

    name: str
    arguments: str
    inputs: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    output: str = ""

    @property
    def compared(self) -> tuple[str, ...]:
        """Return the outputs that are compared."""
        words = shlex.split(self.arguments)
        json_file = words[words.index("--json") + 1] if "--json" in words else "screen"
        return (self.output or json_file, *self.also)


COMMANDS = (
    # run
    Command("run", "run -n 20 --json run.json -- sleep 0.02", also=("screen",)),
    Command("run-precision", "run --precision 5% --budget 4s --quantile p90 -- sleep 0.01"),
    Command("run-kernels", "run -p bare -p unshare -n 8 --json run.json -- sleep 0.01"),
    Command("run-fails-sometimes", "run -n 24 --json run.json -- sh third.sh", ("third.sh",)),
    Command("run-fails", "run -n 5 -- sh -c 'echo no such table >&2; exit 3'"),
    Command("run-missing", "run -n 5 -- ./nothing"),
    Command("run-save", "run -n 12 --save base.json -- sleep 0.01", output="base.json"),
    Command("run-workers", "run -n 10 --workers 2 -- sleep 0.01"),
    # compare
    Command(
        "compare",
        "compare -n 24 --seed 7 --json c.json --markdown c.md --junit c.xml 'sleep 0.01' "
        "'sleep 0.012'",
        also=("screen", "c.md", "c.xml"),
    ),
    Command("compare-gate", "compare --gate 5% -n 16 --seed 7 'sleep 0.01' 'sleep 0.0102'"),
    Command(
        "compare-sequential",
        "compare --seed 7 --budget 4s --margin 3% 'sleep 0.005' 'sleep 0.005'",
    ),
    Command(
        "compare-baseline",
        "compare -n 12 --seed 7 --baseline base.json 'sleep 0.012' --json c.json",
        ("base.json",),
    ),
    # experiments
    Command("experiment-plan", "experiment plan small.toml --json plan.json", ("small.toml",)),
    Command(
        "experiment-run", "experiment run small.toml --out out --json run.json", ("small.toml",)
    ),
    Command("experiment-run-fails", "experiment run fails.toml --out out", ("fails.toml",)),
    Command("experiment-bad-file", "experiment run bad.toml", ("bad.toml",)),
    Command(
        "experiment-report-platforms", "experiment report platforms --json r.json",
        ("platforms.tar.xz",), ("screen", "platforms/report.html"),
    ),
    Command("experiment-report-demo", "experiment report demo --json r.json", ("demo.tar.xz",)),
    Command(
        "experiment-report-network", "experiment report network --json r.json", ("network.tar.xz",)
    ),
    Command(
        "experiment-report-services", "experiment report services --json r.json",
        ("services.tar.xz",),
    ),
    Command("export-estimates", "export demo --table estimates --json e.json", ("demo.tar.xz",)),
    Command(
        "export-trials", "export demo --table trials --file t.csv", ("demo.tar.xz",),
        output="t.csv",
    ),
    # audit
    Command("audit-table",
        "audit exp_float.csv --value cpu_s --group workload,workers --compare platform "
        "--json a.json", ("stability_2020/exp_float.csv",),
    ),
    Command("audit-hyperfine", "audit hyperfine.json --report a.html", ("hyperfine.json",),
        ("a.html",),
    ),
    Command("audit-pyperf", "audit pyperf.json --json a.json", ("pyperf.json",)),
    Command("audit-compare",
        "audit facenet.csv --value exec_time_s --group app,cores --compare platform --block item "
        "--json a.json", ("dnn_virt/facenet.csv",), ("screen",),
    ),
    Command("audit-kappa", "audit --kappa raters_a.csv raters_b.csv", (
        "raters_a.csv", "raters_b.csv",
    )),
    Command("audit-tare", "audit run.json", ("run.json",)),
    # machine
    Command("doctor", "doctor --all --json d.json --noise-window 1s", also=("screen",)),
    Command("fingerprint", "fingerprint --seed 3 --budget 20s --json f.json --report f.html call "
            "syscall clock process", also=("screen", "f.html")),
    Command("fingerprint-several", "fingerprint --seed 3 --budget 20s -p bare -p unshare call "
            "syscall"),
    Command("fingerprint-diff", "fingerprint diff f1.json f2.json --json d.json", (
        "f1.json", "f2.json",
    )),
    Command("selftest", "selftest -p bare --workers 1 -n 4 --seed 3 --no-store --json s.json"),
    # calibration
    Command("calibrate-fit", "calibrate fit sweep.csv --json c.json", ("sweep.csv",), ("screen",)),
    Command("calibrate-compare", "calibrate compare c1.json c2.json --json c.json", (
        "c1.json", "c2.json",
    )),
    Command("calibrate-compare-machines",
        "calibrate compare laptop.json server.json --json c.json", ("laptop.json", "server.json"),
    ),
    # network
    Command("net-identify", "net identify tbf-100-10-5MB.csv.gz --json i.json", (
        "network/tbf-100-10-5MB.csv.gz",
    )),
    Command("net-identify-cloud",
        "net identify cloud.csv --time second --group instance,region,epoch",
        ("cloud.csv",),
    ),
    Command("net-fingerprint-diff", "net fingerprint diff n1.json n2.json --json d.json", (
        "n1.json", "n2.json",
    )),
    Command("net-plan", "net plan n1.json small.toml --spend 2Gbit --json p.json", (
        "n1.json", "small.toml",
    )),
    Command("net-report", "net report measured", ("measured.tar.xz",)),
    # what there is
    Command("describe-findings", "describe findings"),
    Command("describe-kernels", "describe kernels --json d.json"),
    Command("help", "--help"),
    Command("run-help", "run --help"),
    Command("wrong-option", "compare --gaet 5% true true"),
)  # fmt: skip
