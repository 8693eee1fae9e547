"""Python imports this at its start where the folder is on PYTHONPATH: conditions are noted."""

import os
from pathlib import Path

if "TAILBACK_CONDITIONS" in os.environ:
    from orchestrator.hunt.marking import install

    install(Path(os.environ["TAILBACK_CONDITIONS"]))
