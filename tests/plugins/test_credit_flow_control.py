"""Credits of a link: grants of what is free in the buffer, in steps, and repeated."""

from __future__ import annotations

from typing import Any

import pytest

from plugins.credit_flow_control import LINK_CREDITS, LinkCredits
from tailback.plugin import GRANT, NOTHING, SEND
from tests.plugins.described import check_page
from tests.plugins.scheme_driver import Driver

US = 10**6
FRAME, STEP, CAPACITY = 1_500, 3_000, 20_000


def granting(**fields: int) -> Driver:
    params = LinkCredits(max_frame=FRAME, min_grant=STEP, refresh=100 * US)
    return Driver(LINK_CREDITS, params, capacity=CAPACITY, **fields)


def message(driver: Any) -> tuple[int, int]:
    return int(driver.message["kind"][0]), int(driver.message["sequence"][0])


@pytest.mark.parametrize("event", ["enqueue", "dequeue"])
def test_all_that_has_come_and_fits_is_granted_but_for_a_longest_frame(event: str) -> None:
    driver = granting(bytes=4_000, bytes_came=10_000)
    assert driver.come(event) == SEND
    assert message(driver) == (GRANT, 10_000 + 20_000 - 4_000 - 1_500)
    assert driver.come(event) == NOTHING, "no octet is new"


@pytest.mark.parametrize("event", ["enqueue", "dequeue"])
def test_a_grant_waits_until_a_step_of_octets_is_new(event: str) -> None:
    driver = granting(bytes=0, bytes_came=0)
    assert driver.come(event) == SEND
    assert message(driver) == (GRANT, 18_500)
    driver.set(bytes_came=STEP - 1)
    assert driver.come(event) == NOTHING
    assert message(driver) == (GRANT, 18_500)
    driver.set(bytes_came=STEP)
    assert driver.come(event) == SEND
    assert message(driver) == (GRANT, 18_500 + STEP)


def test_a_grant_is_repeated_at_every_refresh_with_what_is_new() -> None:
    driver = granting(bytes=0, bytes_came=0)
    assert driver.come("timer", 5 * US) == SEND
    assert (driver.pause_timer, message(driver)) == (105 * US, (GRANT, 18_500))
    driver.set(bytes_came=STEP - 1)
    assert driver.come("timer", 105 * US) == SEND
    assert (driver.pause_timer, message(driver)) == (205 * US, (GRANT, 18_500))
    driver.set(bytes_came=STEP)
    assert driver.come("timer", 205 * US) == SEND
    assert message(driver) == (GRANT, 18_500 + STEP)


def test_the_least_buffer_grants_anew_once_its_credit_is_used() -> None:
    params = LinkCredits(max_frame=FRAME, min_grant=STEP)
    assert params.least_buffer() == FRAME + STEP
    driver = granting()
    driver.set(capacity=FRAME + STEP, bytes=0)
    assert driver.come("dequeue") == SEND
    assert message(driver) == (GRANT, STEP)
    driver = granting()
    driver.set(capacity=FRAME + STEP - 1)
    assert driver.come("dequeue") == NOTHING


def test_its_parameters_are_those_of_the_page() -> None:
    assert (LINK_CREDITS.grants, LINK_CREDITS.former) == (True, ("link-credits",))
    assert check_page("plugins.credit_flow_control") == 6
