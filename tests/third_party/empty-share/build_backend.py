"""Builds a wheel of the modules that lie beside this file; needs nothing but Python (PEP 517)."""

from __future__ import annotations

import tomllib
import zipfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def build_wheel(
    wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None
) -> str:
    """Write the wheel of the project in pyproject.toml; returns its file name."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text("utf-8"))["project"]
    stem = f"{project['name'].replace('-', '_')}-{project['version']}"
    modules = [path for path in HERE.glob("*.py") if path != Path(__file__)]
    files = {path.name: path.read_text("utf-8") for path in modules}
    needs = "".join(f"Requires-Dist: {need}\n" for need in project.get("dependencies", []))
    points = project["entry-points"]["tailback"].items()
    about = {
        "METADATA": f"Metadata-Version: 2.1\nName: {project['name']}\n"
        f"Version: {project['version']}\n{needs}",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
        "entry_points.txt": "[tailback]\n" + "".join(f"{k} = {v}\n" for k, v in points),
    }
    files |= {f"{stem}.dist-info/{name}": text for name, text in about.items()}
    record = f"{stem}.dist-info/RECORD"
    files[record] = "".join(f"{name},,\n" for name in [*files, record])
    wheel = f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory) / wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return wheel
