"""FECN congestion point (FECN, section IV): advertises a rate and lowers the rate in probes.

Every `interval` T the load A / (f(q) C) is measured, A being what arrived in T and q the queue at
its end; the advertised rate is divided by it, averaged with the last one, and capped at C. A probe
that passes and asks for more gets the advertised rate. Above the set point C becomes gamma C.

f is scaled by 2^20, the quotient of capacity and arrivals likewise; all divisions round down:
- hyperbolic: a Q / ((a-1) q + Q) up to Q, max(c, b Q / ((b-1) q + Q)) above (FECN, equation 1);
- linear: 1 - k_low (q - Q)/Q up to Q, 1 - k (q - Q)/Q above (FECN, equation 2), at
  least c;
- multistage: as linear, but from n Q to (n+1) Q the slope is n k, up to the last of `stages`, which
  goes on (FECN, section IV.D, k = 0.002 n for the n-th stage);
- additive: no f at all: r (1 + (alpha (gamma C - A) - beta (q - Q)/T) / (gamma C)), gamma at every
  queue (FECN, equation 5).

Decided where the paper is silent: the weight of the new rate in the average is `average` (1/2; see
plugins.fecn_stability for what that does to the limit of k); equation 5 has none,
alpha is in its place and 1/2 as well, and so is beta (the fluid model settles below 4 - 2 alpha);
r_0 = C / `expected_flows`; k_low is a - 1, so that f(0) is the hyperbola's; an interval in which
nothing or 16 times too little arrived raises the rate 16-fold, one with 16 times too much divides
it by 16; C is the service rate of the queue; the first interval begins with the first frame.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from tailback.plugin import (
    FORWARD,
    NOTHING,
    Algorithm,
    Duration,
    Params,
    Rate,
    Ratio,
    RatioLimit,
    Size,
    compiled,
    congestion_point,
    record,
)

UNIT_BITS = 20
UNIT = 1 << UNIT_BITS
"""f(q) = 1."""
MOST_STEP = 16
MOST_CHANGE = 4
"""Of additive control, in an interval: more does not fit, with an interval of 1 s at 10 Tb/s."""
NS_KB_PER_OCTET = 8_000_000
"""ns times kb/s over this: octets."""
MOST_ROOM = (1 << 43) - 1
MOST_OCTETS = 1 << 50
"""Octets of an interval: with 2^20 a share of them fits; more than these do not count."""
HYPERBOLIC, LINEAR = 0, 1
ADDITIVE = 3
MS = 10**9
FixedRatio = Annotated[Ratio, RatioLimit(4096)]


class FecnCongestionPoint(Params):
    """Parameters of the congestion point; the defaults are the paper's (10 Gb/s, 1500 octets)."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {},
        "two-stages": {"function": "multistage", "stages": 2},
        "three-stages": {"function": "multistage", "stages": 3},
        "additive": {"function": "additive"},
    }

    interval: Duration = Field(MS, ge=1_000_000, le=10**12, description="of measurement, T")
    set_point: Size = Field(24_000, ge=64, le=10**8, description="queue aimed at, Q_eq")
    function: Literal["hyperbolic", "linear", "multistage", "additive"] = Field(
        "hyperbolic", description="queue-control function f(q), or additive control"
    )
    a: FixedRatio = Field(
        Fraction("1.002"), ge=1, le=10, description="hyperbola up to the set point"
    )
    b: FixedRatio = Field(Fraction("1.1"), ge=1, le=10, description="hyperbola above it")
    c: FixedRatio = Field(Fraction("0.1"), gt=0, le=1, description="least value of f")
    k: FixedRatio = Field(Fraction("0.002"), ge=0, le=10, description="slope above the set point")
    stages: int = Field(1, ge=1, le=100, description="of the multistage function")
    gamma: FixedRatio = Field(
        Fraction("0.99"), gt=0, le=1, description="share of the capacity above the set point"
    )
    average: FixedRatio = Field(Fraction(1, 2), gt=0, le=1, description="weight of the newest rate")
    alpha: FixedRatio = Field(
        Fraction(1, 2), gt=0, le=10, description="additive: of the capacity that is to spare"
    )
    beta: FixedRatio = Field(
        Fraction(1, 2), ge=0, le=10, description="additive: of the queue beyond the set point"
    )
    expected_flows: int = Field(10, ge=1, le=10**6, description="N_0: the first rate is C / N_0")
    min_rate: Rate = Field(1_000_000, ge=1000, le=10**12, description="never advertises less")

    def operating_queue(self, rate: int) -> int:
        """The set point."""
        return self.set_point


STATE = record("started", "octets", "rate")
"""Arrivals of this interval; the advertised rate."""


