"""tailback from Python: run plans, read runs.

    import tailback

    run = tailback.run("quickstart", set={"traffic.bulk.frame": "256B"})
    print(run.verdict, run.metrics["run"]["switch.sink"]["utilization"])
    frame = run.samples(entity="switch.sink", quantity="queue_bytes").to_pandas()

    older = tailback.load("quickstart/latest")
    older.plot().savefig("queue.pdf")

    swept = tailback.sweep("quickstart", over={"sources": "1,2,4,8"}, seeds=3)
    print(swept.points().to_pandas())

See docs/python.md. What is not tailback's own in the place of its packages is told at once.
"""

from pathlib import Path

try:
    from orchestrator.package_shadowing import refuse_foreign_packages
except ImportError as error:
    raise ImportError(
        f"tailback's own package {Path(__file__).with_name('orchestrator')} is hidden by another "
        f"of that name ({error})"
    ) from error

refuse_foreign_packages()

from traces.facade import (  # noqa: E402  (ours, by now)
    BadInput,
    Refused,
    Run,
    RunFailed,
    Sweep,
    TailbackError,
    __version__,
    load,
    plans,
    run,
    sweep,
)

__all__ = [
    "BadInput",
    "Refused",
    "Run",
    "RunFailed",
    "Sweep",
    "TailbackError",
    "__version__",
    "load",
    "plans",
    "run",
    "sweep",
]
