"""The types of the module `tailback`, installed as `tailback-stubs`.

PEP 561 marks packages as typed and knows no mark for a module alone.
"""

from traces.facade import *  # noqa: F403
