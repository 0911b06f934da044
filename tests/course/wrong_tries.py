"""Attempts with one mistake: exercise, mistake, and code."""

WRONG = [
    (
        "start-1",
        "declined",
        """
shop = api.simulate_authorization(**COFFEE, decline_reason='invalid_pin')
""",
    ),
    (
        "start-1",
        "reversed in part before it settled",
        """
shop = api.simulate_authorization(**COFFEE)
api.simulate_reversal(transaction_id=shop.transaction_id, new_amount=300)
api.sandbox.settle(shop.transaction_id)
""",
    ),
    (
        "start-1",
        "420.00 in place of 4.20",
        """
shop = api.simulate_authorization(**{**COFFEE, 'amount': 42000})
""",
    ),
    (
        "start-1",
        "another card",
        """
shop = api.simulate_authorization(**{**COFFEE, 'card_id': guide['cards']['active'][0]})
""",
    ),
    (
        "purchases-1",
        "50.00 refunded",
        """
stay = api.simulate_authorization(**{**COFFEE, 'amount': 20000})
api.simulate_reversal(transaction_id=stay.transaction_id, new_amount=15000)
api.sandbox.settle(stay.transaction_id)
api.simulate_refund(transaction_id=stay.transaction_id, amount=5000)
""",
    ),
    (
        "purchases-1",
        "settled in part, not reversed",
        """
stay = api.simulate_authorization(**{**COFFEE, 'amount': 20000})
api.sandbox.settle(stay.transaction_id, 15000)
api.simulate_refund(transaction_id=stay.transaction_id, amount=2500)
""",
    ),
    (
        "purchases-1",
        "reversed by the amount to release",
        """
stay = api.simulate_authorization(**{**COFFEE, 'amount': 20000})
api.simulate_reversal(transaction_id=stay.transaction_id, new_amount=5000)
""",
    ),
    (
        "purchases-1",
        "20.00 in place of 200.00",
        """
api.simulate_authorization(**{**COFFEE, 'amount': 2000})
""",
    ),
    (
        "purchases-2",
        "three times the same reason",
        """
for _ in range(3):
    api.simulate_authorization(**{**COFFEE, 'card_id': THIRD, 'decline_reason': 'invalid_pin'})
""",
    ),
    (
        "purchases-2",
        "another card",
        """
for reason in ('cvv_mismatch', 'invalid_pin', 'blocked_mcc'):
    api.simulate_authorization(**{**COFFEE, 'decline_reason': reason})
""",
    ),
    (
        "purchases-2",
        "approved",
        """
for amount in (1000, 2000, 3000):
    api.simulate_authorization(**{**COFFEE, 'card_id': THIRD, 'amount': amount})
""",
    ),
    (
        "webhooks-1",
        "nobody waited",
        """
api.sandbox.deposit(amount='0.45')
""",
    ),
    (
        "webhooks-1",
        "0.54 in place of 0.45",
        """
api.sandbox.deposit(amount='0.54')
""",
    ),
    (
        "webhooks-1",
        "waited, and made no deposit",
        """
try:
    api.inbox.wait('microDeposit.received', timeout=0.1)
except wb.errors.EventTimeout:
    pass
""",
    ),
    (
        "webhooks-2",
        "a receiver that accepts everything",
        """
with wb.Inbox(accept_unsigned=True) as trusting, trusting.serve() as url:
    api.sandbox.register_endpoint(url)
    api.sandbox.add_fault('bad_signature', times=1)
    api.sandbox.deposit(amount='0.11')
    api.sandbox.flush(timeout=60)
""",
    ),
    (
        "webhooks-2",
        "the fault alone",
        """
api.sandbox.add_fault('bad_signature', times=1)
""",
    ),
    (
        "webhooks-2",
        "a genuine delivery",
        """
with inbox.serve() as url:
    api.sandbox.register_endpoint(url)
    api.sandbox.deposit(amount='0.11')
    api.sandbox.flush(timeout=60)
""",
    ),
    (
        "disputes-1",
        "evidence in a separate call",
        """
first, second = guide['disputes']['pending']
api.update_dispute(dispute_id=first, status='canceled', text_evidence='x')
api.update_dispute(dispute_id=second, text_evidence='x')
api.update_dispute(dispute_id=second, status='canceled')
""",
    ),
    (
        "disputes-1",
        "no evidence",
        """
api.update_dispute(dispute_id=guide['disputes']['pending'][1], status='canceled')
""",
    ),
    (
        "disputes-1",
        "the first pending dispute",
        """
api.update_dispute(dispute_id=guide['disputes']['pending'][0], status='canceled', text_evidence='Refunded.')
""",
    ),
    (
        "disputes-1",
        "evidence, not canceled",
        """
api.update_dispute(dispute_id=guide['disputes']['pending'][1], text_evidence='Refunded.')
""",
    ),
    (
        "applications-1",
        "another phone number beside it",
        """
user = api.create_user_application(**{**ada, 'last_name': 'testingNeedsVerification'})
api.sandbox.review(user.id, 'denied')
api.update_user(user_id=user.id, phone_country_code='1', phone_number='5550188')
""",
    ),
    (
        "applications-3",
        "one denied afterwards",
        """
run = wb.bulk.run(api.create_user_application, three, progress=False)
second = list(run)[1].id
api.update_user(user_id=second, **PHONE)
api.sandbox.review(list(run)[0].id, 'denied')
""",
    ),
    (
        "applications-1",
        "pending was the first answer",
        """
user = api.create_user_application(**ada)
api.sandbox.review(user.id, 'needsVerification')
api.sandbox.review(user.id, 'denied')
""",
    ),
    (
        "applications-1",
        "not denied",
        """
api.create_user_application(**{**ada, 'last_name': 'testingNeedsVerification'})
""",
    ),
    (
        "applications-1",
        "denied at once",
        """
api.create_user_application(**{**ada, 'last_name': 'testingDenied'})
""",
    ),
    (
        "applications-2",
        "another applicant accepted the terms",
        """
other = api.create_user_application(**ada)
profile = {name: ada[name] for name in ('ip_address', 'occupation', 'annual_salary', 'account_purpose',
    'expected_monthly_volume')}
api.create_user_application(sumsub_share_token='token-0001', **profile)
api.sandbox.review(other.id, 'tosNotAccepted')
api.sandbox.accept_terms(other.id)
""",
    ),
    (
        "applications-2",
        "a token of the other provider",
        """
user = api.create_user_application(persona_share_token='token-0001', **PROFILE)
api.sandbox.review(user.id, 'tosNotAccepted')
api.sandbox.accept_terms(user.id)
""",
    ),
    (
        "applications-2",
        "the terms never asked for",
        """
user = api.create_user_application(sumsub_share_token='token-0001', **PROFILE)
api.sandbox.review(user.id, 'approved')
""",
    ),
    (
        "people-1",
        "nothing changed",
        """
owner = next(one for one in guide['companies'][0]['owners'] if one['status'] == 'denied')
api.update_ubo(company_id=guide['companies'][0]['id'], ubo_id=owner['id'])
""",
    ),
    (
        "people-1",
        "a name changed to pass",
        """
api.update_ubo(company_id=guide['companies'][0]['id'], ubo_id=DENIED, last_name='testingApproved', address=MOVED)
""",
    ),
    (
        "people-1",
        "another owner",
        """
owner = next(one['id'] for one in guide['companies'][0]['owners'] if one['status'] == 'needsInformation')
api.update_ubo(company_id=guide['companies'][0]['id'], ubo_id=owner, address=MOVED)
""",
    ),
    (
        "people-2",
        "another user",
        """
business = {name: value for name, value in beneficiary.items() if not name.endswith('_name') or name == 'bank_name'}
api.create_payment_account(type='externalFiatAccount', user_id=guide['users']['approved'][1],
    external_fiat_account={**business, 'beneficiary_type': 'business', 'beneficiary_business_name': 'Shop'})
""",
    ),
    (
        "people-2",
        "deleted",
        """
business = {name: value for name, value in beneficiary.items() if not name.endswith('_name') or name == 'bank_name'}
for user in guide['users']['approved'][:2]:
    made = api.create_payment_account(type='externalFiatAccount', user_id=user,
        external_fiat_account={**business, 'beneficiary_type': 'business', 'beneficiary_business_name': 'Shop'})
    if user == guide['users']['approved'][0]:
        api.delete_payment_account(payment_account_id=made.id)
""",
    ),
    (
        "people-2",
        "an individual",
        """
api.create_payment_account(type='externalFiatAccount', user_id=guide['users']['approved'][0],
    external_fiat_account=beneficiary)
""",
    ),
    (
        "rewards-1",
        "the page's number as the offset",
        """
api.list_rewards_activity(user_id=guide['rewards_users'][0]['id'], type='redeemed', limit=5, offset=3)
""",
    ),
    (
        "rewards-1",
        "both types",
        """
api.list_rewards_activity(user_id=guide['rewards_users'][0]['id'], limit=5, offset=10)
""",
    ),
    (
        "rewards-1",
        "another user",
        """
api.list_rewards_activity(user_id=guide['rewards_users'][1]['id'], type='redeemed', limit=5, offset=10)
""",
    ),
    (
        "rewards-2",
        "redeemed items read in part",
        """
long = next(one['id'] for one in guide['rewards_users'] if one['beyond_paging'])
count = len(wb.to_frame(wb.rewards.fetch(api, [long], type='earned', progress=False)))
pages = [api.list_rewards_activity(user_id=long, type='redeemed', limit=100, offset=100 * page) for page in range(3)]
wb.course.answer('rewards-2', count + sum(len(page.items) for page in pages))
""",
    ),
    (
        "rewards-2",
        "one page of each type",
        """
user = next(one['id'] for one in guide['rewards_users'] if one['beyond_paging'])
pages = [api.list_rewards_activity(user_id=user, type=kind, limit=100) for kind in ('earned', 'redeemed')]
wb.course.answer('rewards-2', sum(len(page.items) for page in pages))
""",
    ),
    (
        "sequences-1",
        "parts on different transactions",
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
    ),
    (
        "sequences-1",
        "one refund of 20.00",
        """
SEQUENCE(step('buy', 'simulate_authorization', **{**COFFEE, 'amount': 3000}),
    step('settle', 'settle', transaction_id=ref('buy.transaction_id')),
    step('back', 'simulate_refund', transaction_id=ref('buy.transaction_id'), amount=2000))
""",
    ),
    (
        "sequences-2",
        "other sequences",
        """
for one in ('wrong-reversal-twice', 'wrong-refund-before-settlement', 'decline-invalid-pin'):
    wb.sequences.run(api, wb.sequences.catalogue[one])
""",
    ),
    (
        "sequences-2",
        "read, not run",
        """
wb.sequences.catalogue['a-bad-day']._repr_html_()
""",
    ),
    (
        "sequences-2",
        "a shop of the same name, and no bad day",
        """
api.simulate_authorization(**{**COFFEE, 'merchant_name': 'Cars for a Day', 'decline_reason': 'invalid_pin'})
""",
    ),
    (
        "breaking-1",
        "resolved as done, though not carried out",
        """
api.sandbox.add_fault('reset', of='simulate_refund', times=1)
try:
    api.simulate_refund(transaction_id=shop.transaction_id, amount=500)
except wb.OutcomeUnknown as error:
    api.journal.resolve(error.attempt.id, 'done', note='hoped')
wb.course.answer('breaking-1', carried_out='yes')
""",
    ),
    (
        "breaking-1",
        "another amount",
        """
api.sandbox.add_fault('lost', of='simulate_refund', times=1)
try:
    api.simulate_refund(transaction_id=shop.transaction_id, amount=5000 // 2)
except wb.OutcomeUnknown as error:
    api.journal.resolve(error.attempt.id, 'done')
""",
    ),
    (
        "contracts-1",
        "the key of a team that is not there",
        """
other = wb.Client(base_url=guide['base_url'], api_key=guide['api_keys']['team not found'],
    transport=api.sandbox.transport())
try:
    other.list_contracts()
except wb.NotFound:
    pass
""",
    ),
    (
        "contracts-1",
        "the own key",
        """
api.list_contracts()
""",
    ),
    (
        "contracts-1",
        "no valid key",
        """
other = wb.Client(base_url=guide['base_url'], api_key='x' * 20, transport=api.sandbox.transport())
try:
    other.list_contracts()
except wb.ApiError:
    pass
""",
    ),
    (
        "contracts-2",
        "from the second admin to the first",
        """
api.sign_withdrawal(**GOLD, admin_address=to, recipient_address=admin)
""",
    ),
    (
        "contracts-2",
        "in cents",
        """
api.sign_withdrawal(**{**GOLD, 'is_amount_native': False, 'amount': '265050'}, admin_address=admin, recipient_address=to)
""",
    ),
    (
        "contracts-2",
        "one native unit",
        """
api.sign_withdrawal(**{**GOLD, 'amount': '1'}, admin_address=admin, recipient_address=to)
""",
    ),
    (
        "withdrawals-1",
        "signed for 40.00, executed 30.00 and 20.00",
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
    ),
    (
        "withdrawals-1",
        "signed, not executed",
        """
wb.withdrawals.plan(api, contract, token=token, amount=wb.withdrawals.usd('40.00'), admin=admin, to=to, decimals=6).sign()
""",
    ),
    (
        "withdrawals-1",
        "400.00 in place of 40.00",
        """
wb.withdrawals.plan(api, contract, token=token, amount=wb.withdrawals.usd('400.00'), admin=admin, to=to, decimals=6).sign()
""",
    ),
    (
        "withdrawals-2",
        "never pending",
        """
for _ in range(3):
    PLAN().sign()
""",
    ),
    (
        "withdrawals-2",
        "not repeated until it was ready",
        """
api.sandbox.pending_first(times=2, retry_after=1)
PLAN().sign()
PLAN().sign()
""",
    ),
    (
        "withdrawals-2",
        "two requests, each pending once",
        """
api.sandbox.pending_first(times=1, retry_after=1)
PLAN().sign(timeout=20)
api.sandbox.advance(minutes=11)
api.sandbox.pending_first(times=1, retry_after=1)
PLAN().sign(timeout=20)
""",
    ),
    (
        "production-1",
        "a name in place of the phone",
        """
production.arm(operations={'update_user'}, minutes=5, reason='a name')
production.update_user(user_id=guide['users']['approved'][3], first_name='Dora')
production.disarm()
""",
    ),
    (
        "production-1",
        "another user",
        """
production.arm(operations={'update_user'}, minutes=5, reason='a phone')
production.update_user(user_id=guide['users']['approved'][2], phone_country_code='1', phone_number='5550142')
production.disarm()
""",
    ),
    (
        "start-1",
        "a hardware shop",
        """
shop = api.simulate_authorization(**{**COFFEE, 'merchant_name': 'Example Hardware', 'merchant_category_code': '5251'})
api.sandbox.settle(shop.transaction_id)
""",
    ),
    (
        "people-1",
        "another street",
        """
api.update_ubo(company_id=guide['companies'][0]['id'], ubo_id=DENIED, address={**MOVED, 'line1': '5 Example Street'})
""",
    ),
    (
        "people-1",
        "another postal code, by a form",
        """
FORM(api.update_ubo, company_id=guide['companies'][0]['id'], ubo_id=DENIED, address={**MOVED, 'postal_code': '62701'})
""",
    ),
    (
        "contracts-1",
        "a fault injected with 403",
        """
api.sandbox.add_fault('status', of='list_contracts', status=403, times=1)
try:
    api.list_contracts()
except wb.errors.Forbidden:
    pass
""",
    ),
    (
        "breaking-1",
        "sent again although it was carried out",
        """
api.sandbox.add_fault('lost', of='simulate_refund', times=1)
refund = {'transaction_id': shop.transaction_id, 'amount': 500}
try:
    api.simulate_refund(**refund)
except wb.OutcomeUnknown as error:
    api.journal.resend(error.attempt.id, refund, accept_double=True)
""",
    ),
    (
        "purchases-1",
        "each step on another transaction",
        """
stays = [api.simulate_authorization(**{**COFFEE, 'amount': 20000}) for _ in range(2)]
api.simulate_reversal(transaction_id=stays[0].transaction_id, new_amount=15000)
for stay in stays:
    api.sandbox.settle(stay.transaction_id)
api.simulate_refund(transaction_id=stays[1].transaction_id, amount=2500)
""",
    ),
    (
        "purchases-2",
        "two reasons",
        """
for reason in ('cvv_mismatch', 'invalid_pin', 'invalid_pin'):
    api.simulate_authorization(**{**COFFEE, 'card_id': THIRD, 'decline_reason': reason})
""",
    ),
    (
        "purchases-2",
        "one on each of three cards",
        """
for card, reason in zip(guide['cards']['active'], ('cvv_mismatch', 'invalid_pin', 'blocked_mcc')):
    api.simulate_authorization(**{**COFFEE, 'card_id': card, 'decline_reason': reason})
""",
    ),
    (
        "webhooks-1",
        "a purchase of 0.45, and its event",
        """
api.simulate_authorization(**{**COFFEE, 'amount': 45})
api.inbox.wait('transaction.created', timeout=30)
""",
    ),
    (
        "webhooks-1",
        "45 dollars",
        """
api.sandbox.deposit(amount='45')
api.sandbox.flush(timeout=5)
""",
    ),
    (
        "webhooks-2",
        "a receiver with another key",
        """
with wb.Inbox(keys=['another-key']) as other, other.serve() as url:
    api.sandbox.register_endpoint(url)
    api.sandbox.deposit(amount='0.11')
    api.sandbox.flush(timeout=60)
""",
    ),
    (
        "webhooks-2",
        "another fault",
        """
with inbox.serve() as url:
    api.sandbox.register_endpoint(url)
    api.sandbox.add_fault('duplicate', times=1)
    api.sandbox.deposit(amount='0.11')
    api.sandbox.flush(timeout=60)
""",
    ),
    (
        "disputes-1",
        "resolved by the service",
        """
api.update_dispute(dispute_id=guide['disputes']['pending'][1], text_evidence='Refunded.')
api.sandbox.resolve_dispute(guide['disputes']['pending'][1], 'rejected')
""",
    ),
    (
        "applications-1",
        "another application denied",
        """
api.create_user_application(**{**ada, 'last_name': 'testingNeedsVerification'})
other = api.create_user_application(**{**ada, 'email': 'grace@example.com'})
api.sandbox.review(other.id, 'denied')
""",
    ),
    (
        "applications-1",
        "information in place of verification",
        """
user = api.create_user_application(**{**ada, 'last_name': 'testingNeedsInformation'})
api.sandbox.review(user.id, 'denied')
""",
    ),
    (
        "applications-2",
        "approved first",
        """
user = api.create_user_application(sumsub_share_token='token-0001', **PROFILE)
api.sandbox.review(user.id, 'approved')
api.sandbox.review(user.id, 'tosNotAccepted')
""",
    ),
    (
        "applications-2",
        "denied after the terms",
        """
user = api.create_user_application(sumsub_share_token='token-0001', **PROFILE)
api.sandbox.review(user.id, 'tosNotAccepted')
api.sandbox.review(user.id, 'denied')
""",
    ),
    (
        "people-2",
        "the business named as the bank",
        """
api.create_payment_account(type='externalFiatAccount', user_id=guide['users']['approved'][0],
    external_fiat_account={**beneficiary, 'bank_name': 'Example Books'})
""",
    ),
    (
        "people-2",
        "two accounts, each half right",
        """
api.create_payment_account(type='externalFiatAccount', user_id=guide['users']['approved'][0],
    external_fiat_account=beneficiary)
api.create_payment_account(type='externalFiatAccount', user_id=guide['users']['approved'][1],
    external_fiat_account=BUSINESS)
""",
    ),
    (
        "rewards-1",
        "the fourth page",
        """
api.list_rewards_activity(user_id=guide['rewards_users'][0]['id'], type='redeemed', limit=5, offset=15)
""",
    ),
    (
        "rewards-1",
        "fifteen items at once",
        """
api.list_rewards_activity(user_id=guide['rewards_users'][0]['id'], type='redeemed', limit=15)
""",
    ),
    (
        "rewards-2",
        "another user",
        """
read = wb.rewards.fetch(api, [guide['rewards_users'][0]['id']], progress=False)
wb.course.answer('rewards-2', items=len(wb.to_frame(read)))
""",
    ),
    (
        "rewards-2",
        "both to the largest offset",
        """
wb.course.answer('rewards-2', 10_000)
""",
    ),
    (
        "rewards-2",
        "one type alone",
        """
long = next(one['id'] for one in guide['rewards_users'] if one['beyond_paging'])
wb.course.answer('rewards-2', len(wb.to_frame(wb.rewards.fetch(api, [long], type='earned', progress=False))))
""",
    ),
    (
        "sequences-1",
        "refunds of 15.00 and 5.00",
        """
SEQUENCE(step('buy', 'simulate_authorization', **{**COFFEE, 'amount': 3000}),
    step('settle', 'settle', transaction_id=ref('buy.transaction_id')),
    step('one', 'simulate_refund', transaction_id=ref('buy.transaction_id'), amount=1500),
    step('two', 'simulate_refund', transaction_id=ref('buy.transaction_id'), amount=500))
""",
    ),
    (
        "sequences-1",
        "300.00 in place of 30.00",
        """
SEQUENCE(step('buy', 'simulate_authorization', **{**COFFEE, 'amount': 30000}),
    step('settle', 'settle', transaction_id=ref('buy.transaction_id')),
    step('one', 'simulate_refund', transaction_id=ref('buy.transaction_id'), amount=1000),
    step('two', 'simulate_refund', transaction_id=ref('buy.transaction_id'), amount=1000))
""",
    ),
    (
        "sequences-2",
        "on another sandbox",
        """
with wb.Sandbox(7).serve() as url, wb.connect(url) as other:
    wb.sequences.run(other, wb.sequences.catalogue['a-bad-day'])
""",
    ),
    (
        "sequences-2",
        "one refusal, by hand",
        """
hired = api.simulate_authorization(**{**COFFEE, 'merchant_name': 'Cars for a Day'})
api.simulate_authorization(**{**COFFEE, 'decline_reason': 'invalid_pin'})
try:
    api.simulate_refund(transaction_id=hired.transaction_id, amount=100)
except wb.ApiError:
    pass
""",
    ),
    (
        "contracts-1",
        "the key of another tenant",
        """
other = next(name for name in guide['api_keys'] if name not in ('full', 'no corporate cards', 'team not found'))
try:
    wb.Client(base_url=guide['base_url'], api_key=guide['api_keys'][other],
        transport=api.sandbox.transport()).list_disputes()
except (wb.ApiError, AttributeError):
    pass
""",
    ),
    (
        "contracts-2",
        "the first token",
        """
api.sign_withdrawal(**{**GOLD, 'token': contract.tokens[0].address}, admin_address=admin, recipient_address=to)
""",
    ),
    (
        "contracts-2",
        "a hundred whole units",
        """
try:
    api.sign_withdrawal(**{**GOLD, 'amount': '100000000'}, admin_address=admin, recipient_address=to)
except wb.ApiError:
    pass
""",
    ),
    (
        "withdrawals-1",
        "planned, not signed",
        """
wb.withdrawals.plan(api, contract, token=token, amount=wb.withdrawals.usd('40.00'), admin=admin, to=to, decimals=6)
""",
    ),
    (
        "withdrawals-1",
        "40 native units",
        """
wb.withdrawals.plan(api, contract, token=token, amount=wb.withdrawals.native_units(40), admin=admin, to=to, decimals=6).sign()
""",
    ),
    (
        "withdrawals-2",
        "110.00 in place of 11.00",
        """
api.sandbox.pending_first(times=2, retry_after=1)
wb.withdrawals.plan(api, contract, token=token, amount=wb.withdrawals.usd('110.00'), admin=admin, to=to, decimals=6).sign(timeout=20)
""",
    ),
    (
        "withdrawals-2",
        "pending once",
        """
api.sandbox.pending_first(times=1, retry_after=1)
for _ in range(2):
    PLAN().sign()
""",
    ),
    (
        "production-1",
        "never armed",
        """
try:
    production.update_user(user_id=guide['users']['approved'][3], phone_country_code='1', phone_number='5550142')
except wb.WorkbenchError:
    pass
""",
    ),
    (
        "applications-3",
        "two of three",
        """
BULK(api.create_user_application, *flat[:2])
""",
    ),
    (
        "applications-3",
        "other external ids",
        """
BULK(api.create_user_application, *people.head(3).to_dict('records'))
""",
    ),
    (
        "applications-3",
        "no phone number",
        """
users = BULK(api.create_user_application, *flat)
api.update_user(user_id=users[1].id, external_id='desk-22')
""",
    ),
    (
        "applications-3",
        "the phone number of another person",
        """
users = BULK(api.create_user_application, *flat)
api.update_user(user_id=users[2].id, **PHONE)
""",
    ),
    (
        "applications-3",
        "the phone number in the application",
        """
BULK(api.create_user_application, *({**person, **PHONE} for person in flat))
""",
    ),
    (
        "applications-3",
        "a row that was refused",
        """
BULK(api.create_user_application, flat[0], flat[1])
try:
    api.create_user_application(**{**nested[2], 'external_id': 'desk-2'})
except wb.WorkbenchError:
    pass
""",
    ),
    (
        "applications-1",
        "a second application beside it",
        """
filed = BULK(api.create_user_application, {**ada, 'last_name': 'testingNeedsVerification'}, {**ada, 'email': 'grace@example.com'})
api.sandbox.review(filed[0].id.upper(), 'denied')
""",
    ),
    (
        "people-1",
        "the email beside the address",
        """
api.update_ubo(company_id=guide['companies'][0]['id'].upper(), ubo_id=DENIED.upper(), email='dara@example.com', address=MOVED)
api.sandbox.advance(minutes=5)
""",
    ),
    (
        "breaking-1",
        "nothing given back in the end",
        """
api.sandbox.add_fault('reset', of='simulate_refund', times=1)
try:
    api.simulate_refund(transaction_id=shop.transaction_id, amount=500)
except wb.OutcomeUnknown as error:
    api.journal.resolve(error.attempt.id, 'not_sent')
wb.course.answer('breaking-1', carried_out='no')
""",
    ),
    (
        "production-1",
        "more than the phone number",
        """
production.arm(operations={'update_user'}, minutes=5, reason='mistyped')
production.disarm()
production.arm(operations={'update_user'}, minutes=5, reason='a new phone')
production.update_user(user_id=guide['users']['approved'][3], phone_number='5550142', phone_country_code='1', is_active=True)
production.disarm()
""",
    ),
    (
        "applications-3",
        "a second phone number changed",
        """
users = BULK(api.create_user_application, *flat)
BULK(api.update_user, {'user_id': users[1].id, **PHONE}, {'user_id': users[2].id, **PHONE})
""",
    ),
    (
        "start-1",
        "no coffee by its category",
        """
shop = api.simulate_authorization(**{**COFFEE, 'merchant_category_code': '5712'})
api.sandbox.settle(shop.transaction_id)
""",
    ),
    (
        "start-1",
        "a coffee given back",
        """
shop = api.simulate_authorization(**COFFEE)
api.sandbox.settle(shop.transaction_id)
api.simulate_refund(transaction_id=shop.transaction_id, amount=wb.FULL)
""",
    ),
    (
        "start-1",
        "two coffees",
        """
for _ in range(2):
    shop = api.allowing(again=True).simulate_authorization(**COFFEE)
    api.sandbox.settle(shop.transaction_id)
""",
    ),
    (
        "start-1",
        "another card locked beside it",
        """
shop = api.simulate_authorization(**COFFEE)
api.sandbox.settle(shop.transaction_id)
api.sandbox.cards.lock(THIRD)
""",
    ),
    (
        "purchases-1",
        "a purchase beside it",
        """
api.simulate_authorization(**COFFEE)
stay = api.simulate_authorization(**{**COFFEE, 'amount': 20000})
api.simulate_reversal(transaction_id=stay.transaction_id, new_amount=15000)
api.sandbox.settle(stay.transaction_id)
api.simulate_refund(transaction_id=stay.transaction_id, amount=2500)
""",
    ),
    (
        "purchases-2",
        "a card locked to get declines",
        """
api.sandbox.cards.lock(THIRD)
for reason in ('cvv_mismatch', 'invalid_pin', 'card_locked'):
    api.simulate_authorization(**{**COFFEE, 'card_id': THIRD, 'decline_reason': reason}) if reason == 'card_locked' and False else None
""",
    ),
    (
        "webhooks-1",
        "a wrong id",
        """
api.sandbox.deposit(amount='0.45')
api.inbox.wait('microDeposit.received', timeout=30)
wb.course.answer('webhooks-1', event='00000000-0000-4000-8000-000000000000')
""",
    ),
    (
        "webhooks-1",
        "a second deposit",
        """
for amount in ('0.45', '0.46'):
    api.sandbox.deposit(amount=amount)
event = api.inbox.wait('microDeposit.received', timeout=30)
wb.course.answer('webhooks-1', event=event.id)
""",
    ),
    (
        "disputes-1",
        "a full stop as evidence",
        """
api.update_dispute(dispute_id=guide['disputes']['pending'][1], status='canceled', text_evidence='.')
""",
    ),
    (
        "disputes-1",
        "both pending disputes",
        """
for dispute in guide['disputes']['pending']:
    api.update_dispute(dispute_id=dispute, status='canceled', text_evidence='Refunded.')
""",
    ),
    (
        "applications-2",
        "a card locked beside it",
        """
user = api.create_user_application(sumsub_share_token='token-0001', **PROFILE)
api.sandbox.review(user.id, 'tosNotAccepted')
api.sandbox.accept_terms(user.id)
api.sandbox.cards.lock(THIRD)
""",
    ),
    (
        "people-1",
        "another birth date and national id",
        """
api.update_ubo(company_id=guide['companies'][0]['id'], ubo_id=DENIED, address=MOVED, birth_date='1980-02-02', national_id='000999888')
""",
    ),
    (
        "people-1",
        "two owners",
        """
for owner in guide['companies'][0]['owners'][1:]:
    api.update_ubo(company_id=guide['companies'][0]['id'], ubo_id=owner['id'], address=MOVED)
""",
    ),
    (
        "people-2",
        "a second account",
        """
for user in guide['users']['approved'][:2]:
    api.create_payment_account(type='externalFiatAccount', user_id=user, external_fiat_account=BUSINESS)
""",
    ),
    (
        "sequences-1",
        "an empty sequence for show",
        """
SEQUENCE(step('deposit', 'deposit', amount='0.11'))
""",
    ),
    (
        "sequences-1",
        "the same purchase twice",
        """
for _ in range(2):
    SEQUENCE(step('buy', 'simulate_authorization', **{**COFFEE, 'amount': 3000 + _}),
        step('settle', 'settle', transaction_id=ref('buy.transaction_id')),
        step('one', 'simulate_refund', transaction_id=ref('buy.transaction_id'), amount=1000),
        step('two', 'simulate_refund', transaction_id=ref('buy.transaction_id'), amount=1000))
""",
    ),
    (
        "breaking-1",
        "the other answer",
        """
api.sandbox.add_fault('lost', of='simulate_refund', times=1)
try:
    api.simulate_refund(transaction_id=shop.transaction_id, amount=500)
except wb.OutcomeUnknown:
    pass
wb.course.answer('breaking-1', carried_out='no')
""",
    ),
    (
        "breaking-1",
        "no answer",
        """
api.sandbox.add_fault('lost', of='simulate_refund', times=1)
try:
    api.simulate_refund(transaction_id=shop.transaction_id, amount=500)
except wb.OutcomeUnknown:
    pass
""",
    ),
    (
        "withdrawals-1",
        "40.00 twice",
        """
plan = wb.withdrawals.plan(api, contract, token=token, amount=wb.withdrawals.native_units(40 * 10**6), admin=admin, to=to, decimals=6)
withdrawal = plan.sign()

message = withdrawal.typed_data(nonce=api.sandbox.guide()['contracts'][0]['nonce'])
half = message.accept(api.sandbox.wallet(admin).sign(message))
api.sandbox.execute(withdrawal.transaction(half, direct_transfer=True))

plan = wb.withdrawals.plan(api, contract, token=token, amount=wb.withdrawals.native_units(40 * 10**6), admin=admin, to=to, decimals=6)
withdrawal = plan.sign()

message = withdrawal.typed_data(nonce=api.sandbox.guide()['contracts'][0]['nonce'])
half = message.accept(api.sandbox.wallet(admin).sign(message))
api.sandbox.execute(withdrawal.transaction(half, direct_transfer=True))
""",
    ),
    (
        "production-1",
        "the phone numbers of two",
        """
production.arm(operations={'update_user'}, minutes=5, reason='phones')
for user in guide['users']['approved'][2:4]:
    production.update_user(user_id=user, phone_country_code='1', phone_number='5550142')
production.disarm()
""",
    ),
    (
        "production-1",
        "letters for a number",
        """
production.arm(operations={'update_user'}, minutes=5, reason='a name')
production.update_user(user_id=guide['users']['approved'][3], external_id='5550142')
production.disarm()
""",
    ),
    (
        "applications-3",
        "a fourth application",
        """
users = BULK(api.create_user_application, *flat, {**flat[0], 'external_id': 'desk-4', 'email': 'four@example.com'})
api.update_user(user_id=users[1].id, **PHONE)
""",
    ),
    (
        "contracts-2",
        "one unit of 18 decimals",
        """
api.sign_withdrawal(**{**GOLD, 'amount': str(10**5)}, admin_address=admin, recipient_address=to)
""",
    ),
]
