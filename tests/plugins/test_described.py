"""The page of the algorithms has what their parameters are now: defaults, bounds, presets.

`tests/docs` holds the whole page to the code; here each plugin is alone, without the others.
"""

from __future__ import annotations

import pytest

from tests.plugins.described import check_page

PLUGINS = ("af_qcn", "bcn", "dcqcn_rp", "p4qcn_cp", "p4qcn_rp", "qcn_cp", "qcn_rp", "red_marking")


@pytest.mark.parametrize("module", PLUGINS)
def test_the_page_has_the_parameters_of(module: str) -> None:
    assert check_page(f"plugins.{module}") > 0
