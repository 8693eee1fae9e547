"""Assembly of a world from a resolved plan: names become rows and offsets."""

from orchestrator.assembly.world_assembly import ReusableWorld
from orchestrator.assembly.world_assembly import assemble, Assembly
from orchestrator.assembly.recording_builder import record

__all__ = ["ReusableWorld", "Assembly", "assemble", "record"]