@compiled
def _hyperbola(q, set_point, num, den):
    """x Q / ((x-1) q + Q) with x = num/den, times 2^20."""
    hyperbola = (num * set_point << UNIT_BITS) // ((num - den) * q + den * set_point)
    return min(hyperbola, UNIT * num // den)  # which it is with an empty queue


@compiled
def _stages(q, set_point, stages):
    """Slope-weighted distance from the set point in units of it, times 2^20: 1 per Q in the first
    stage, n in the n-th, and so on in the last."""
    left = q - set_point
    fall = 0
    # never false: the last stage takes all that is left
    for stage in range(1, stages + 1):
        part = left if stage == stages else min(left, set_point)
        fall += stage * part
        left -= part
        if left <= 0:
            break
    return (min(fall, stages * q) << UNIT_BITS) // set_point  # no slope is above the last stage's


@compiled
def queue_control(params, q):
    """f(q) times 2^20."""
    least = (params.c_num << UNIT_BITS) // params.c_den
    if params.function == HYPERBOLIC:
        if q <= params.set_point:
            return _hyperbola(q, params.set_point, params.a_num, params.a_den)
        return max(least, _hyperbola(q, params.set_point, params.b_num, params.b_den))
    if q <= params.set_point:
        part = ((params.set_point - q) << UNIT_BITS) // params.set_point
        rise = part * (params.a_num - params.a_den) // params.a_den
        return min(
            UNIT + rise, UNIT * params.a_num // params.a_den
        )  # the latter: of an empty queue
    stages = 1 if params.function == LINEAR else params.stages
    fall = _stages(q, params.set_point, stages) * params.k_num // params.k_den
    return max(least, UNIT - fall)


@compiled
def scaled(number, factor, bits):
    """number * factor >> bits, exactly: a second at 10 Tb/s times a factor of 16 needs 64 bits."""
    lower = number & ((1 << bits) - 1)
    return (number >> bits) * factor + (lower * factor >> bits)


@compiled
def _room(ns, kbit):
    """Octets of so many ns at so many kbit/s: the product, 10^19 at the most, in two parts."""
    upper = ns * (kbit >> 10)
    rest = (upper % NS_KB_PER_OCTET << 10) + ns * (kbit & 1023)
    return (upper // NS_KB_PER_OCTET << 10) + rest // NS_KB_PER_OCTET


@compiled
def _clipped(step):
    return min(max(step, UNIT // MOST_STEP), MOST_STEP << UNIT_BITS)


@compiled
def _multiplicative(params, octets, q, room):
    """Factor of the advertised rate, times 2^20: 1/rho (FECN, equation 6)."""
    room = scaled(room, queue_control(params, q), UNIT_BITS)
    if q > params.set_point:
        room = room * params.gamma_num // params.gamma_den
    if octets == 0:
        return MOST_STEP << UNIT_BITS
    return _clipped((min(room, MOST_ROOM) << UNIT_BITS) // octets)


@compiled
def _additive(params, octets, q, room):
    """Factor of the advertised rate, times 2^20 (FECN, equation 5)."""
    room = max(room * params.gamma_num // params.gamma_den, 1)
    most = MOST_CHANGE * room
    spare = (room - octets) * params.alpha_num // params.alpha_den
    excess = (q - params.set_point) * params.beta_num // params.beta_den
    change = min(max(spare - excess, -most), most)
    return _clipped(UNIT + (change << UNIT_BITS) // room)


@compiled
def next_rate(params, rate, octets, q, capacity):
    """The rate to advertise after an interval in which `octets` arrived."""
    room = _room(params.interval // 1000, capacity // 1000)
    octets = min(octets, MOST_OCTETS)
    additive = params.function == ADDITIVE
    if additive:
        step = _additive(params, octets, q, room)
    else:
        step = _multiplicative(params, octets, q, room)
    new = min(scaled(rate >> 4, step, UNIT_BITS - 4), capacity)
    if not additive:
        new = rate + (new - rate) * params.average_num // params.average_den
    return max(new, params.min_rate)


def on_arrival(state, params, queue, frame, now, message):
    """A frame arrives, also one that will find no room."""
    if state.started == 0:
        state.started = 1
        state.rate = queue.service_rate // params.expected_flows
        queue.congestion_point_timer = now + params.interval
    state.octets += frame.length
    return FORWARD


def on_interval(state, params, queue, frame, now, message):
    """An interval is over."""
    state.rate = next_rate(params, state.rate, state.octets, queue.bytes, queue.service_rate)
    state.octets = 0
    queue.feedback_value = state.rate
    queue.congestion_point_timer = now + params.interval
    return NOTHING


def on_probe(state, params, queue, frame, now, message):
    """A probe passes: lower its rate to the advertised one."""
    if state.started != 0 and state.rate < frame.feedback:
        frame.feedback = state.rate
    return FORWARD


FECN_CP: Algorithm = congestion_point(
    "fecn-cp",
    "FECN: advertises a fair rate to the probes that pass",
    FecnCongestionPoint,
    STATE,
    arrival=on_arrival,
    timer=on_interval,
    probe=on_probe,
)
