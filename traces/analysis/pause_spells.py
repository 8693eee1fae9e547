"""Pause spells at each point: paused senders, durations, refreshes (PAUSE and PFC).

A sender that receives PAUSE with q quanta is silent for q times 512 bit times from then on; a later
PAUSE replaces what is left of an earlier one, 0 ends it (802.3 annex 31B, 802.1Qbb). What is
computed is what the frames command, seen from where they were captured: propagation and the
sender's reaction time are not in it.

A spell whose quanta ran, and that was neither ended by 0 nor the last one, is followed by a lapse:
the paused sender could send until it was paused again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator.engine.jit import compiled
from traces.analysis.control_batch import distinct_rows
from traces.dissect.control_fields import CLASSES

QUANTUM_BITS = 512
PLAIN = CLASSES
"""The class of 802.3 PAUSE, which stops all priorities."""
NS = 10**9
MOST_LINKS = 1 << 12
"""Senders with a row of their own; pauses of others are counted together, without their time."""
MOST_SPELLS = 200_000
"""Spells that are kept one by one; all of them count towards the sums."""

STATE = np.dtype(
    [
        (name, np.int64)
        for name in (
            "frames",
            "resumes",
            "quanta",
            "since_ns",
            "until_ns",
            "paused_ns",
            "spells",
            "longest_ns",
            "storms",
            "spell_frames",
            "expired_ns",  # the last spell ended then, for its quanta had run; 0: let go, or none
            "lapses",
            "lapsed_ns",
            "longest_lapse_ns",
        )
    ]
)
SPELL = np.dtype(
    [
        (name, np.int64)
        for name in ("link", "priority", "begin_ns", "end_ns", "frames")
    ]
)  # fmt: skip


@dataclass(frozen=True)
class PauseLink:
    """A point, a sender and a direction at which pause frames were seen."""

    point: int
    source: int
    direction: int


OTHERS = PauseLink(-1, -1, 0)


@compiled
def end_spell(state, link, priority, end, storm, spells, count):
    """Close the spell of one class at `end`. Returns the number of spells kept."""
    begin = state["since_ns"]
    state["paused_ns"] += end - begin
    state["spells"] += 1
    state["longest_ns"] = max(state["longest_ns"], end - begin)
    if end - begin >= storm:
        state["storms"] += 1
    if count < spells.size:
        spell = spells[count]
        spell["link"], spell["priority"] = link, priority
        spell["begin_ns"], spell["end_ns"] = begin, end
        spell["frames"] = state["spell_frames"]
        count += 1
    state["spell_frames"] = 0
    return count


@compiled
def count_lapse(state, length):
    """Count a pause that begins again this long after its quanta had expired."""
    state["lapses"] += 1
    state["lapsed_ns"] += length
    state["longest_lapse_ns"] = max(state["longest_lapse_ns"], length)


@compiled
def advance(pauses, links, quantum_ps, storm, states, spells, count):
    """Take PAUSE_RECORD[n] in order of time. Returns the number of spells kept so far.

    `links` int64[n]; `quantum_ps` int64[links], 0 where the
    rate is not known; `states` STATE[links, CLASSES + 1].
    """
    for index in range(pauses.size):
        record = pauses[index]
        link, now, plain = links[index], record["time_ns"], record["pfc"] == 0
        for priority in range(CLASSES + 1):
            if plain != (priority == CLASSES):
                continue
            if not plain and not (record["enabled"] >> priority) & 1:
                continue
            quanta = record["quanta"][priority % CLASSES]
            state = states[link, priority]
            state["frames"] += 1
            state["quanta"] += quanta
            if quanta == 0:
                state["resumes"] += 1
            if quantum_ps[link] == 0:
                continue
            if state["spell_frames"] and now > state["until_ns"]:
                count = end_spell(state, link, priority, state["until_ns"], storm, spells, count)
                state["expired_ns"] = state["until_ns"]
            if state["expired_ns"]:
                if quanta:
                    count_lapse(state, now - state["expired_ns"])
                state["expired_ns"] = 0
            if quanta:
                if state["spell_frames"] == 0:
                    state["since_ns"] = now
                state["spell_frames"] += 1
                state["until_ns"] = now + quanta * quantum_ps[link] // 1000
            elif state["spell_frames"]:
                ended = max(now, state["since_ns"])
                count = end_spell(state, link, priority, ended, storm, spells, count)
    return count


class PauseTracker:
    """The state of all links. `storm_ns`: a spell at least that long is a storm."""

    def __init__(self, storm_ns: int) -> None:
        self.storm_ns = storm_ns
        self.links: list[PauseLink] = []
        self.states = np.zeros((0, CLASSES + 1), STATE)
        self._index: dict[PauseLink, int] = {}
        self._quantum_ps = np.zeros(0, np.int64)
        self._spells = np.zeros(1024, SPELL)
        self._count = 0

    def add(self, pauses: np.ndarray, rates: dict[int, int]) -> None:
        """Take PAUSE_RECORD[n] whose interfaces are points; `rates` in bit/s per point."""
        found, member = distinct_rows([pauses["interface"], pauses["source"], pauses["direction"]])
        index = np.array([self._link(PauseLink(*row), rates) for row in found.tolist()], np.int64)
        while self._count + (CLASSES + 1) * len(pauses) > len(self._spells) < MOST_SPELLS:
            self._spells = np.concatenate([self._spells, np.zeros_like(self._spells)])
        self._count = advance(
            pauses,
            index[member],
            self._quantum_ps,
            self.storm_ns,
            self.states,
            self._spells[:MOST_SPELLS],
            self._count,
        )

    def _link(self, link: PauseLink, rates: dict[int, int]) -> int:
        if link not in self._index and len(self.links) >= MOST_LINKS:
            link = OTHERS
        if link not in self._index:
            self._index[link] = len(self.links)
            self.links.append(link)
            rate = rates.get(link.point, 0)
            quantum = QUANTUM_BITS * NS * 1000 // rate if rate else 0
            self._quantum_ps = np.append(self._quantum_ps, quantum)
            self.states = np.concatenate([self.states, np.zeros((1, CLASSES + 1), STATE)])
        return self._index[link]

    def finish(self, ends_ns: dict[int, int]) -> np.ndarray:
        """End open spells, at the end of their point's capture at the latest.

        Returns all SPELL rows in order of their beginning.
        """
        spells = self._spells
        if self._count + self.states.size > len(spells):
            spells = np.concatenate([spells, np.zeros(self.states.size, SPELL)])
        for index, link in enumerate(self.links):
            for priority in range(CLASSES + 1):
                state = self.states[index, priority]
                if state["spell_frames"]:
                    end = min(int(state["until_ns"]), ends_ns[link.point])
                    end = max(end, int(state["since_ns"]))
                    self._count = end_spell(
                        state, index, priority, end, self.storm_ns, spells, self._count
                    )
        spells = spells[: self._count]
        return spells[np.lexsort((spells["priority"], spells["link"], spells["begin_ns"]))]

    @property
    def others(self) -> int:
        """Pause frames of senders without a row of their own."""
        index = self._index.get(OTHERS)
        return 0 if index is None else int(self.states["frames"][index].sum())

    def has_link_rate(self, link: int) -> bool:
        """True if the link's rate, and so the duration of a quantum, is known."""
        return bool(self._quantum_ps[link])
