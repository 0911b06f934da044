"""Walk through the main tasks on an embedded sandbox: no key, no network, no money. Private values are masked."""

import linecache
import sys
import textwrap
from collections import Counter
from pathlib import Path

import workbench as wb
from workbench.service import rendering
from workbench.service.rendering.text import screen_of

out = Path(sys.argv[1] if sys.argv[1:] else "out")
out.mkdir(parents=True, exist_ok=True)
screen = screen_of(sys.stdout)
printed = [0]  # number of the last line of this file that the demo has printed


def show(value: object) -> None:
    """Print the lines of this file up to the call, and then the value."""
    number = sys._getframe(1).f_lineno
    lines = linecache.getlines(__file__)[printed[0] : number]
    printed[0] = number
    print(screen.paint("".join(lines).rstrip(), "muted"))
    print(textwrap.indent(rendering.plain(value, screen.width - 4, paint=screen.paint), "    "))


printed[0] = sys._getframe().f_lineno

# Buy, settle, refund
#
# Authorize, settle and refund a purchase of 45.90. Amounts are cents. Settling is a control of the sandbox, because the
# interface has no call for it.

api = wb.connect(seed=7)
card = api.sandbox.guide()["cards"]["active"][0]
shop = api.simulate_authorization(
    card_id=card, amount=4590, currency="USD", merchant_name="Example Books", merchant_category_code="5942"
)
show(shop.status)
show(api.sandbox.balance(card))
show(api.sandbox.settle(shop.transaction_id).status)
show(api.simulate_refund(transaction_id=shop.transaction_id, amount=wb.FULL).completion_reason)
show(api.sandbox.balance(card))

# The events that webhooks would deliver, each verified and stored once:
show([event.kind for event in api.inbox.events()])

# The client finds a mistake before it sends anything:
try:
    api.simulate_refund(transaction_id=shop.transaction_id, amount=10.99)
except wb.InvalidRequest as error:
    show(error)

# Reverse and decline
#
# A hotel holds 120.00 and then reduces the hold to 80.50. Nothing is posted. A declined purchase holds nothing.

hotel = {"currency": "USD", "merchant_name": "Example Hotel", "merchant_category_code": "7011"}
stay = api.simulate_authorization(card_id=card, amount=12000, **hotel)
show(api.simulate_reversal(transaction_id=stay.transaction_id, new_amount=8050))
show(api.simulate_authorization(card_id=card, amount=20000, decline_reason="blocked_merchant", **hotel))
show(api.sandbox.balance(card))

# Contracts and withdrawals
#
# A tenant's funds are held in smart contracts. A withdrawal signature authorizes a movement of funds, so the call must
# state the unit of its amount, and the client never repeats the call automatically.

contract = api.list_contracts()[0]
show(contract.tokens)
token, admin = contract.tokens[0].address, contract.admin_addresses[0]
cents = {"amount": "2500", "is_amount_native": False}
wallets = {"admin_address": admin, "recipient_address": admin}
show(api.sign_withdrawal(chain_id=contract.chain_id, token=token, **cents, **wallets))

# Applications
#
# The client checks an application before it sends it. The service then reviews the application, and an event reports
# each change of its status.

home = {"line1": "1 Example St", "city": "Springfield", "region": "IL", "postal_code": "62701", "country_code": "US"}
person = {"first_name": "Ada", "last_name": "Example", "email": "ada@example.com", "birth_date": "1990-05-17"}
person |= {"phone_country_code": "1", "phone_number": "2015550101", "national_id": "900123456", "address": home}
person |= {"country_of_issue": "US", "ip_address": "203.0.113.9", "wallet_address": "0x" + "5a" * 20}
terms = {"occupation": "Engineer", "annual_salary": "60000", "account_purpose": "everyday purchases"}
terms |= {"expected_monthly_volume": "1000", "is_terms_of_service_accepted": True}
user = api.create_user_application(**person, **terms)
show(user.application_status)
show(api.sandbox.review(user.id, "approved"))
show([event.body.application_status for event in api.inbox.events("user.updated")])

# Payment accounts
#
# A payment account is a destination for payouts. A deleted payment account cannot be deleted again.

account = api.sandbox.guide()["payment_accounts"][0]
api.delete_payment_account(payment_account_id=account)
try:
    api.delete_payment_account(payment_account_id=account)
except wb.NotFound as error:
    show(error)

# Rewards
#
# The service returns neither totals nor a cursor. The workbench reads overlapping pages until a page is empty, and the
# result states whether all rows were read. Points are exact decimals.

rewards = wb.rewards.fetch(api, api.sandbox.guide()["rewards_users"][0]["id"], progress=False)
show(rewards)
show(rewards.frame()["points"].sum())
wb.charts.points_chart(rewards, size=(9, 5)).figure.savefig(out / "rewards.png", dpi=144)
show(out / "rewards.png")

# Assumptions
#
# The interface document leaves some details open. The workbench lists its assumption about each of them, and how to
# change it if that is possible. Next: `workbench --help`, or `make lab` for the notebooks.

show({str(confidence): count for confidence, count in Counter(row.confidence for row in wb.assumptions()).items()})
