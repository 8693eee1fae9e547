"""Batch execution: many runs of plans of which only the numbers are wanted.

A point is a resolved plan, a seed, and the sources of everything that makes its result (`subject`).
It yields what `orchestrator.run.judging.measure` says of it: metrics, error bars, fidelity, notes.
Expectations are judged of that later, so that a changed band makes nothing run again. `carry` runs
points, `store` keeps what they came to, `seeds` and `mutants` judge many together.
"""
