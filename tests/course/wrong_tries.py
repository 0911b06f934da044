"""Attempts that are nearly right: the exercise, the code, and what the check has to name."""

WRONG = [
    (
        "start-1",
        """
shop = api.simulate_authorization(**COFFEE, decline_reason='invalid_pin')
""",
        "was declined, reversed or settled in part; start with a new one.",
    ),
    (
        "start-1",
        """
shop = api.simulate_authorization(**COFFEE)
api.simulate_reversal(transaction_id=shop.transaction_id, new_amount=300)
api.sandbox.settle(shop.transaction_id)
""",
        "was declined, reversed or settled in part; start with a new one.",
    ),
    (
        "contracts-1",
        """
other = wb.Client(base_url=guide['base_url'], api_key=guide['api_keys']['team not found'],
    transport=api.sandbox.transport())
try:
    other.list_contracts()
except wb.NotFound:
    pass
""",
        "refused with 404",
    ),
    (
        "contracts-2",
        """
api.sign_withdrawal(**GOLD, admin_address=to, recipient_address=admin)
""",
        "first admin to its second",
    ),
    (
        "withdrawals-1",
        """
wb.withdrawals.plan(api, contract, token=token, amount=wb.withdrawals.usd('40.00'), admin=admin, to=to, decimals=6).sign()
for cents in ('30.00', '20.00'):
    contract, signed = api.list_contracts()[0], None
    signed = wb.withdrawals.plan(api, contract, token=token, amount=wb.withdrawals.usd(cents), admin=admin, to=to,
        decimals=6).sign()
    message = signed.typed_data(nonce=api.sandbox.guide()['contracts'][0]['nonce'])
    half = message.accept(api.sandbox.wallet(admin).sign(message))
    api.sandbox.execute(signed.transaction(half, direct_transfer=True))
""",
        "decreased by 50.00 tokens; the withdrawal of 40.00 USD has not been executed.",
    ),
    (
        "withdrawals-2",
        """
for _ in range(3):
    PLAN().sign()
""",
        "answered `pending` 0 of two times",
    ),
    (
        "withdrawals-2",
        """
api.sandbox.pending_first(times=2, retry_after=1)
PLAN().sign()
PLAN().sign()
""",
        "let the plan wait",
    ),
    (
        "applications-2",
        """
other = api.create_user_application(**ada)
profile = {name: ada[name] for name in ('ip_address', 'occupation', 'annual_salary', 'account_purpose',
    'expected_monthly_volume')}
api.create_user_application(sumsub_share_token='token-0001', **profile)
api.sandbox.review(other.id, 'tosNotAccepted')
api.sandbox.accept_terms(other.id)
""",
        "the applicant with the token did not go",
    ),
    (
        "people-1",
        """
owner = next(one for one in guide['companies'][0]['owners'] if one['status'] == 'denied')
api.update_ubo(company_id=guide['companies'][0]['id'], ubo_id=owner['id'])
""",
        "without any change",
    ),
    (
        "people-2",
        """
business = {name: value for name, value in beneficiary.items() if not name.endswith('_name') or name == 'bank_name'}
api.create_payment_account(type='externalFiatAccount', user_id=guide['users']['approved'][1],
    external_fiat_account={**business, 'beneficiary_type': 'business', 'beneficiary_business_name': 'Shop'})
""",
        "a user other than the first",
    ),
    (
        "disputes-1",
        """
first, second = guide['disputes']['pending']
api.update_dispute(dispute_id=first, status='canceled', text_evidence='x')
api.update_dispute(dispute_id=second, text_evidence='x')
api.update_dispute(dispute_id=second, status='canceled')
""",
        "send both in one call",
    ),
    (
        "rewards-2",
        """
long = next(one['id'] for one in guide['rewards_users'] if one['beyond_paging'])
wb.rewards.read(api, [long], type='earned', progress=False)
for page in range(3):
    api.list_rewards_activity(user_id=long, type='redeemed', limit=100, offset=100 * page)
""",
        "the redeemed items were read up to number 300, and there are more.",
    ),
    (
        "purchases-1",
        """
stay = api.simulate_authorization(**{**COFFEE, 'amount': 20000})
api.simulate_reversal(transaction_id=stay.transaction_id, new_amount=15000)
api.sandbox.settle(stay.transaction_id)
api.simulate_refund(transaction_id=stay.transaction_id, amount=5000)
""",
        "50.00 USD was refunded instead of 25.00 USD; start with a new authorization.",
    ),
    (
        "sequences-1",
        """
def buy(*refunds):
    made = api.simulate_authorization(**{**COFFEE, 'amount': 3000})
    api.sandbox.settle(made.transaction_id)
    for amount in refunds:
        api.simulate_refund(transaction_id=made.transaction_id, amount=amount)
buy(2000)
buy(1000)
buy(1000)
""",
        "not refunded in two parts of 10.00 USD.",
    ),
    (
        "sequences-2",
        """
for one in ('wrong-reversal-twice', 'wrong-refund-before-settlement', 'decline-invalid-pin'):
    wb.sequences.run(wb.sequences.catalogue[one], api)
""",
        "no purchase was made at Cars for a Day",
    ),
    (
        "breaking-1",
        """
api.sandbox.add_fault('lost', of='simulate_refund', times=1)
try:
    api.simulate_refund(transaction_id=shop.transaction_id, amount=500)
except wb.OutcomeUnknown as error:
    api.journal.resolve(error.attempt.id, 'not_sent', note='hoped')
""",
        "resolved as not sent, but it was carried out",
    ),
    (
        "production-1",
        """
production.arm(operations={'update_user'}, minutes=5, reason='a name')
production.update_user(user_id=guide['users']['approved'][3], first_name='Dora')
production.disarm()
""",
        "has no new phone number",
    ),
    (
        "purchases-1",
        """
stay = api.simulate_authorization(**{**COFFEE, 'amount': 20000})
api.sandbox.settle(stay.transaction_id, 15000)
api.simulate_refund(transaction_id=stay.transaction_id, amount=2500)
""",
        "was not reversed to 150.00 USD before it was settled",
    ),
    (
        "start-1",
        """
shop = api.simulate_authorization(**{**COFFEE, 'amount': 42000})
""",
        "there is one of 420.00 USD, not 4.20 USD",
    ),
    (
        "start-1",
        """
shop = api.simulate_authorization(**{**COFFEE, 'card_id': guide['cards']['active'][0]})
""",
        "there is one of 4.20 USD on another card",
    ),
    (
        "sequences-1",
        """
made = api.simulate_authorization(**{**COFFEE, 'amount': 3000})
api.sandbox.settle(made.transaction_id)
for _ in range(2):
    api.simulate_refund(transaction_id=made.transaction_id, amount=1000)
""",
        "write them as a sequence",
    ),
    (
        "disputes-1",
        """
api.update_dispute(dispute_id=guide['disputes']['pending'][1], status='canceled')
""",
        "canceled without evidence",
    ),
    (
        "webhooks-1",
        """
api.sandbox.deposit(amount='0.45')
""",
        "nothing has waited for its event",
    ),
    (
        "webhooks-1",
        """
api.sandbox.deposit(amount='0.54')
""",
        "there is one of 0.54 USD",
    ),
    (
        "webhooks-2",
        """
with wb.Inbox(accept_unsigned=True) as trusting, trusting.serve() as url:
    api.sandbox.register_endpoint(url)
    api.sandbox.add_fault('bad_signature', times=1)
    api.sandbox.deposit(amount='0.11')
    api.sandbox.flush(within=2)
""",
        "no inbox refused it",
    ),
    (
        "people-2",
        """
business = {name: value for name, value in beneficiary.items() if not name.endswith('_name') or name == 'bank_name'}
for user in guide['users']['approved'][:2]:
    made = api.create_payment_account(type='externalFiatAccount', user_id=user,
        external_fiat_account={**business, 'beneficiary_type': 'business', 'beneficiary_business_name': 'Shop'})
    if user == guide['users']['approved'][0]:
        api.delete_payment_account(payment_account_id=made.id)
""",
        "account of the first approved user was deleted",
    ),
    (
        "applications-1",
        """
user = api.create_user_application(**ada)
api.sandbox.review(user.id, 'needsVerification')
api.sandbox.review(user.id, 'denied')
""",
        "had `needsVerification` as its first answer",
    ),
    (
        "withdrawals-2",
        """
api.sandbox.pending_first(times=1, retry_after=1)
PLAN().sign(wait=20)
api.sandbox.advance(minutes=11)
api.sandbox.pending_first(times=1, retry_after=1)
PLAN().sign(wait=20)
""",
        "one and the same request",
    ),
    (
        "breaking-1",
        """
api.sandbox.add_fault('reset', of='simulate_refund', times=1)
try:
    api.simulate_refund(transaction_id=shop.transaction_id, amount=500)
except wb.OutcomeUnknown as error:
    api.journal.resolve(error.attempt.id, 'done', note='hoped')
""",
        "resolved as done, but it was not carried out",
    ),
    (
        "production-1",
        """
production.arm(operations={'update_user', 'update_ubo'}, minutes=5, reason='a phone')
production.update_user(user_id=guide['users']['approved'][3], phone_country_code='1', phone_number='5550142')
production.disarm()
""",
        "more than update_user was armed",
    ),
]
