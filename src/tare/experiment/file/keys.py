"""The keys of an experiment file: what is here is also its documentation."""

from __future__ import annotations

from tare.experiment.file import kinds
from tare.experiment.file.table import Key

#: More than any machine has room for, few enough that a slip of the finger is refused.
MANY = 1_000_000
#: Addresses of the network end at 254; each host takes a namespace and a shaper.
MOST_HOSTS = 64

STOPPING = (
    Key(
        "trials",
        kinds.whole(1, MANY),
        "fixed number of trials per cell, decided beforehand; excludes `precision`",
    ),
    Key(
        "precision",
        kinds.share(0, 1),
        "go on by block until the median of every cell is known this well (half-width of its "
        "interval, relative)",
    ),
    Key(
        "quantile",
        kinds.QUANTILE,
        "the quantile that `precision` is about, in place of the median",
    ),
    Key(
        "anytime",
        kinds.FLAG,
        "stop by a confidence sequence, which holds however often one looks; for exchangeable "
        "trials only, and refused where trials remember each other",
    ),
    Key(
        "early",
        kinds.FLAG,
        "stop from 10 trials on where the median reaches the precision even if trials are strongly "
        "autocorrelated, as `tare run` does; such a result holds for its session. Not with several "
        "platforms or worker counts, whose spread is asked as well",
    ),
    Key(
        "compare",
        kinds.NAME,
        "go on by block until every level of this factor (or `workload`) is safely told from its "
        "reference level, or shown to be the same within `margin`; excludes `precision`",
    ),
    Key(
        "gate",
        kinds.share(0, 10),
        "with `compare`: go on until every ratio is safely below or above 1 + this",
    ),
    Key(
        "gate_on",
        kinds.GATE_ON,
        "what the gate judges: `median`, `mean`, or a quantile such as `p90`; the latter two see "
        "what a few slow runs do, and are judged once, at the end",
    ),
    Key(
        "min_trials",
        kinds.whole(1, MANY),
        "with `compare`: conclude from no fewer trials per cell, unless the budget ends before; of "
        "44 trials at least one fails in 99 % of comparisons if a tenth of all do",
    ),
    Key(
        "budget",
        kinds.seconds(positive=True),
        "time for measuring in one session; outranks trials and precision. Without it, `trials` "
        "alone bounds the experiment, and otherwise 10 min do",
        field="budget_s",
    ),
)

EXPERIMENT = (
    Key("name", kinds.NAME, "what the experiment is called", required=True),
    Key("question", kinds.TEXT, "what is asked; it heads the report", required=True),
    Key("seed", kinds.whole(0, 2**63 - 1), "everything random comes from it: order and inputs"),
    Key(
        "order",
        kinds.choice(("blocks", "sequential")),
        "every cell once per block, in random order; or one cell after the other",
    ),
    Key(
        "metric",
        kinds.METRICS,
        "what the stopping rule and the answers are about; of a list, all must reach the "
        "precision, and the answers are about the first; with compare, the first is judged, and "
        "the others have columns in the table of all cells",
        field="metrics",
    ),
    Key("margin", kinds.share(0, 1), "smallest difference between cells that matters"),
    Key(
        "limit",
        kinds.LIMIT,
        "what a judge allows an execution: tare says how often that misjudges, and which limit "
        "rarely does; nothing is stopped. A time is one of the metric, a size one of memory",
    ),
    Key(
        "true_time",
        kinds.NAME,
        "the metric by which a program tells how long it takes where nothing disturbs it; "
        "without, that is its median in the quietest cell",
    ),
    Key(
        "parallel_shift",
        kinds.share(0, 10),
        "shift of the mean beyond which workers disturb each other",
    ),
    Key(
        "parallel_growth",
        kinds.share(0, 10),
        "growth of the spread beyond which workers disturb each other, and difference in "
        "spread between platforms that matters",
    ),
    Key(
        "iterations",
        kinds.whole(1, MANY),
        "measured executions per worker in a trial; a trial's value is their mean",
    ),
    Key("warmup", kinds.whole(0, MANY), "unmeasured executions before them"),
    Key(
        "process",
        kinds.choice(("fresh", "same")),
        "a process for each iteration; or all in one (kernels only)",
    ),
    Key(
        "tail",
        kinds.choice(("loaded", "stop")),
        "a worker that has finished keeps the load on until the last has; or stops",
    ),
    Key(
        "instances",
        kinds.choice(("own", "shared")),
        "each worker in its own instance of the platform; or all in one",
    ),
    Key(
        "fresh",
        kinds.choice(("platform", "trial", "run")),
        "instances live as long as the session; or are new for every trial; or a sandbox that can "
        "(isolate) starts each execution itself, without an agent inside, and its own times are "
        "stored as a source of cpu_ns and wall_ns",
    ),
    Key("rest", kinds.seconds(positive=False), "pause between trials", field="rest_s"),
    Key(
        "linger",
        kinds.seconds(positive=False),
        "how long children may outlive a command before they are killed",
        field="linger_s",
    ),
    Key("inputs", kinds.whole(1, MANY), "generated inputs that blocks cycle through"),
    Key(
        "quota_period",
        kinds.seconds(positive=True),
        "period of CPU quotas (`quota`, `cores` of a size), after which the kernel hands out CPU "
        "time anew: 1 ms to 1 s",
        field="quota_period_s",
    ),
    Key(
        "skip_missing",
        kinds.FLAG,
        "leave out platforms and loads that are not available, and say so",
    ),
    Key(
        "fingerprint",
        kinds.FLAG,
        "probe the machine for 5 s before and after each session, so that it is known whether it "
        "stayed the same",
    ),
    Key(
        "context_switches",
        kinds.FLAG,
        "record the context switches of commands, which takes some of their time at each; without, "
        "wall time excludes teardown, and time that threads waited is not known",
    ),
    Key(
        "steady",
        kinds.FLAG,
        "take the steady part of trials alone: iterations, or trials, without their warm-up",
    ),
)

