"""Entry point of the pytest plugin, installed as the module `_tailback_pytest`.

`python -m pytest` looks for modules in the working folder first, and a user's `traces.py` there
would hide the package. So this file has a name that no other has, finds the plugin by its
place, and loads it as a package of that name: the word `traces` stays free for the user's file.
What the fixtures need beyond that is looked up when a test asks for one.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

ALIAS = "_tailback_pytest_plugin"
"""Package name of the plugin's folder while pytest runs."""
PLUGIN_FOLDER = Path("traces", "pytest_plugin")

pytest_plugins: list[str] = []
"""Read by pytest: the plugin proper."""


def _load() -> None:
    """Make the plugin's folder importable as ALIAS; without it pytest goes on, with a warning."""
    for entry in sys.path:
        folder = Path(entry or ".", PLUGIN_FOLDER).resolve()
        if not (folder / "plugin.py").is_file():
            continue
        spec = importlib.util.spec_from_file_location(
            ALIAS, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        assert spec is not None
        assert spec.loader is not None
        package = importlib.util.module_from_spec(spec)
        sys.modules[ALIAS] = package
        spec.loader.exec_module(package)
        pytest_plugins.append(f"{ALIAS}.plugin")
        return
    import warnings

    warnings.warn(
        "tailback's pytest plugin is not loaded: its files are not where Python looks; "
        "install tailback again",
        stacklevel=1,
    )


_load()
