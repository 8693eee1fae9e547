"""File names and size limits of a capsule."""

from __future__ import annotations

FORMAT = 1
RECORD = "capsule.json"
"""Record of the packing: the plan, seeds, versions, so that a later change of the rest shows."""
CRATE = "ro-crate-metadata.json"
HASHES = "manifest-sha256.txt"
"""Of every other file, as `sha256sum --check` reads it."""
DATA = "data/"
"""The folder of the run, of its seeds, or of the sweep."""
FILES = "files/"
"""Files that the plan names: distributions of sizes and the like."""
RUN, SEEDS, SWEEP = "run", "seeds", "sweep"
PLAN_OF = {RUN: "plan.toml", SEEDS: "plan.toml", SWEEP: "sweep.toml"}
RESULT_OF = {RUN: "result.json", SEEDS: "seeds.json", SWEEP: "sweep.json"}
MOST_FILES = 10_000
MOST_OCTETS = 2**32 - 1
"""Of all files together: what ZIP holds without its extension to 64 bits."""
MOST_JSON = 2**26
"""Octets of one JSON file."""
MOST_PLAN = 2**24
"""Octets of a plan: 4 million characters."""
