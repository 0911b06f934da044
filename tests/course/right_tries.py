"""Attempts that are right, by other ways than the last hint: a form, a sequence, other units, ids in another case."""

RIGHT = [
    (
        "start-1",
        """
shop = api.simulate_authorization(**{**COFFEE, 'card_id': COFFEE['card_id'].upper()})
api.sandbox.settle(shop.transaction_id)
""",
    ),
    (
        "start-1",
        """
form = wb.form(api.simulate_authorization)
form.fill(**COFFEE)
api.sandbox.settle(form.submit().transaction_id)
form.close()
""",
    ),
    (
        "start-1",
        """
from workbench.sequences import Sequence, ref, step
coffee = Sequence(name='coffee', steps=(
    step('buy', 'simulate_authorization', **COFFEE),
    step('settle', 'settle', transaction_id=ref('buy.transaction_id'))))
wb.sequences.run(coffee, api)
""",
    ),
    (
        "contracts-2",
        """
api.sign_withdrawal(**{**GOLD, 'token': GOLD['token'].lower()}, admin_address=admin.lower(),
    recipient_address=to.lower(), collateral_contract_id=contract.id)
""",
    ),
    (
        "contracts-2",
        """
gold = contract.tokens[1]
wb.withdrawals.plan(api, contract, token=gold.address, amount=wb.withdrawals.native_units(10**6), admin=admin, to=to,
    decimals=6).sign()
""",
    ),
    (
        "withdrawals-1",
        """
plan = wb.withdrawals.plan(api, contract, token=token, amount=wb.withdrawals.native_units(40 * 10**6), admin=admin,
    to=to, decimals=6)
withdrawal = plan.sign()
message = withdrawal.typed_data(nonce=api.sandbox.guide()['contracts'][0]['nonce'])
half = message.accept(api.sandbox.wallet(admin).sign(message))
api.sandbox.execute(withdrawal.transaction(half, direct_transfer=True))
""",
    ),
    (
        "withdrawals-2",
        """
api.sandbox.pending_first(times=2, retry_after=1)
wb.withdrawals.plan(api, contract, token=token, amount=wb.withdrawals.native_units(11 * 10**6), admin=admin, to=to,
    decimals=6).sign(wait=60)
""",
    ),
    (
        "withdrawals-2",
        """
api.sandbox.pending_first(times=2, retry_after=1)
for _ in range(3):
    PLAN().sign()
""",
    ),
    (
        "people-1",
        """
denied = next(one for one in guide['companies'][0]['owners'] if one['status'] == 'denied')
api.update_ubo(company_id=guide['companies'][0]['id'].upper(), ubo_id=denied['id'].upper(), email='dara@example.com')
api.sandbox.advance(minutes=5)
""",
    ),
    (
        "disputes-1",
        """
api.update_dispute(dispute_id=guide['disputes']['pending'][1].upper(), status='canceled', text_evidence='Refunded.')
""",
    ),
    (
        "rewards-2",
        """
user = next(one['id'] for one in guide['rewards_users'] if one['beyond_paging'])
for kind in ('earned', 'redeemed'):
    offset = 0
    while offset <= 10_000 and api.list_rewards_activity(user_id=user, type=kind, limit=50, offset=offset).items:
        offset += 50
""",
    ),
    (
        "webhooks-1",
        """
with wb.Inbox(keys=[api.sandbox.full_key]) as mine, mine.serve() as url:
    api.sandbox.register_endpoint(url)
    api.sandbox.deposit(amount='0.45')
    api.sandbox.flush(within=5)
""",
    ),
    (
        "webhooks-2",
        """
with inbox.serve() as url:
    api.sandbox.register_endpoint(url)
    api.sandbox.add_fault('bad_signature', times=1)
    api.sandbox.deposit(amount='0.11')
    api.sandbox.flush(within=5)
api.sandbox.clear_faults()
""",
    ),
    (
        "breaking-1",
        """
api.sandbox.add_fault('closed', of='simulate_refund', times=1)
try:
    api.simulate_refund(transaction_id=shop.transaction_id, amount=500)
except wb.OutcomeUnknown as error:
    api.journal.resolve(error.attempt.id, 'not_sent')
    api.simulate_refund(transaction_id=shop.transaction_id, amount=500)
""",
    ),
    (
        "breaking-1",
        """
api.sandbox.add_fault('reset', of='simulate_refund', times=1)
try:
    api.simulate_refund(transaction_id=shop.transaction_id, amount=500)
except wb.OutcomeUnknown as error:
    api.journal.resolve(error.attempt.id, 'not_sent')
""",
    ),
    (
        "production-1",
        """
production.arm(operations=['update_user'], minutes=1, reason='sign_withdrawal is not meant')
production.update_user(user_id=guide['users']['approved'][3].upper(), phone_country_code='1', phone_number='5550142')
production.disarm()
""",
    ),
]
