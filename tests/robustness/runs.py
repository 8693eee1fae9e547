"""Short and endless runs that the tests of robustness end, and what has to be left of them."""

from __future__ import annotations

import json
from pathlib import Path

QUICK = ["run", str(Path(__file__).parents[1] / "short.toml")]
ENDLESS = {
    "simulated": [*QUICK, "--set", "duration=3000s", "--set", "sample_interval=1s"],
    "software": [*QUICK, "--set", "duration=300s", "--set", "sample_interval=1s"],
}
RUNNING = {"simulated": "simulating", "software": "running"}
FILES = {
    *("plan.toml", "manifest.json", "events.jsonl", "result.json", "samples.parquet"),
    *("latency.parquet", "report.html"),
    *("captures/switch-sink.pcapng", "captures/nic-switch.pcapng"),
}


def whole(out: Path) -> list[Path]:
    """The run folders in `out`, each with all its files; anything else there is a fault."""
    folders = [Path(path) for path in sorted(out.glob("*/*"))]
    for folder in folders:
        names = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
        assert names == FILES, folder
        json.loads((folder / "result.json").read_text())
    return folders


def one_sentence(said: str, *words: str) -> None:
    """The last line is the only message, and it has the words."""
    lines = said.splitlines()
    assert "Traceback" not in said, said
    assert [line for line in lines if line.startswith("tailback:")] == lines[-1:], said
    assert all(word in lines[-1] for word in words), said
