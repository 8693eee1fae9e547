"""Small distributions of somebody else's, made on the spot."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path


def _described(name: str, version: str, files: Mapping[str, str]) -> dict[str, str]:
    """The files of a distribution with its metadata and RECORD."""
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    every = dict(files) | {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
    }
    lines = [f"{path},{_hash(text)},{len(text.encode())}" for path, text in every.items()]
    return every | {f"{info}/RECORD": "\n".join([*lines, f"{info}/RECORD,,", ""])}


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def laid_out(place: Path, name: str, version: str, files: Mapping[str, str]) -> None:
    """Put a distribution where Python looks, over whatever is there, as pip does."""
    for path, text in _described(name, version, files).items():
        file = place / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def wheel(folder: Path, name: str, version: str, files: Mapping[str, str]) -> Path:
    """The same as a wheel, for pip."""
    path = folder / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in _described(name, version, files).items():
            archive.writestr(file, text)
    return path
