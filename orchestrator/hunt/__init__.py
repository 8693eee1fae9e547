"""`tailback hunt`: draws small plans, looks for what never may be, and makes what it finds small.

`drawing` draws plans (hypothesis), `looking` runs one and looks at it, `comparing` runs it on other
targets, `branches` runs it as plain Python and sees which branches of kernels it reached,
`shrinking` takes away what a finding does not need, `corpus` keeps it as a file, `hunting` is the
loop. hypothesis and coverage come with the extra `hunt`.
"""
