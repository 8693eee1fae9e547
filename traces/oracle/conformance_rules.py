"""Conformance rules by which a device is judged: name, statement and source of each.

Papers are cited as in docs/references.md; the clauses of the standards are those of 802.1Q with the
amendments Qau and Qbb, and of 802.3.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """A rule by name."""

    name: str
    says: str
    source: str


QAU, QBB, PAUSES = "802.1Qau", "802.1Qbb", "802.3 annex 31B"

RULES = {
    rule.name: rule
    for rule in (
        Rule(
            "cp.interval",
            "a sample is taken when the octets enqueued since the last one exceed the interval of "
            "the last feedback",
            f"{QAU}; QCN 2.2, L171-L176; NetFPGA-QCN, table 1",
        ),
        Rule(
            "cp.jitter", "sample intervals are spread by +-15 %", f"{QAU}; NetFPGA-QCN, section 2"
        ),
        Rule(
            "cp.culprit",
            "the source that is notified is that of the sampled frame",
            f"{QAU}; NetFPGA-QCN, section 2",
        ),
        Rule(
            "cp.send",
            "a message is sent for every sample whose feedback is above 0, and for no other",
            f"{QAU}; QCN 2.2, L174",
        ),
        Rule(
            "cp.offset",
            "cnmQOffset is the queue less the set point, in 64 octets",
            f"{QAU}; NetFPGA-QCN, equation 1",
        ),
        Rule(
            "cp.delta",
            "cnmQDelta is the queue less the queue at the last sample",
            f"{QAU}; NetFPGA-QCN, equation 1",
        ),
        Rule(
            "cp.feedback",
            "the feedback is that of Q_off + w Q_delta",
            f"{QAU}; QCN 2.2, L156; NetFPGA-QCN, equation 1",
        ),
        Rule(
            "cp.quantise",
            "the feedback is clipped to Q_eq (2 w + 1) and cut to 6 bits, rounded down",
            f"{QAU}; QCN 2.2, L157-L166",
        ),
        Rule("cp.message", "addresses, tag, identifier and sampled octets of a message", QAU),
        Rule("cp.delay", "a message leaves as soon as its port is free", QAU),
        Rule(
            "cp.mark",
            "data leaves marked when the congestion point marks it, and only then",
            "RFC 3168, section 5; the algorithm",
        ),
        Rule(
            "cp.probe",
            "a probe leaves with the feedback that the congestion point writes to it",
            "the algorithm",
        ),
        Rule(
            "rp.activate",
            "any feedback above 0 makes an inactive limiter active, at the link's rate",
            f"{QAU}; QCN 2.2, L18-L31",
        ),
        Rule(
            "rp.decrease",
            "feedback cuts the rate by Gd times its value",
            f"{QAU}; QCN 2.2, L49-L53",
        ),
        Rule("rp.min-rate", "no rate is below the least one", f"{QAU}; QCN 2.2, L54-L56"),
        Rule("rp.target", "the target takes the rate from before the cut", f"{QAU}; QCN 2.2, L39"),
        Rule(
            "rp.first-cycle",
            "while the byte stage is 0 feedback changes neither the target nor the byte counter",
            f"{QAU}; QCN 2.2, L35-L41",
        ),
        Rule("rp.stages", "feedback takes both stages back to 0", f"{QAU}; QCN 2.2, L44-L45"),
        Rule(
            "rp.byte-counter",
            "a stage for every byte_reset octets sent, half of that from the threshold on",
            f"{QAU}; QCN 2.2, L110-L123",
        ),
        Rule("rp.byte-restart", "feedback restarts the byte counter", f"{QAU}; QCN 2.2, L40"),
        Rule(
            "rp.timer",
            "a stage for every time_reset, half of that from the threshold on",
            f"{QAU}; QCN 2.2, L132-L142",
        ),
        Rule("rp.timer-restart", "feedback restarts the timer", f"{QAU}; QCN 2.2, L59"),
        Rule(
            "rp.jitter",
            "the intervals of byte counter and timer are spread by +-15 %",
            f"{QAU}; QCN 2.2, L118, L138",
        ),
        Rule(
            "rp.recovery", "an expiry takes the rate halfway to the target", f"{QAU}; QCN 2.2, L89"
        ),
        Rule("rp.active", "beyond the threshold the target rises by R_AI", f"{QAU}; QCN 2.2, L75"),
        Rule(
            "rp.hyper-active",
            "with both stages beyond it the target rises by R_HAI times how far",
            f"{QAU}; QCN 2.2, L72",
        ),
        Rule(
            "rp.first-expiry",
            "at the first expiry a target of more than ten times the rate is divided by 8",
            f"{QAU}; QCN 2.2, L82-L84",
        ),
        Rule("rp.cap", "no rate is above the link's", f"{QAU}; QCN 2.2, L92"),
        Rule(
            "rp.release",
            "a limiter at the link's rate with nothing waiting becomes inactive",
            f"{QAU}; QCN 2.2, L101-L108",
        ),
        Rule(
            "rp.rate",
            "a limited flow's frames leave at its current rate",
            f"{QAU}; NetFPGA-QCN, section 3.2",
        ),
        Rule("source.frames", "a source sends the frames of the plan, when it may", "the plan"),
        Rule(
            "source.messages",
            "a host sends its probes, requests and acknowledgements when they are due",
            "the algorithm",
        ),
        Rule("frame.once", "a frame leaves once", "the plan"),
        Rule("forward.port", "a frame leaves by the port towards its destination", "the plan"),
        Rule("forward.ttl", "a router takes one from the TTL, a bridge nothing", "RFC 1812, 5.3.1"),
        Rule(
            "forward.fields",
            "a switch changes nothing of a frame but mark, TTL and the addresses of the hop",
            "the plan",
        ),
        Rule(
            "pause.obey",
            "a paused port or priority sends no data before the quanta are over",
            f"{PAUSES}; {QBB}",
        ),
        Rule("pause.resume", "0 quanta end a pause, and the port goes on", f"{PAUSES}; {QBB}"),
        Rule("pause.stop", "a queue above its high mark stops its neighbours", f"{PAUSES}; {QBB}"),
        Rule("pause.go", "a queue below its low mark lets them go", f"{PAUSES}; {QBB}"),
        Rule("pause.refresh", "a pause is refreshed before it runs out", f"{PAUSES}; {QBB}"),
        Rule(
            "pause.quanta", "a PAUSE or PFC frame carries the quanta it should", f"{PAUSES}; {QBB}"
        ),
        Rule("pause.class", "a PFC frame enables the priorities of its queue, and no other", QBB),
        Rule("pause.frame", "addresses and octets of a PAUSE or PFC frame", f"{PAUSES}; {QBB}"),
        Rule("queue.service", "a queue sends its frames in order, at its rate", "the plan"),
        Rule("queue.drop", "a frame is dropped when it finds no room, and only then", "the plan"),
    )
}