ENFORCE = Key(
    "enforce",
    kinds.ENFORCED,
    "kill an execution that takes more, all of its processes together: CPU time; memory; bytes of "
    "standard output and error, and of each file that it writes; processes and threads",
)
#: Keys of every workload, of a kernel and of a command; a kernel's parameters are keys as well.
WORKLOAD = (
    Key("name", kinds.NAME, "how it is called; the kernel's or the program's name by default"),
    Key(
        "timeout",
        kinds.seconds(positive=True),
        "kill an execution that takes longer; the trial has then failed. In windows, a kernel has "
        "twice that and the window",
        field="timeout_s",
    ),
    Key(
        "trials",
        kinds.whole(1, 10**6),
        "trials of each cell of this workload, fewer than `trials` of the experiment",
    ),
    Key(
        "only",
        kinds.LEVELS,
        "levels at which this workload is measured, by factor, such as "
        '`{ platform = ["bare", "docker"] }`; of other factors, and for other workloads, all',
    ),
)
KERNEL = (
    Key("kernel", kinds.NAME, "built-in workload: one of `tare describe kernels`"),
    Key(
        "repetitions",
        kinds.whole(1, 10**12),
        "executions in one timed region; by default found once, on bare, for 100–300 ms; one in "
        "windows",
    ),
)
APPLICATION = (
    Key(
        "application",
        kinds.TEXT,
        "one of `tare describe applications`, or a folder with an `application.toml`, with a slash "
        "in it",
    ),
    Key("capture", kinds.FLAG, "keep standard output and error"),
    ENFORCE,
)
COMMAND = (
    Key("command", kinds.COMMAND, "program and arguments, with placeholders; no shell"),
    Key("environment", kinds.TEXTS, "variables that the command gets, with placeholders"),
    Key("inherit", kinds.NAMES, "variables that it gets from who calls tare, `*` for any"),
    Key("directory", kinds.TEXT, "where it runs, as its platform sees it; with placeholders"),
    Key("input", kinds.TEXT, "file to read as standard input; with placeholders"),
    Key("capture", kinds.FLAG, "keep standard output and error"),
    ENFORCE,
    Key(
        "ignore_failure",
        kinds.EXITS,
        "exit codes that are no failure; true: all, and signals",
    ),
    Key("shell", kinds.COMMAND, "runs the lines below"),
    Key(
        "setup",
        kinds.TEXT,
        "line for it before the first trial; on this machine, not in the platform; with "
        "placeholders",
    ),
    Key("prepare", kinds.TEXT, "the same before every trial; not in its time"),
    Key("conclude", kinds.TEXT, "the same after every trial"),
    Key("cleanup", kinds.TEXT, "the same after the last trial"),
)

WINDOW = (
    Key(
        "periods",
        kinds.whole(1, MANY),
        "whole periods of the quota that a window spans at least; it lasts until a whole "
        "execution is in it, too",
    ),
)

FLEET = (
    Key(
        "hosts",
        kinds.list_of(kinds.NAME, 'a list of names or patterns, such as ["box1", "rack1-*"]'),
        "hosts that are asked, by name or by a pattern such as `rack1-*`; by default all",
    ),
    Key(
        "at_once",
        kinds.whole(1, MANY),
        "hosts that measure at the same time; the others take turns with them, block by block. By "
        "default all",
    ),
    Key(
        "blocks",
        kinds.whole(1, 10_000),
        "blocks that a host measures before what it has found is fetched: more cost less, and are "
        "lost together",
    ),
)

NETWORK = (
    Key("hosts", kinds.whole(1, MOST_HOSTS), "hosts of the network; the command runs on the first"),
    Key(
        "serve",
        kinds.COMMANDS,
        "commands that run on every other host while the session lasts, with placeholders",
    ),
    Key(
        "budget",
        kinds.choice(("reset", "carry")),
        "every trial begins with the budget of its level; or with what the last trial of the same "
        "level has left",
    ),
    Key(
        "rest",
        kinds.either(("none", "refill"), kinds.seconds(positive=True)),
        "before a trial: none; until every bucket is full again; or so long. With `carry`",
    ),
    Key(
        "log",
        kinds.seconds(positive=True),
        "how often the tokens that are left are written down",
        field="log_s",
    ),
)
NETWORKS = (
    Key(
        "spec",
        kinds.TEXT,
        "how what leaves every host is shaped, as `tare net emulate` takes it",
        required=True,
    ),
)

SIZE = (
    Key(
        "cores",
        kinds.CPUS,
        "CPU time that each instance may take a second of time, by a quota: 0.5 is half a CPU",
    ),
    Key(
        "cpuset",
        kinds.whole(1, 4096),
        "whole CPUs that each instance is confined to: cores of their own, one package after "
        "the other, before second hardware threads",
    ),
    Key("memory", kinds.SIZE, "memory of each instance", field="memory_bytes"),
)
