"""The keys of an experiment file: what is here is also its documentation."""

from __future__ import annotations

from tare.experiment.file import file_kinds
from tare.options import kinds, measuring
from tare.options.measuring import MANY
from tare.options.option import Key

STOPPING = (
    *measuring.keys(measuring.STOPPING),
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
)

EXPERIMENT = (
    *measuring.keys(measuring.EXPERIMENT),
    Key("name", kinds.NAME, "what the experiment is called", required=True),
    Key("question", kinds.TEXT, "what is asked; it heads the report", required=True),
    Key(
        "order",
        kinds.choice(("blocks", "sequential")),
        "every cell once per block, in random order; or one cell after the other",
    ),
    Key(
        "limit",
        file_kinds.LIMIT,
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
    Key(
        "context_switches",
        kinds.FLAG,
        "record the context switches of commands, which takes some of their time at each; without, "
        "wall time excludes teardown, and time that threads waited is not known",
    ),
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
)

ENFORCE = Key(
    "enforce",
    file_kinds.ENFORCED,
    "kill an execution that takes more, all of its processes together: CPU time; memory; bytes of "
    "standard output and error, and of each file that it writes; processes and threads",
)
#: Keys of every workload, of a kernel and of a command; a kernel's parameters are keys as well.
WORKLOAD = (
    *measuring.keys(measuring.WORKLOAD),
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
    next(key for key in measuring.keys(measuring.COMMAND) if key.name == "output"),
    ENFORCE,
)
COMMAND = (
    *measuring.keys(measuring.COMMAND),
    Key("command", kinds.COMMAND, "program and arguments, with placeholders; no shell"),
    Key("environment", kinds.TEXTS, "variables that the command gets, with placeholders"),
    Key("inherit", kinds.NAMES, "variables that it gets from who calls tare, `*` for any"),
    Key("directory", kinds.TEXT, "where it runs, as its platform sees it; with placeholders"),
    Key("input", kinds.TEXT, "file to read as standard input; with placeholders"),
    ENFORCE,
    Key("shell", kinds.COMMAND, "runs the lines below"),
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
    *measuring.keys(measuring.NETWORK),
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
