"""From a resolved plan to a world: what the plan calls by name becomes rows and offsets."""

from orchestrator.assembly.again import Again
from orchestrator.assembly.assembly import Assembly, assemble
from orchestrator.assembly.recorder import record

__all__ = ["Again", "Assembly", "assemble", "record"]
