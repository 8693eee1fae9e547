"""Assembly of a world from a resolved plan: names become rows and offsets."""

from orchestrator.assembly.again import Again
from orchestrator.assembly.assembly import Assembly, assemble
from orchestrator.assembly.recorder import record

__all__ = ["Again", "Assembly", "assemble", "record"]
