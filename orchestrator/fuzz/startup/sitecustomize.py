"""Start-up hook that records conditions, imported by Python where this folder is on PYTHONPATH."""

import os
from pathlib import Path

if "TAILBACK_CONDITIONS" in os.environ:
    from orchestrator.fuzz.condition_coverage import install

    install(Path(os.environ["TAILBACK_CONDITIONS"]))
