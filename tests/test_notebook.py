"""The notebook of the documentation runs, and what is stored in it is what comes out."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "docs" / "python.ipynb"
MOST_BYTES = 400_000
"""Stored outputs stay small."""


def outputs(notebook: nbformat.NotebookNode) -> list[list[tuple[str, bool]]]:
    """Of each cell: what its outputs say, and whether there is a picture."""
    return [
        [
            ("" if "image/png" in shown else shown.get("text/plain", ""), "image/png" in shown)
            if (shown := output.get("data")) is not None
            else (output["text"], False)
            for output in cell.get("outputs", [])
        ]
        for cell in notebook.cells
    ]


@pytest.mark.slow
def test_it_gives_what_is_stored_in_it(tmp_path: Path) -> None:
    stored = nbformat.read(NOTEBOOK, 4)
    fresh = nbformat.read(NOTEBOOK, 4)
    where = {"metadata": {"path": str(tmp_path)}}
    client = NotebookClient(fresh, timeout=280, startup_timeout=200, resources=where)
    client.create_kernel_manager()
    client.km.transport, client.km.ip = "ipc", str(tmp_path / "kernel")  # files, no ports
    client.execute()
    assert outputs(fresh) == outputs(stored)
    assert sum(picture for cell in outputs(stored) for _, picture in cell) == 2


def test_it_is_small_and_says_nothing_of_a_machine() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert len(text) < MOST_BYTES
    assert "/home/" not in text
    assert "/tmp/" not in text
    assert "Traceback" not in text
