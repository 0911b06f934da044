"""The test harness reports requests to other machines."""

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Watch

pytestmark = pytest.mark.browser


def test_a_request_that_leaves_this_machine_is_noticed(page: Page, watch: Watch) -> None:
    """A page's request to another host is recorded."""
    page.set_content('<img src="https://example.com/x.png">')
    page.wait_for_function("() => document.images[0].complete")

    assert watch.strays == ["https://example.com/x.png"]
    watch.strays.clear()
