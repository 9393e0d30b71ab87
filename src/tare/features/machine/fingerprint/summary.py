"""What a fingerprint says in short: which machine, how precisely, how near its specification."""

from __future__ import annotations

from collections import Counter
from statistics import median

from tare.experiment.fingerprints.machine.document import Figure, Fingerprint
from tare.features.machine.fingerprint.weights import Weighed
from tare.results.message import Amount, Message, message

_MACHINE_TEXTS = {
    "others": "other programs took {share} of the CPU time",
    "host": "the host took {share} of the CPU time",
}

#: Largest factor between a figure and its prediction at which it counts as near.
NEAR = 1.25
#: Figures of CPU time that the machine lost, and who took it.
_TAKEN = {"noise.lost": "others", "steal.share": "host"}
#: Figures that are named of a platform.
_MOST_NAMED = 4


def machine(found: Fingerprint) -> Message:
    """Name the machine and its size."""
    facts = found.facts
    hypervisor, cpus, memory = (facts.get(n) for n in ("hypervisor", "cpus", "memory_bytes"))
    made = facts.get("microarchitecture")
    return message(
        "{% if cpu %}{cpu}{% else %}a processor without a name{% endif %}{% if made %} ("
        "{made}){% endif %}{% if hypervisor %}, hypervisor {hypervisor}{% elif bare %}, bare "
        "metal{% endif %}{% if cpus %}, {cpus | counted('CPU')}{% endif %}{% if memory %}, "
        "{memory} of memory{% endif %}{% if platform %}; measured inside {platform}"
        "{% endif %}",
        cpu=str(facts["cpu"]) if "cpu" in facts else None,
        made=None if made is None else str(made),
        hypervisor=None if hypervisor in (None, "none") else str(hypervisor),
        bare=hypervisor == "none",
        cpus=cpus if isinstance(cpus, int) else None,
        memory=Amount(memory, "bytes") if isinstance(memory, int) else None,
        platform=None if found.platform == "bare" else found.platform,
    )


def clock(found: Fingerprint) -> Message | None:
    """Give the frequency of a busy core; None: not measured."""
    frequency = found.metrics.get("loop.effective_frequency")
    if frequency is None:
        return None
    nominal = found.facts.get("base_hz") or found.facts.get("tsc_hz")
    return message(
        "CPU clock: {hz}{% if nominal %} (nominal {nominal}){% endif %}",
        hz=Amount(frequency.value, "Hz"),
        nominal=Amount(nominal, "Hz") if isinstance(nominal, int) else None,
    )


def trust(found: Fingerprint) -> list[Message]:
    """Say how well the figures are known, and what disturbed them."""
    widths = {n: w for n, f in found.metrics.items() if (w := half_width(f)) is not None}
    said = []
    if widths:
        least = max(widths, key=widths.__getitem__)
        one = found.metrics[least]
        interval = Amount(one.value, one.unit, *one.ci) if one.ci else None
        said.append(
            message(
                "half of the medians are known to ± {middle}. Least known: {least}, "
                "{% if interval %}{interval}{% else %}± {width}{% endif %}",
                middle=Amount(median(widths.values()), "share"),
                least=least,
                width=Amount(widths[least], "share"),
                # A share above one says less than the interval itself.
                interval=interval if widths[least] > 1 else None,
            )
        )
    elif found.metrics:
        said.append(message("too few rounds for intervals: --budget TIME"))
    for name, who in _TAKEN.items():
        taken = found.metrics.get(name)
        if taken is not None and taken.unit == "1":
            said.append(message(_MACHINE_TEXTS[who], share=Amount(taken.value, "share")))
    return said


def predicted(found: Fingerprint) -> Message | None:
    """Say how many figures are near their predictions; None: none has one."""
    ratios = [r for f in found.metrics.values() if (r := ratio(f)) is not None]
    if not ratios:
        return None
    return message(
        "within 25 % of the prediction: {near} of {of | counted('figure')}{% if without %}; "
        "{without} without a prediction{% endif %}",
        near=sum(1 / NEAR <= r <= NEAR for r in ratios),
        of=len(ratios),
        without=len(found.metrics) - len(ratios),
    )


def half_width(figure: Figure) -> float | None:
    """Half of the interval's width, relative to the value; None where there is none."""
    if figure.ci is None or not figure.value:
        return None
    return (figure.ci[1] - figure.ci[0]) / 2 / abs(figure.value)


def ratio(figure: Figure) -> float | None:
    """Return the value as a multiple of the prediction; None where that is none."""
    if not figure.predicted or figure.value <= 0 or figure.predicted <= 0:
        return None
    return figure.value / figure.predicted


def versus(one: Weighed, first: str) -> Message:
    """Say how many figures of a platform are slower than those of the first, and which most."""
    if one.emulated:
        return message(
            "{platform} is emulated: its instructions are translated. Its figures, in "
            "brackets, are not the platform's overhead",
            platform=one.platform,
        )
    if not one.costs:
        return message(
            "{platform} was not measured{% if why %}: {why}{% endif %}",
            platform=one.platform,
            why=one.why,
        )
    counts = Counter(cost.verdict for cost in one.costs)
    slower = sorted((c for c in one.costs if c.verdict == "costs"), key=lambda c: -c.ratio)
    return message(
        "{platform} vs. {first}: {slower} of {figures | counted('figure')} slower"
        "{% if slower %} ({named | join(', ')}{% if more %}, {more} more{% endif %})"
        "{% endif %}{% if faster %}; {faster} faster{% endif %}{% if same %}; {same} "
        "equivalent{% endif %}{% if inconclusive %}; {inconclusive} inconclusive{% endif %}",
        platform=one.platform,
        first=first,
        figures=len(one.costs),
        slower=len(slower),
        named=[
            message("{metric} × {ratio}", metric=c.metric, ratio=c.ratio)
            for c in slower[:_MOST_NAMED]
        ],
        more=max(0, len(slower) - _MOST_NAMED),
        faster=counts["saves"],
        same=counts["same"],
        inconclusive=counts["inconclusive"],
    )
