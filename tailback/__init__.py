"""tailback from Python: run plans, read runs.

    import tailback

    run = tailback.run("quickstart", set={"traffic.bulk.frame": "256B"})
    print(run.verdict, run.metrics["run"]["switch.sink"]["utilization"])
    frame = run.samples(entity="switch.sink", quantity="queue_bytes").to_pandas()

    older = tailback.load("quickstart/latest")
    older.plot().savefig("queue.pdf")

    swept = tailback.sweep("quickstart", over={"sources": "1,2,4,8"}, seeds=3)
    print(swept.points().to_pandas())

See docs/python.md. Authors of plugins import `tailback.plugin`. The import raises Refused when a
foreign package hides or replaces one of tailback's.
"""

from pathlib import Path
from typing import TYPE_CHECKING

try:
    from orchestrator.package_shadowing import refuse_foreign_packages
except ImportError as error:
    raise ImportError(
        f"tailback's own package {Path(__file__).parents[1] / 'orchestrator'} is hidden by another "
        f"of that name ({error})"
    ) from error

refuse_foreign_packages()

from orchestrator.lazy_exports import from_modules  # noqa: E402  (after the check of packages)

if TYPE_CHECKING:
    from orchestrator.plan import Plan
    from traces.facade import (
        BadInput,
        Refused,
        Run,
        RunFailed,
        Sweep,
        TailbackError,
        __version__,
        explain,
        load,
        plans,
        run,
        sweep,
    )

__all__ = [
    "BadInput",
    "Plan",
    "Refused",
    "Run",
    "RunFailed",
    "Sweep",
    "TailbackError",
    "__version__",
    "explain",
    "load",
    "plans",
    "run",
    "sweep",
]

if not TYPE_CHECKING:
    _EXPORTS = {name: f"traces.facade:{name}" for name in __all__} | {
        "Plan": "orchestrator.plan:Plan"
    }
    __getattr__ = from_modules(__name__, _EXPORTS)


def __dir__() -> list[str]:
    return [*__all__, "plugin"]
