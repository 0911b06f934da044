"""Details of the document: error bodies on demand, ids, and deviations of `observed`."""

from tests.each import each
from tests.sandbox.driver import Api
from workbench.sandbox import Sandbox
from workbench.sandbox.page import page
from workbench.service.interface.convert import converter
from workbench.service.interface.table import OPERATIONS


@each(
    "of, status, error, message",
    [
        (None, 500, "InternalServerError", "Internal server error"),
        (None, 401, "Unauthorized", "Invalid or missing API key"),
        (None, 403, "ForbiddenError", "Forbidden"),
        ("create_payment_account", 403, "ForbiddenError", "Forbidden"),
        ("create_payment_account", 404, "NotFoundError", "Team not found"),
        ("create_payment_account", 400, "BadRequestError", "Invalid request"),
        ("delete_payment_account", 403, "ForbiddenError", "Forbidden"),
        ("delete_payment_account", 404, "NotFoundError", "Payment account not found"),
    ],
)
def test_the_documented_error_bodies_are_had_on_demand(of, status, error, message):
    """A fault of kind `status` answers with the documented error body of the status."""
    api = Api(Sandbox())
    api.sandbox.add_fault("status", of=of, status=status)
    if of == "delete_payment_account":
        answer = api.call("DELETE", f"/payment-accounts/{api.guide['payment_accounts'][0]}")
    else:
        answer = api.pay_to(userId=api.user)

    assert answer.body == {"statusCode": status, "error": error, "message": message}


def test_an_injected_status_has_the_error_of_that_status():
    """Also a status that no operation documents: an application that handles 429 reads no internal error."""
    api = Api(Sandbox())
    api.sandbox.add_fault("status", status=429)

    assert api.pay_to(userId=api.user).body["error"] == "TooManyRequestsError"


def test_an_id_of_a_dispute_may_have_any_form(api):
    """The document has no format for dispute ids, so another format gets 404, not 400."""
    answer = api.call("PATCH", "/issuing/disputes/dsp_17", {"status": "canceled"})

    assert (404, "Dispute not found") == (answer.status, answer.body["message"])


def test_an_external_id_is_unique_among_users_and_companies(api):
    assert api.apply(externalId="company-0001").status == 409


def test_observed_posts_a_settlement_above_the_hold(observed):
    """`observed` posts a settlement above the hold, as for tips, and `documented` refuses it."""
    transaction = observed.authorized(1_000)
    before = observed.sandbox.balance(observed.card)

    assert observed.settle(transaction, amount=1_200).status == 200
    money = observed.sandbox.balance(observed.card)
    assert (0, 1_200) == (money.held, money.posted - before.posted)
    assert money.limit == money.available + money.held + money.posted - money.refunded
    strict = Api(Sandbox())
    assert strict.settle(strict.authorized(1_000), amount=1_200).status == 400


def test_the_page_of_the_service_has_examples_to_copy():
    """The page's examples have real example values, not masked ones."""
    text = page(OPERATIONS.values(), "http://127.0.0.1:8080/v1", converter())

    assert "curl" in text
    assert "firstName" in text
    assert "•" not in text
    assert "&bull;" not in text
