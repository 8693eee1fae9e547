"""Fuzzing of plans: draws small plans, checks invariants, and minimises failing plans.

`drawing` draws plans (hypothesis), `varying` varies some, `looking` runs one and looks at it,
`comparing` runs it on other targets, `branches` runs it as plain Python and sees which branches of
kernels it reached (`conditions` finds them, `marking` notes how they come out, `reached` counts),
`shrinking` takes away what a finding does not need, `corpus` keeps it as a file, `hunting` is the
loop. hypothesis comes with the extra `hunt`.
"""
