"""Networks that others have measured, under names."""

from __future__ import annotations

from typing import NamedTuple


class MeasuredBucket(NamedTuple):
    """A bucket that was emptied once: two rates, and how long it took.

    Rates are of payload, as iperf saw them.
    """

    high_bps: int
    low_bps: int
    empty_after_s: int
    #: Where and how often it was seen, in words.
    source: str

    @property
    def budget_bits(self) -> int:
        """What the bucket held, if tokens came back at the low rate all the time.

        No trace has a second epoch, so that this is an assumption; CLOUDNET (3.3) found a refill
        of about 1 Gbit/s for c5.xlarge, which is about its low rate.
        """
        return (self.high_bps - self.low_bps) * self.empty_after_s


def _mbit(value: int) -> int:
    return value * 10**6


#: From the traces published with CLOUDNET (us-east-1, September 2019, a value a second,
#: Apache-2.0): rates are medians over the incarnations of a kind, times their means. The times are
#: the authors' less the ten seconds that their script waited at the low rate. One type does not
#: always get the same network: what was given 5 Gbit/s has a name of its own.
BUCKETS = {
    # Epochs 1568034111 (596 s), 1568036164 (585 s), 1568102501 (595 s).
    "c5.large": MeasuredBucket(_mbit(5018), _mbit(750), 592, "c5.large, three instances"),
    # Epoch 1568029396.
    "c5.xlarge": MeasuredBucket(_mbit(9689), _mbit(1254), 521, "c5.xlarge, one instance"),
    # Epochs 1568031119 (1191 s), 1568032969 (1167 s).
    "c5.xlarge-5g": MeasuredBucket(
        _mbit(5018), _mbit(1254), 1179, "c5.xlarge given 5 Gbit/s, two instances"
    ),
    # Epoch 1568039663.
    "c5.2xlarge": MeasuredBucket(_mbit(5018), _mbit(2509), 2993, "c5.2xlarge, one instance"),
    # Epochs 1568040983 (2304 s), 1568057573 (2228 s).
    "c5.4xlarge": MeasuredBucket(_mbit(9688), _mbit(5017), 2266, "c5.4xlarge, two instances"),
}

#: Types in whose traces nothing was ever emptied, with the rate that they kept.
#: Epochs 1568045138 (1 h), 1568065383 (2 h), both with outages.
NO_BUCKET = {"c5.4xlarge-5g": _mbit(5017)}


class MeasuredCloud(NamedTuple):
    """The range of bandwidths that was published of a cloud."""

    least_bps: int
    most_bps: int
    source: str


#: What CLOUDNET's text (3.1) gives: the range alone. That every rate in it is equally likely is an
#: assumption.
CLOUDS = {
    "hpccloud": MeasuredCloud(_mbit(7700), _mbit(10400), "HPCCloud, 8 cores, full speed"),
    # Over all three access patterns; some 2 % of segments were sent again, which a rate alone does
    # not show.
    "google": MeasuredCloud(_mbit(13000), _mbit(15800), "Google Cloud, us-east"),
}

#: Clouds that CLOUDNET draws (Figure 2, after Ballani et al.) without a number in its text.
DRAWN = tuple("ABCDEFGH")
#: Percentiles that the figure draws of each.
DRAWN_PERCENT = (1, 25, 50, 75, 99)
