"""A digest of every shipped plan, resolved: what happens in a run of it.

    python -m tests.plans.digests > tests/plans/digests.txt

renews them, when a plan, a default or a preset was meant to change.
"""

from __future__ import annotations

import hashlib

from orchestrator.plan import Plan
from orchestrator.plan.canonical_form import essence
from orchestrator.plan.toml_text import write
from orchestrator.registry import Registry


def digest(name: str) -> str:
    """Of the resolved text without figures, and of the timeline as it is worked out."""
    registry = Registry.load()
    resolved = Plan.load(registry.plans()[name], registry).check(registry)
    text = write(essence(resolved.plan)) + repr(resolved.actions)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


if __name__ == "__main__":
    for plan in sorted(Registry.load().plans()):
        print(digest(plan), plan)
