"""Rule violations as variants of the reference: the one that explains a capture names the rule.

They touch only what all algorithms of a kind have (the records of orchestrator.engine.records), and
parameters and state by the names that IEEE8021-CN-MIB gives them; where an algorithm has no such
field a variant does not apply.
"""

from __future__ import annotations

from traces.oracle.faults.cp_faults import CONGESTION
from traces.oracle.faults.rp_faults import REACTION

__all__ = ["CONGESTION", "REACTION"]
