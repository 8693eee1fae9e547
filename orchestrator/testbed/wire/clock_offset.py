"""Estimate of the offset between two clocks: offset, drift, and an error bound.

One exchange bounds the offset from both sides, whatever the network did: the other clock's
reading on arrival, less ours on sending, is too large by the way there; its reading on sending,
less ours on arrival, too small by the way back. A line through the tightest of many such
intervals is the estimate; what is furthest from it, with half the interval, bounds its error.
"""

from __future__ import annotations

from dataclasses import dataclass, field

WINDOW_NS = 2 * 10**9
"""The tightest exchange of each such window counts; the others only tell how busy the way was."""
MOST_EXCHANGES = 512
"""Windows that are remembered: 17 minutes. A drift changes with the temperature of the oscillator,
so what is older says nothing of now."""
LEAST_SPAN_NS = 10 * 10**9
"""Clocks that were watched for less time are taken to run at the same rate: over a shorter one the
width of the intervals says more than the drift does."""
WANDER_PPB = 50_000
"""How much two undisciplined clocks may differ (50 ppm, two ordinary quartz oscillators): what the
bound grows by from the last exchange on."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """Request and answer. The offset (theirs less ours) lies in [low, high], all ns."""

    at: int
    low: int
    high: int

    @classmethod
    def of(cls, sent: int, received: int, answered: int, back: int) -> Exchange:
        """`sent` and `back` by our clock, `received` and `answered` by theirs."""
        return cls((sent + back) // 2, answered - back, received - sent)

    @property
    def width(self) -> int:
        """Ns of uncertainty: the way there and back."""
        return self.high - self.low

    @property
    def middle(self) -> int:
        """The best guess of one exchange."""
        return (self.low + self.high) // 2


@dataclass(frozen=True)
class Estimate:
    """Offset = offset_ns + drift_ppb * (t - at) / 1e9 at our time t, true within `error_ns`."""

    at: int
    offset_ns: int
    drift_ppb: int
    error_ns: int
    method: str
    exchanges: int

    def offset(self, at: int) -> int:
        """Their clock less ours (ns) when ours shows `at`."""
        return self.offset_ns + self.drift_ppb * (at - self.at) // 10**9

    def theirs(self, at: int) -> int:
        """Time of their clock when ours shows `at`."""
        return at + self.offset(at)

    def table(self) -> dict[str, int | float | str]:
        """For result.json, SI units."""
        return {
            "method": self.method,
            "offset_s": self.offset_ns / 1e9,
            "drift_ppm": self.drift_ppb / 1e3,
            "error_s": self.error_ns / 1e9,
            "exchanges": self.exchanges,
        }


@dataclass
class Comparison:
    """The exchanges with one other clock. `same`: both are one kernel's, so there is no offset.

    `disciplined`: (offset, error) in ns by clocks that something keeps in step (PTP), or None.
    """

    same: bool = False
    disciplined: tuple[int, int] | None = None
    exchanges: list[Exchange] = field(default_factory=list)
    """The tightest of each window, in their order."""
    count: int = 0
    """Of all there were."""
    _last: int = 0

    def add(self, exchange: Exchange) -> None:
        """Take one more exchange."""
        if exchange.width < 0:
            return  # a clock was set meanwhile: it says nothing
        self.count += 1
        self._last = max(self._last, exchange.at)
        window = exchange.at // WINDOW_NS
        latest = self.exchanges[-1].at // WINDOW_NS if self.exchanges else window - 1
        if window > latest:
            self.exchanges.append(exchange)
            del self.exchanges[:-MOST_EXCHANGES]
        elif window == latest and exchange.width < self.exchanges[-1].width:
            self.exchanges[-1] = exchange

    def estimate(self, until: int | None = None) -> Estimate | None:
        """Current estimate; None before the first exchange. Valid at times up to `until`."""
        if not self.exchanges:
            return None
        last = self._last
        if self.same:
            return Estimate(last, 0, 0, 0, "one kernel, one clock", self.count)
        wire = self._by_wire(max(until or last, last))
        if self.disciplined is not None and self.disciplined[1] < wire.error_ns:
            offset, error = self.disciplined
            return Estimate(last, offset, 0, error, "PTP", self.count)
        return wire

    def _by_wire(self, until: int) -> Estimate:
        best = self.exchanges
        at, drift = best[-1].at, 0
        if best[-1].at - best[0].at >= LEAST_SPAN_NS:
            drift = _slope_ppb(best)
        offsets = [e.middle - drift * (e.at - at) // 10**9 for e in best]
        tightest = min(range(len(best)), key=lambda n: best[n].width)
        offset = offsets[tightest]
        if drift == 0:  # they may run apart: the latest one knows best
            offset = offsets[-1]
        off = max(
            abs(guess - offset) + e.width // 2 for guess, e in zip(offsets, best, strict=True)
        )
        ahead = (until - at) * WANDER_PPB // 10**9
        return Estimate(at, offset, drift, off + ahead, "exchanges", self.count)


def _slope_ppb(best: list[Exchange]) -> int:
    """Least squares through the middles, each weighted by the square of its certainty."""
    weights = [1.0 / max(e.width, 1) ** 2 for e in best]
    total = sum(weights)
    mean_at = sum(w * (e.at - best[0].at) for w, e in zip(weights, best, strict=True)) / total
    mean = sum(w * (e.middle - best[0].middle) for w, e in zip(weights, best, strict=True)) / total
    above = below = 0.0
    for weight, e in zip(weights, best, strict=True):
        away = e.at - best[0].at - mean_at
        above += weight * away * (e.middle - best[0].middle - mean)
        below += weight * away * away
    return round(1e9 * above / below) if below else 0
