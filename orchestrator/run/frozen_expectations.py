"""Frozen expectations: registered before a run, so that a prediction is one.

    write_frozen(plan, Path("mine.frozen.json"))
    run(plan, frozen=read_frozen(Path("mine.frozen.json")))

The digest covers the expectations and their phases, not their sources and notes. The time is that
of the author's clock: it convinces a reader who received the digest at that time.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator import bounded_json
from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.run.dictdiff import differing_keys, flatten

FORMAT = 1
MOST_OCTETS = 2**26
JUDGED_KEYS = ("metric", "of", "phase", "relative_to", "min", "max", "of_seeds")
"""Keys of an expectation that decide whether it is met."""
UNPREDICTED_KEYS = ("seed", "title", "paper", "capture", "figure", "expect", "phases")
"""Keys of a plan that may change without a change of the prediction, or are compared separately."""


@dataclass(frozen=True)
class Frozen:
    """Frozen expectations, with their time and the file that they were read from."""

    source: str
    at: str
    digest: str
    table: dict[str, Any]

    def held_against(self, plan: Plan) -> dict[str, Any]:
        """Manifest entry: the digest, the time, and the keys of the plan changed since."""
        now = plan.to_table()
        pairs = [(expected(self.table), expected(now)), (_rest(self.table), _rest(now))]
        changed, others = (differing_keys(flatten(one), flatten(other)) for one, other in pairs)
        return {
            "file": self.source,
            "at": self.at,
            "expectations": self.digest,
            "changed": changed,
            "plan_changed": others,
        }


def expected(table: dict[str, Any]) -> dict[str, Any]:
    """Expectations and phases of a resolved plan's table."""
    rows = [{key: row[key] for key in JUDGED_KEYS if key in row} for row in table.get("expect", [])]
    return {"expect": rows, "phases": table.get("phases", {})}


def digest_of_expected(table: dict[str, Any]) -> str:
    """SHA-256 of the expectations and phases of a plan's table."""
    text = json.dumps(expected(table), sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def frozen_notes(frozen: dict[str, Any]) -> list[str]:
    """Sentences about a manifest's frozen expectations."""
    if frozen["changed"]:
        keys = ", ".join(map(str, frozen["changed"][:5]))
        more = f" and {len(frozen['changed']) - 5} more" if len(frozen["changed"]) > 5 else ""
        said = f"no prediction: expectations have changed since {frozen['at']}: {keys}{more}"
    else:
        said = f"expected before the run, at {frozen['at']} ({frozen['expectations'][:12]})"
    if not frozen["plan_changed"]:
        return [said]
    keys = ", ".join(map(str, frozen["plan_changed"][:5]))
    return [said, f"the plan has changed since then in other keys: {keys}"]


def write_frozen(plan: Plan, path: Path) -> Frozen:
    """Freeze the expectations of a resolved plan into a new file. Raises BadInput."""
    if not plan.expect:
        raise BadInput(plan.source, "expects nothing, so nothing can be frozen; add [[expect]]")
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    table = plan.to_table()
    frozen = Frozen(str(path), now, digest_of_expected(table), table)
    made = {
        "tailback_frozen": FORMAT,
        "plan": plan.name,
        "at": frozen.at,
        "expectations": frozen.digest,
        "table": table,
    }
    text = json.dumps(made, indent=2, allow_nan=False, default=str) + "\n"
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        text = "is there already, and what was frozen stays; name another file with --out"
        raise BadInput(str(path), text) from None
    except OSError as error:
        raise BadInput(str(path), f"cannot be written ({error.strerror})") from error
    return frozen


def read_frozen(path: Path) -> Frozen:
    """Read a file of `write_frozen`. Raises BadInput, also for a file that was edited since."""
    try:
        if not path.is_file():
            raise BadInput(str(path), "there is no such file; `tailback freeze PLAN` makes one")
        if path.stat().st_size > MOST_OCTETS:
            raise BadInput(str(path), f"has more than {MOST_OCTETS} octets")
        found = bounded_json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(str(path), f"is no file of `tailback freeze` ({error})") from None
    return _checked(str(path), found)


def _checked(source: str, found: Any) -> Frozen:
    known = isinstance(found, dict) and found.get("tailback_frozen") == FORMAT
    if not known or not isinstance(found.get("table"), dict):
        raise BadInput(source, f"is no file of `tailback freeze` of format {FORMAT}")
    try:
        same = digest_of_expected(found["table"]) == found["expectations"]
        at = datetime.datetime.fromisoformat(found["at"])
        later = at > datetime.datetime.now(datetime.UTC)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise BadInput(source, "is damaged: it has no digest or no time of its own") from None
    if not same:
        raise BadInput(source, "was edited: its expectations are not those of its digest")
    if later:
        raise BadInput(source, f"was frozen at {found['at']}, which is yet to come")
    return Frozen(source, found["at"], found["expectations"], found["table"])


def _rest(table: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in UNPREDICTED_KEYS}
