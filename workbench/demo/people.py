"""An application from a file to approved, and a payment account made and removed."""

from workbench.demo.cast import Cast, fit, masked, told_body
from workbench.demo.happenings import event_lines
from workbench.demo.stage import Stage
from workbench.errors import ApiError


def application(stage: Stage, cast: Cast) -> None:
    """File an application from a body on disk, and follow it to approved."""
    stage.chapter("A consumer application, from a file on disk to approved")
    stage.say(
        "An application is checked here before it is sent: every problem at once, each with its path, and never a "
        "private value in the message. Then it goes through review, and each change of status comes as an event."
    )
    body = cast.bodies.request("create_user_application", "personal")
    made = fit(cast, body)
    stage.call('user = api.send(api.from_wire("create_user_application", body))')
    told_body(stage, cast, body, made)
    before = len(cast.api.sandbox.events())
    user = stage.advised(lambda: cast.api.send(made.request))
    stage.gap()
    stage.show(user)
    if user.application_status != "approved":
        for status in ("manualReview", "approved"):
            stage.call(f'api.sandbox.review(user.id, "{status}")', follows=status == "approved")
            cast.api.sandbox.review(user.id, status)
    stage.gap()
    stage.say("The events that this caused, as a webhook would bring them:")
    event_lines(stage, cast, cast.api.sandbox.events()[before:])


def payment_account(stage: Stage, cast: Cast) -> None:
    """Make a payment account from a body on disk, and delete it."""
    stage.chapter("Somewhere to pay out to, made and removed")
    body = cast.bodies.request("create_payment_account", "individual", "business")
    made = fit(cast, body)
    stage.call('account = api.send(api.from_wire("create_payment_account", body))')
    told_body(stage, cast, body, made)
    account = stage.advised(lambda: cast.api.send(made.request))
    stage.gap()
    stage.facts(
        {
            "account": account.id,
            "nickname": account.nickname,
            "belongs to": account.user_id or account.company_id,
            "account number": masked(account.external_fiat_account, "accountNumber"),
        }
    )
    stage.call("api.delete_payment_account(payment_account_id=account.id)")
    cast.api.delete_payment_account(payment_account_id=account.id)
    stage.note("Deleted. A second try is refused, in the service's own words:")
    try:
        cast.api.delete_payment_account(payment_account_id=account.id)
    except ApiError as error:
        stage.note(str(error))
