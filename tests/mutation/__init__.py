"""Mutation testing: every small change to a source file should turn a test beside it red.

    python -m tests.mutation            # of the covered files, those that differ from main
    python -m tests.mutation FILE ...   # these
    python -m tests.mutation --all      # all, and renew docs/mutation.md

cosmic-ray's operators make the changes. Neither its runner nor mutmut fits this tree: mutmut leaves
decorated functions alone, which all kernels are, and cosmic-ray writes each mutant over the file in
the work tree and starts an interpreter for it. Here a process that has imported what the file needs
forks per mutant and exchanges the code of the changed function, or imports the changed text
(tests/planting.py), and only the tests that reach the changed line run, the quickest first.
"""
