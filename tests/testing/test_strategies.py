"""The public strategies: a delivery verifies, and a request is accepted by the checks."""

from hypothesis import given

from workbench.base.schema.checks import problems
from workbench.client.webhooks.verify import Sample, hmac_signature
from workbench.service.interface.events import EVENT_KINDS
from workbench.service.interface.table import OPERATIONS
from workbench.testing import strategies


@given(strategies.deliveries(key="a-key"))
def test_a_delivery_is_signed_and_read(delivery: Sample) -> None:
    assert hmac_signature(delivery.headers, delivery.body, [b"a-key"])
    assert delivery.event.kind in EVENT_KINDS


@given(strategies.requests(OPERATIONS["simulate_refund"]))
def test_a_request_keeps_the_rules(request: object) -> None:
    assert not problems(request)
