"""A hunt in a process of its own, with faults planted: `python -m tests.orchestrator.fuzz.planted`.

Reads {"changes": [[module, old, new], ...], "options": {...}, "cores": bool} from stdin, prints
what was found. Kernels are plain Python (NUMBA_DISABLE_JIT=1): nothing planted is ever cached.
"""

from __future__ import annotations

import json
import sys

from tests.planting import plant_all


def main() -> None:
    """Plant, hunt, tell."""
    asked = json.load(sys.stdin)
    plant_all(asked["changes"])
    from orchestrator.fuzz.cross_target import CoreComparison
    from orchestrator.fuzz.fuzz_loop import Options, hunt

    done = hunt(Options(**asked["options"]), (CoreComparison(),) if asked["cores"] else ())
    json.dump(
        {"plans": done.plans, "invalid": done.invalid, "found": [f.as_table() for f in done.found]},
        sys.stdout,
    )


if __name__ == "__main__":
    main()
