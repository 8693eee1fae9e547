"""Assembly of a world from a resolved plan: names become rows and offsets."""

from orchestrator.assembly.recording_builder import record
from orchestrator.assembly.world_assembly import Assembly, ReusableWorld, assemble

__all__ = ["Assembly", "ReusableWorld", "assemble", "record"]
