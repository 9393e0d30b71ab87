"""What a trial comes to: the means of the metrics that the stopping rule is about."""

from __future__ import annotations

from tare.agent import record


class Values:
    """Sums of metrics by source, over measured iterations and workers; what went wrong."""

    def __init__(self, metrics: tuple[str, ...]) -> None:
        self._sums: dict[str, dict[str, tuple[float, int]]] = {m: {} for m in metrics}
        self.wrong = False
        #: The first fault for which the trial failed.
        self.fault: record.Fault | None = None

    def add(self, sample: record.Sample) -> None:
        """Count a sample, where it is measured and of one of the metrics."""
        sums = self._sums.get(sample.metric)
        if sums is not None and sample.phase == "measured":
            total, count = sums.get(sample.source, (0.0, 0))
            sums[sample.source] = (total + sample.value, count + 1)

    def means(self, metric: str) -> dict[str, float]:
        """Return the mean of a metric by source."""
        return {source: total / count for source, (total, count) in self._sums[metric].items()}
