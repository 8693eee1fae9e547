"""The QCN reaction point, line by line from the pseudo code (QCN 2.2, L1-L145).

An oracle for tests: plain Python integers, no dependency on the code under test, shaped like the
pseudo code rather than like a good program. `L<n>` is a line of the pseudo code. Where
docs/settled/algorithms.md#qcn-reaction-point decides otherwise in item m, the comment says
"departs from L<n>: RP<m>" and why. Rates are bit/s, lengths octets, times ps; divisions round down.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

INACTIVE, ACTIVE = "inactive", "active"

Jitter = Callable[[int], int]
"""random_number_between(0.85, 1.15) * interval, in the unit of the interval."""


def no_jitter(interval: int) -> int:
    """The interval itself."""
    return interval


@dataclass(frozen=True)
class RpParameters:
    """L28-L36, in the spelling of the pseudo code."""

    C: int
    BC_LIMIT: int = 150_000
    TIMER_PERIOD: int = 15_000_000_000
    R_AI: int = 5_000_000
    R_HAI: int = 50_000_000
    GD: Fraction = Fraction(1, 128)
    FAST_RECOVERY_TH: int = 5
    MIN_RATE: int = 10_000_000
    MIN_DEC_FACTOR: Fraction = Fraction(1, 2)
    cap_target: bool = False
    """RP4: hold the target at C as well; the pseudo code never does."""
    extra: bool = True
    """Extra fast recovery, L38; without it every message takes target and byte counter back."""
    literal: bool = False
    """Keep the slips of L97 and L101-L108 that only an inactive limiter can show."""


class RateLimiter:
    """RL[i]: L4-L12 and the events that act on it.

    `qlen` (L12) and `now` are set by the caller before an event. Finding the limiter of a flow
    (L15-L17) is the caller's as well.
    """

    def __init__(self, parameters: RpParameters, jitter: Jitter = no_jitter) -> None:
        self.p = parameters
        self.jitter = jitter
        self.now = 0
        self.qlen = 0
        self.state = INACTIVE  # L4
        self.crate = parameters.C  # L6
        self.trate = parameters.C  # L7
        self.tx_bcount = parameters.BC_LIMIT  # L8
        self.si_count = 0  # L9
        self.timer_scount = 0  # L10
        self.timer: int | None = None  # absolute time of the expiry

    def set_timer(self, period: int) -> None:
        self.timer = self.now + period

    def feedback(self, fb: int) -> None:
        """L13-L61: foreach (FBFrame)."""
        if self.state == INACTIVE:  # L18
            # Departs from L19: RP1. There, qoff > 0 is asked for too, but L188 sends Q_EQ - qlen,
            # which is negative in congestion, so every first message would be ignored.
            if fb != 0:  # L19
                self.state = ACTIVE  # L21
                self.crate = self.p.C  # L23
                self.trate = self.p.C  # L24
                # Departs from L25: RP6. RL[*] there reloads every limiter's counter.
                self.tx_bcount = self.p.BC_LIMIT  # L25
                self.si_count = 0  # L26
            else:  # L27
                return  # L29

        if fb != 0:  # L33
            if self.si_count != 0 or not self.p.extra:  # L38
                self.trate = self.crate  # L39
                self.tx_bcount = self.p.BC_LIMIT  # L40

            self.si_count = 0  # L44
            self.timer_scount = 0  # L45

            dec_factor = 1 - self.p.GD * fb  # L49
            if dec_factor < self.p.MIN_DEC_FACTOR:  # L50
                dec_factor = self.p.MIN_DEC_FACTOR  # L51
            self.crate = self.crate * dec_factor.numerator // dec_factor.denominator  # L53
            if self.crate < self.p.MIN_RATE:  # L54
                self.crate = self.p.MIN_RATE  # L55

            self.set_timer(self.p.TIMER_PERIOD)  # L59
            self.release_if_over()

    def self_increase(self) -> None:
        """L62-L95."""
        th = self.p.FAST_RECOVERY_TH
        to_count = min(self.si_count, self.timer_scount)  # L64

        if self.si_count > th or self.timer_scount > th:  # L67-L68
            if self.si_count > th and self.timer_scount > th:  # L69-L70
                increase = self.p.R_HAI * (to_count - th)  # L72
            else:
                increase = self.p.R_AI  # L75
        else:
            increase = 0  # L78

        if (self.si_count == 1 or self.timer_scount == 1) and (
            self.trate > 10 * self.crate
        ):  # L82-L83
            self.trate = self.trate // 8  # L84
        else:
            self.trate = self.trate + increase  # L86

        self.crate = (self.trate + self.crate) // 2  # L89

        if self.crate > self.p.C:  # L92
            self.crate = self.p.C  # L93
        # Departs from L91-L94: RP4. Only after the mean: a target cut to C before it would keep
        # the integer mean below C for ever, and L101 could never release the limiter.
        if self.p.cap_target and self.trate > self.p.C:
            self.trate = self.p.C

    def release_if_over(self) -> bool:
        """L101-L108, after every event that may have brought the rate to C.

        Departs from L97: RP6. There only a frame that leaves looks; once the source has stopped
        none does, and the limiter would stay active for ever.
        """
        if self.crate != self.p.C or self.qlen != 0:  # L101
            return False
        self.state = INACTIVE  # L102
        self.crate = self.p.C  # L104
        self.trate = self.p.C  # L105
        self.tx_bcount = self.p.BC_LIMIT  # L106
        self.si_count = 0  # L107
        # Departs from L101-L108: RP6. The timer's stage is forgotten there.
        if not self.p.literal:
            self.timer_scount = 0
        self.timer = None  # L108
        return True

    def transmit(self, length: int) -> None:
        """L97-L127: foreach (Transmit Frame); `qlen` no longer holds the frame."""
        # Departs from L97: RP1. An inactive limiter is unlimited and keeps no stages; the loop of
        # the pseudo code would go on counting them, and raise trate beyond C.
        if self.state == INACTIVE and not self.p.literal:
            return
        if not self.release_if_over():  # L101
            self.tx_bcount -= length  # L110
            if self.tx_bcount < 0:  # L113
                self.si_count += 1  # L114
                if self.si_count < self.p.FAST_RECOVERY_TH:  # L117
                    expire_thresh = self.jitter(self.p.BC_LIMIT)  # L118
                else:
                    expire_thresh = self.jitter(self.p.BC_LIMIT // 2)  # L120
                self.tx_bcount = expire_thresh  # L123
                self.self_increase()  # L124
                self.release_if_over()

    def timer_expired(self) -> None:
        """L129-L145."""
        if self.state == ACTIVE:  # L131
            self.timer_scount += 1  # L132
            self.self_increase()  # L133
            if self.timer_scount < self.p.FAST_RECOVERY_TH:  # L137
                expire_period = self.jitter(self.p.TIMER_PERIOD)  # L138
            else:
                expire_period = self.jitter(self.p.TIMER_PERIOD // 2)  # L140
            self.set_timer(expire_period)  # L142
            self.release_if_over()
