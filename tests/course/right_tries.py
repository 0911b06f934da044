"""Correct attempts that differ from the last hint: exercise, way of calling, and code."""

RIGHT = [
    (
        "start-1",
        "method",
        """
shop = api.simulate_authorization(**{**COFFEE, 'card_id': COFFEE['card_id'].upper()})
api.sandbox.settle(shop.transaction_id, 420)
""",
    ),
    (
        "start-1",
        "form",
        """
api.sandbox.settle(FORM(api.simulate_authorization, **COFFEE).transaction_id)
""",
    ),
    (
        "start-1",
        "sequence",
        """
SEQUENCE(step('buy', 'simulate_authorization', **COFFEE),
    step('settle', 'settle', transaction_id=ref('buy.transaction_id')))
""",
    ),
    (
        "start-1",
        "bulk",
        """
api.sandbox.settle(BULK(api.simulate_authorization, COFFEE)[0].id)
""",
    ),
    (
        "start-1",
        "terminal",
        """
TERMINAL('transactions', 'authorize', **COFFEE)
TERMINAL('sandbox', 'settle', api.sandbox.events()[-1].payload['body']['id'])
""",
    ),
    (
        "purchases-1",
        "form",
        """
stay = FORM(api.simulate_authorization, **{**COFFEE, 'amount': 20000})
FORM(api.simulate_reversal, transaction_id=stay.transaction_id, new_amount=15000)
api.sandbox.settle(stay.transaction_id)
FORM(api.simulate_refund, transaction_id=stay.transaction_id, amount=2500)
""",
    ),
    (
        "purchases-1",
        "sequence",
        """
stay = ref('stay.transaction_id')
SEQUENCE(step('stay', 'simulate_authorization', **{**COFFEE, 'amount': 20000}),
    step('shorter', 'simulate_reversal', transaction_id=stay, new_amount=15000),
    step('settle', 'settle', transaction_id=stay),
    step('minibar', 'simulate_refund', transaction_id=stay, amount=2500))
""",
    ),
    (
        "purchases-1",
        "bulk",
        """
stay = BULK(api.simulate_authorization, {**COFFEE, 'amount': 20000})[0].id
BULK(api.simulate_reversal, {'transaction_id': stay, 'new_amount': 15000})
api.sandbox.settle(stay)
BULK(api.simulate_refund, {'transaction_id': stay, 'amount': 1500}, {'transaction_id': stay, 'amount': 1000})
""",
    ),
    (
        "purchases-1",
        "terminal",
        """
TERMINAL('transactions', 'authorize', **{**COFFEE, 'amount': 20000})
stay = api.sandbox.events()[-1].payload['body']['id']
TERMINAL('transactions', 'reverse', transaction_id=stay, new_amount=15000)
TERMINAL('sandbox', 'settle', stay)
TERMINAL('transactions', 'refund', transaction_id=stay.upper(), amount=2500)
""",
    ),
    (
        "purchases-2",
        "form",
        """
for reason in ('cvv_mismatch', 'invalid_pin', 'card_locked'):
    FORM(api.simulate_authorization, **{**COFFEE, 'card_id': THIRD, 'decline_reason': reason})
""",
    ),
    (
        "purchases-2",
        "bulk",
        """
BULK(api.simulate_authorization, *({**COFFEE, 'card_id': THIRD.upper(), 'decline_reason': reason}
    for reason in ('cvv_mismatch', 'invalid_pin', 'blocked_mcc')))
""",
    ),
    (
        "purchases-2",
        "sequence",
        """
SEQUENCE(*(step(f'no-{number}', 'simulate_authorization', **{**COFFEE, 'card_id': THIRD, 'decline_reason': reason})
    for number, reason in enumerate(('cvv_mismatch', 'invalid_pin', 'blocked_mcc'))))
""",
    ),
    (
        "purchases-2",
        "terminal",
        """
for reason in ('cvv_mismatch', 'restricted_country', 'blocked_mcc'):
    TERMINAL('transactions', 'authorize', **{**COFFEE, 'card_id': THIRD, 'decline_reason': reason})
""",
    ),
    (
        "webhooks-1",
        "method",
        """
with wb.Inbox(keys=[api.sandbox.full_key]) as mine, mine.serve() as url:
    api.sandbox.register_endpoint(url)
    api.sandbox.deposit(amount='0.45')
    api.sandbox.flush(timeout=60)
wb.course.answer('webhooks-1', event=api.inbox.events('microDeposit.received')[-1].id)
""",
    ),
    (
        "webhooks-1",
        "sequence",
        """
SEQUENCE(step('deposit', 'deposit', amount='0.45'))
api.inbox.wait('microDeposit.received', timeout=30)
wb.course.answer('webhooks-1', event=api.inbox.events('microDeposit.received')[-1].id)
""",
    ),
    (
        "webhooks-1",
        "terminal",
        """
TERMINAL('sandbox', 'deposit', amount='0.45')
api.inbox.wait('microDeposit.received', timeout=30)
wb.course.answer('webhooks-1', event=api.inbox.events('microDeposit.received')[-1].id)
""",
    ),
    (
        "webhooks-2",
        "method",
        """
with inbox.serve() as url:
    api.sandbox.register_endpoint(url)
    api.sandbox.add_fault('bad_signature', times=1)
    api.sandbox.deposit(amount='0.11')
    api.sandbox.flush(timeout=60)
api.sandbox.clear_faults()
""",
    ),
    (
        "webhooks-2",
        "form",
        """
with inbox.serve() as url:
    api.sandbox.register_endpoint(url)
    api.sandbox.add_fault('bad_signature', of='transaction.created')
    FORM(api.simulate_authorization, **COFFEE)
    api.sandbox.flush(timeout=60)
""",
    ),
    (
        "webhooks-2",
        "terminal",
        """
with inbox.serve() as url:
    TERMINAL('sandbox', 'register-endpoint', url)
    TERMINAL('sandbox', 'add-fault', 'bad_signature', times=1)
    TERMINAL('sandbox', 'deposit', amount='0.11')
    api.sandbox.flush(timeout=60)
""",
    ),
    (
        "disputes-1",
        "method",
        """
api.update_dispute(dispute_id=guide['disputes']['pending'][1].upper(), status='canceled', text_evidence='Refunded.')
""",
    ),
    (
        "disputes-1",
        "form",
        """
FORM(api.update_dispute, dispute_id=guide['disputes']['pending'][1], status='canceled', text_evidence='Refunded.')
""",
    ),
    (
        "disputes-1",
        "bulk",
        """
BULK(api.update_dispute, {'dispute_id': guide['disputes']['pending'][1], 'status': 'canceled', 'text_evidence': 'Refunded.'})
""",
    ),
    (
        "disputes-1",
        "terminal",
        """
second = guide['disputes']['pending'][1]
TERMINAL('disputes', 'update', dispute_id=second, text_evidence='The merchant wrote that it will refund.')
TERMINAL('disputes', 'update', dispute_id=second, status='canceled', text_evidence='Refunded.')
""",
    ),
    (
        "applications-1",
        "form",
        """
user = FORM(api.create_user_application, **{**ada, 'last_name': 'testingNeedsVerification'}, is_terms_of_service_accepted=True)
api.sandbox.review(user.id, 'denied', reason='FORGERY')
""",
    ),
    (
        "applications-1",
        "bulk",
        """
filed = BULK(api.create_user_application, {**ada, 'last_name': 'testingNeedsVerification'})
api.sandbox.review(filed[0].id.upper(), 'denied')
""",
    ),
    (
        "applications-1",
        "terminal",
        """
flat = {**ada, **{f'address.{name}': value for name, value in ada['address'].items()}}
del flat['address']
TERMINAL('users', 'create', **{**flat, 'last_name': 'testingNeedsVerification'})
TERMINAL('sandbox', 'review', api.sandbox.events()[-1].payload['body']['id'], 'denied')
""",
    ),
    (
        "applications-2",
        "form",
        """
user = FORM(api.create_user_application, sumsub_share_token='token-0001', is_terms_of_service_accepted=True, **PROFILE)
api.sandbox.review(user.id, 'tosNotAccepted')
api.sandbox.review(user.id, 'approved')
""",
    ),
    (
        "applications-2",
        "bulk",
        """
user = BULK(api.create_user_application, {'sumsub_share_token': 'token-0001', **PROFILE})[0].id
api.sandbox.review(user, 'tosNotAccepted')
api.sandbox.accept_terms(user)
""",
    ),
    (
        "applications-2",
        "sequence",
        """
SEQUENCE(step('file', 'create_user_application', sumsub_share_token='token-0001', **PROFILE),
    step('terms', 'review', user_or_owner_id=ref('file.id'), status='tosNotAccepted'),
    step('accept', 'accept_terms', user_id=ref('file.id')))
""",
    ),
    (
        "applications-2",
        "terminal",
        """
TERMINAL('users', 'create', sumsub_share_token='token-0001', **PROFILE)
user = api.sandbox.events()[-1].payload['body']['id']
TERMINAL('sandbox', 'review', user, 'tosNotAccepted')
TERMINAL('sandbox', 'accept-terms', user)
""",
    ),
    (
        "people-1",
        "method",
        """
api.update_ubo(company_id=guide['companies'][0]['id'].upper(), ubo_id=DENIED.upper(), address=MOVED)
api.sandbox.advance(minutes=5)
""",
    ),
    (
        "people-1",
        "form",
        """
FORM(api.update_ubo, company_id=guide['companies'][0]['id'], ubo_id=DENIED, address=MOVED)
""",
    ),
    (
        "people-1",
        "bulk",
        """
BULK(api.update_ubo, {'company_id': guide['companies'][0]['id'], 'ubo_id': DENIED, 'address': MOVED})
""",
    ),
    (
        "people-1",
        "terminal",
        """
TERMINAL('users', 'update-owner', company_id=guide['companies'][0]['id'], ubo_id=DENIED,
    **{f'address.{name}': value for name, value in MOVED.items()})
""",
    ),
    (
        "people-2",
        "method",
        """
api.create_payment_account(type='externalFiatAccount', user_id=guide['users']['approved'][0].upper(),
    external_fiat_account=BUSINESS)
""",
    ),
    (
        "people-2",
        "form",
        """
FORM(api.create_payment_account, type='externalFiatAccount', user_id=guide['users']['approved'][0],
    external_fiat_account=BUSINESS)
""",
    ),
    (
        "people-2",
        "bulk",
        """
BULK(api.create_payment_account, {'type': 'externalFiatAccount', 'user_id': guide['users']['approved'][0],
    'external_fiat_account': BUSINESS})
""",
    ),
    (
        "people-2",
        "sequence",
        """
SEQUENCE(step('account', 'create_payment_account', type='externalFiatAccount', user_id=guide['users']['approved'][0],
    external_fiat_account=BUSINESS))
""",
    ),
    (
        "rewards-1",
        "form",
        """
FORM(api.list_rewards_activity, user_id=guide['rewards_users'][0]['id'], type='redeemed', limit=5, offset=10)
""",
    ),
    (
        "rewards-1",
        "sequence",
        """
SEQUENCE(step('third', 'list_rewards_activity', user_id=guide['rewards_users'][0]['id'], type='redeemed', limit=5, offset=10))
""",
    ),
    (
        "rewards-1",
        "terminal",
        """
TERMINAL('rewards', 'list', user_id=guide['rewards_users'][0]['id'].upper(), type='redeemed', limit=5, offset=10)
""",
    ),
    (
        "rewards-2",
        "method",
        """
user = next(one['id'] for one in guide['rewards_users'] if one['beyond_paging'])
total = 0
for kind in ('earned', 'redeemed'):
    count = 0
    while items := api.list_rewards_activity(user_id=user, type=kind, limit=100, offset=count).items:
        count += len(items)
    total += count
wb.course.answer('rewards-2', total)
""",
    ),
    (
        "rewards-2",
        "method",
        """
read = wb.rewards.fetch(api, [next(one['id'] for one in guide['rewards_users'] if one['beyond_paging'])], progress=False)
wb.course.answer('rewards-2', items=len(wb.to_frame(read)))
""",
    ),
    (
        "rewards-2",
        "sequence",
        """
user = next(one['id'] for one in guide['rewards_users'] if one['beyond_paging'])
total = 0
for kind in ('earned', 'redeemed'):
    run = SEQUENCE(*(step(f'page-{offset}', 'list_rewards_activity', user_id=user, type=kind, limit=100, offset=offset)
        for offset in range(0, 10_001, 100)))
    total += sum(len(page.answer.items) for page in run.steps)
wb.course.answer('rewards-2', total)
""",
    ),
    (
        "rewards-2",
        "terminal",
        """
from pathlib import Path
user = next(one['id'] for one in guide['rewards_users'] if one['beyond_paging'])
count = sum(len(wb.to_frame(wb.rewards.fetch(api, [user], type=kind, progress=False))) for kind in ('earned', 'redeemed'))
TERMINAL('course', 'answer', 'rewards-2', set=f'items={count}')
""",
    ),
    (
        "sequences-1",
        "sequence",
        """
text = Sequence(name='twice', steps=(
    step('buy', 'simulate_authorization', **{**COFFEE, 'amount': 3000}),
    step('settle', 'settle', transaction_id=ref('buy.transaction_id')),
    step('one', 'simulate_refund', transaction_id=ref('buy.transaction_id'), amount=1000),
    step('two', 'simulate_refund', transaction_id=ref('buy.transaction_id'), amount=1000))).to_toml()
wb.sequences.run(api, wb.sequences.from_toml(text))
""",
    ),
    (
        "sequences-1",
        "method",
        """
stepper = wb.sequences.Stepper(api, Sequence(name='twice', steps=(
    step('buy', 'simulate_authorization', **{**COFFEE, 'amount': 3000}),
    step('settle', 'settle', transaction_id=ref('buy.transaction_id')),
    step('one', 'simulate_refund', transaction_id=ref('buy.transaction_id'), amount=1000),
    step('two', 'simulate_refund', transaction_id=ref('buy.transaction_id'), amount=1000))))
while stepper.left:
    stepper.next()
""",
    ),
    (
        "sequences-1",
        "terminal",
        """
import tempfile, pathlib
file = pathlib.Path(tempfile.mkdtemp()) / 'twice.toml'
file.write_text(Sequence(name='twice', steps=(
    step('buy', 'simulate_authorization', **{**COFFEE, 'amount': 3000}),
    step('settle', 'settle', transaction_id=ref('buy.transaction_id')),
    step('one', 'simulate_refund', transaction_id=ref('buy.transaction_id'), amount=1000),
    step('two', 'simulate_refund', transaction_id=ref('buy.transaction_id'), amount=1000))).to_toml())
TERMINAL('sequences', 'run', str(file))
""",
    ),
    (
        "sequences-2",
        "method",
        """
stepper = wb.sequences.Stepper(api, wb.sequences.catalogue['a-bad-day'])
while stepper.left:
    stepper.next()
""",
    ),
    (
        "sequences-2",
        "sequence",
        """
wb.sequences.run(api, wb.sequences.from_toml(wb.sequences.catalogue['a-bad-day'].to_toml()))
""",
    ),
    (
        "sequences-2",
        "terminal",
        """
TERMINAL('sequences', 'run', 'a-bad-day')
""",
    ),
    (
        "breaking-1",
        "method",
        """
api.sandbox.add_fault('closed', of='simulate_refund', times=1)
try:
    api.simulate_refund(transaction_id=shop.transaction_id, amount=500)
except wb.OutcomeUnknown as error:
    api.journal.resolve(error.attempt.id, 'not_sent')
    api.simulate_refund(transaction_id=shop.transaction_id, amount=500)
wb.course.answer('breaking-1', carried_out='no')
""",
    ),
    (
        "breaking-1",
        "form",
        """
api.sandbox.add_fault('lost', of='simulate_refund', times=1)
try:
    FORM(api.simulate_refund, transaction_id=shop.transaction_id, amount=500)
except wb.OutcomeUnknown:
    pass
api.journal.resolve(api.journal.unknown()[-1].id, 'done')
wb.course.answer('breaking-1', carried_out='yes')
""",
    ),
    (
        "breaking-1",
        "bulk",
        """
api.sandbox.add_fault('lost', of='simulate_refund', times=1)
BULK(api.simulate_refund, {'transaction_id': shop.transaction_id, 'amount': 500})
api.journal.resolve(api.journal.unknown()[-1].id, 'done')
wb.course.answer('breaking-1', carried_out='yes')
""",
    ),
    (
        "contracts-1",
        "method",
        """
from contextlib import suppress
with suppress(wb.errors.Forbidden), wb.Client(base_url=guide['base_url'],
        api_key=guide['api_keys']['no corporate cards'], transport=api.sandbox.transport()) as other:
    other.list_contracts()
""",
    ),
    (
        "contracts-1",
        "method",
        """
other = wb.Client(base_url=guide['base_url'], api_key=guide['api_keys']['no corporate cards'],
    transport=api.sandbox.transport())
try:
    other.list_contracts()
except wb.ApiError:
    pass
""",
    ),
    (
        "contracts-1",
        "bulk",
        """
other = wb.Client(base_url=guide['base_url'], api_key=guide['api_keys']['no corporate cards'],
    transport=api.sandbox.transport())
for _ in range(2):
    try:
        wb.to_frame(other.list_contracts())
    except wb.errors.Forbidden as refusal:
        assert refusal.status == 403
""",
    ),
    (
        "contracts-1",
        "terminal",
        """
TERMINAL('contracts', 'list', tenant='no corporate cards', code=3)
""",
    ),
    (
        "contracts-2",
        "method",
        """
api.sign_withdrawal(**{**GOLD, 'token': GOLD['token'].lower()}, admin_address=admin.lower(),
    recipient_address=to.lower(), collateral_contract_id=contract.id)
""",
    ),
    (
        "contracts-2",
        "method",
        """
gold = contract.tokens[1]
wb.withdrawals.plan(api, contract, token=gold.address, amount=wb.withdrawals.native_units(10**6), admin=admin, to=to,
    decimals=6).sign()
""",
    ),
    (
        "contracts-2",
        "form",
        """
FORM(api.sign_withdrawal, **GOLD, admin_address=admin, recipient_address=to)
""",
    ),
    (
        "contracts-2",
        "terminal",
        """
TERMINAL('withdrawals', 'sign', **GOLD, admin_address=admin, recipient_address=to)
""",
    ),
    (
        "withdrawals-1",
        "method",
        """
plan = wb.withdrawals.plan(api, contract, token=token, amount=wb.withdrawals.native_units(40 * 10**6), admin=admin, to=to, decimals=6)
withdrawal = plan.sign()

message = withdrawal.typed_data(nonce=api.sandbox.guide()['contracts'][0]['nonce'])
half = message.accept(api.sandbox.wallet(admin).sign(message))
api.sandbox.execute(withdrawal.transaction(half, direct_transfer=True))
""",
    ),
    (
        "withdrawals-1",
        "terminal",
        """
TERMINAL('withdrawals', 'sign', chain_id=contract.chain_id, token=token, amount='4000', is_amount_native=False,
    admin_address=admin, recipient_address=to, collateral_contract_id=contract.id)

plan = wb.withdrawals.plan(api, contract, token=token, amount=wb.withdrawals.usd('40.00'), admin=admin, to=to, decimals=6)
withdrawal = plan.sign()

message = withdrawal.typed_data(nonce=api.sandbox.guide()['contracts'][0]['nonce'])
half = message.accept(api.sandbox.wallet(admin).sign(message))
api.sandbox.execute(withdrawal.transaction(half, direct_transfer=True))
""",
    ),
    (
        "withdrawals-1",
        "method",
        """
plan = wb.withdrawals.plan(api, contract, token=token, amount=wb.withdrawals.usd('25.00'), admin=admin, to=to, decimals=6)
withdrawal = plan.sign()

message = withdrawal.typed_data(nonce=api.sandbox.guide()['contracts'][0]['nonce'])
half = message.accept(api.sandbox.wallet(admin).sign(message))
api.sandbox.execute(withdrawal.transaction(half, direct_transfer=True))

wb.course.task('withdrawals-1')
plan = wb.withdrawals.plan(api, contract, token=token, amount=wb.withdrawals.usd('40.00'), admin=admin, to=to, decimals=6)
withdrawal = plan.sign()

message = withdrawal.typed_data(nonce=api.sandbox.guide()['contracts'][0]['nonce'])
half = message.accept(api.sandbox.wallet(admin).sign(message))
api.sandbox.execute(withdrawal.transaction(half, direct_transfer=True))
""",
    ),
    (
        "withdrawals-2",
        "method",
        """
api.sandbox.pending_first(times=2, retry_after=1)
for _ in range(3):
    PLAN().sign()
""",
    ),
    (
        "withdrawals-2",
        "form",
        """
api.sandbox.pending_first(times=2, retry_after=1)
for _ in range(3):
    FORM(api.sign_withdrawal, chain_id=contract.chain_id, token=token, amount='1100', is_amount_native=False,
        admin_address=admin, recipient_address=to)
""",
    ),
    (
        "withdrawals-2",
        "terminal",
        """
TERMINAL('sandbox', 'pending-first', times=2, retry_after=1)
for _ in range(3):
    TERMINAL('withdrawals', 'sign', chain_id=contract.chain_id, token=token, amount='1100', is_amount_native=False,
        admin_address=admin, recipient_address=to)
""",
    ),
    (
        "production-1",
        "method",
        """
production.arm(operations=['update_user'], minutes=1, reason='sign_withdrawal is not meant')
production.update_user(user_id=guide['users']['approved'][3].upper(), phone_country_code='1', phone_number='5550142')
production.disarm()
""",
    ),
    (
        "production-1",
        "bulk",
        """
production.arm(operations='update_user', minutes=10, reason='a new phone')
BULK(production.update_user, {'user_id': guide['users']['approved'][3], 'phone_country_code': '1', 'phone_number': '5550142'},
    confirm='1 row')
production.disarm()
""",
    ),
    (
        "production-1",
        "method",
        """
production.arm(operations={'update_user'}, minutes=5, reason='mistyped')
production.disarm()
production.arm(operations={'update_user'}, minutes=5, reason='a new phone')
production.update_user(user_id=guide['users']['approved'][3], phone_number='5550142', phone_country_code='1')
production.disarm()
""",
    ),
    (
        "start-1",
        "method",
        """
shop = api.simulate_authorization(**{**COFFEE, 'merchant_name': 'Example Bistro', 'merchant_category_code': '5812'})
api.sandbox.settle(shop.transaction_id)
""",
    ),
    (
        "breaking-1",
        "method",
        """
api.sandbox.add_fault('reset', of='simulate_refund', times=1)
refund = {'transaction_id': shop.transaction_id, 'amount': 500}
try:
    api.simulate_refund(**refund)
except wb.OutcomeUnknown as error:
    api.journal.resend(error.attempt.id, refund, accept_double=True)
wb.course.answer('breaking-1', carried_out='no')
""",
    ),
    (
        "webhooks-1",
        "method",
        """
amounts = []
api.inbox.on('microDeposit.received')(lambda event: amounts.append(event.body.amount))
api.sandbox.deposit(amount='0.45')
api.inbox.wait('microDeposit.received', timeout=30)
wb.course.answer('webhooks-1', event=api.inbox.events('microDeposit.received')[-1].id)
""",
    ),
    (
        "webhooks-2",
        "sequence",
        """
with inbox.serve() as url:
    api.sandbox.register_endpoint(url)
    api.sandbox.add_fault('bad_signature', times=1)
    SEQUENCE(step('deposit', 'deposit', amount='0.11'))
    api.sandbox.flush(timeout=60)
""",
    ),
    (
        "applications-1",
        "sequence",
        """
SEQUENCE(step('file', 'create_user_application', **{**ada, 'last_name': 'testingNeedsVerification'}),
    step('deny', 'review', user_or_owner_id=ref('file.id'), status='denied'))
""",
    ),
    (
        "rewards-1",
        "method",
        """
page, size = 3, 5
user = guide['rewards_users'][0]['id']
wb.to_frame(api.list_rewards_activity(user_id=user, type='redeemed', limit=size, offset=(page - 1) * size))
""",
    ),
    (
        "sequences-1",
        "sequence",
        """
import tempfile, pathlib
twice = Sequence(name='twice', steps=(
    step('buy', 'simulate_authorization', **{**COFFEE, 'amount': 3000}),
    step('settle', 'settle', transaction_id=ref('buy.transaction_id')),
    step('one', 'simulate_refund', transaction_id=ref('buy.transaction_id'), amount=1000),
    step('two', 'simulate_refund', transaction_id=ref('buy.transaction_id'), amount=1000)))
wb.sequences.run(api, twice, path=pathlib.Path(tempfile.mkdtemp()) / 'twice.db')
""",
    ),
    (
        "sequences-2",
        "sequence",
        """
for name in ('a-good-day', 'a-bad-day'):
    if name in wb.sequences.catalogue:
        wb.sequences.run(api, wb.sequences.catalogue[name])
""",
    ),
    (
        "withdrawals-1",
        "form",
        """
FORM(api.sign_withdrawal, chain_id=contract.chain_id, token=token, amount='40000000', is_amount_native=True,
    admin_address=admin, recipient_address=to, collateral_contract_id=contract.id)
plan = wb.withdrawals.plan(api, contract, token=token, amount=wb.withdrawals.usd('40.00'), admin=admin, to=to, decimals=6)
withdrawal = plan.sign()
message = withdrawal.typed_data(nonce=api.sandbox.guide()['contracts'][0]['nonce'])
half = message.accept(api.sandbox.wallet(admin).sign(message))
api.sandbox.execute(withdrawal.transaction(half, direct_transfer=True))
""",
    ),
    (
        "withdrawals-2",
        "method",
        """
api.sandbox.pending_first(times=2, retry_after=1)
while api.sign_withdrawal(chain_id=contract.chain_id, token=token, amount='1100', is_amount_native=False,
        admin_address=admin, recipient_address=to).status == 'pending':
    api.sandbox.advance(seconds=1)
""",
    ),
    (
        "production-1",
        "form",
        """
production.arm(operations={'update_user'}, minutes=5, reason='a new phone')
FORM(production.update_user, user_id=guide['users']['approved'][3], phone_country_code='1', phone_number='5550142')
production.disarm()
""",
    ),
    (
        "applications-3",
        "method",
        """
users = [api.create_user_application(**person) for person in reversed(nested)]
api.update_user(user_id=users[1].id.upper(), **PHONE)
""",
    ),
    (
        "applications-3",
        "form",
        """
users = [FORM(api.create_user_application, **person, is_terms_of_service_accepted=True) for person in nested]
FORM(api.update_user, user_id=users[1].id, **PHONE)
""",
    ),
    (
        "applications-3",
        "bulk",
        """
users = BULK(api.create_user_application, *flat)
BULK(api.update_user, {'user_id': users[1].id, **PHONE})
""",
    ),
    (
        "applications-3",
        "sequence",
        """
SEQUENCE(*(step(person['external_id'], 'create_user_application', **person) for person in nested),
    step('phone', 'update_user', user_id=ref('desk-2.id'), **PHONE))
""",
    ),
    (
        "applications-3",
        "terminal",
        """
for person in flat:
    TERMINAL('users', 'create', **person)
    if person['external_id'] == 'desk-2':
        TERMINAL('users', 'update', user_id=api.sandbox.events()[-1].payload['body']['id'], **PHONE)
""",
    ),
    (
        "sequences-1",
        "method",
        """
made = api.simulate_authorization(**{**COFFEE, 'amount': 3000})
api.sandbox.settle(made.transaction_id)
for _ in range(2):
    api.simulate_refund(transaction_id=made.transaction_id, amount=1000)
""",
    ),
    (
        "start-1",
        "method",
        """
shop = api.simulate_authorization(**{**COFFEE, 'merchant_name': 'Bean & Leaf', 'merchant_category_code': '5814'})
api.sandbox.advance(days=2)
api.sandbox.settle(shop.transaction_id)
""",
    ),
    (
        "start-1",
        "method",
        """
api.sandbox.cards.lock(THIRD)
api.sandbox.cards.unlock(THIRD)
shop = api.simulate_authorization(**COFFEE)
api.sandbox.settle(shop.transaction_id)
""",
    ),
    (
        "start-1",
        "method",
        """
api.simulate_authorization(**{**COFFEE, 'amount': 42})
wb.course.task('start-1')
shop = api.simulate_authorization(**COFFEE)
api.sandbox.settle(shop.transaction_id)
""",
    ),
    (
        "purchases-1",
        "method",
        """
stay = api.simulate_authorization(**{**COFFEE, 'amount': 20000})
api.simulate_reversal(transaction_id=stay.transaction_id, new_amount=18000)
api.simulate_reversal(transaction_id=stay.transaction_id, new_amount=15000)
api.sandbox.settle(stay.transaction_id)
for cents in (1000, 1500):
    api.simulate_refund(transaction_id=stay.transaction_id, amount=cents)
""",
    ),
    (
        "people-1",
        "method",
        """
address = {**MOVED, 'line1': '4  EXAMPLE STREET', 'city': 'SPRINGFIELD'}
api.update_ubo(company_id=guide['companies'][0]['id'], ubo_id=DENIED, address=address)
""",
    ),
    (
        "disputes-1",
        "method",
        """
api.update_dispute(dispute_id=guide['disputes']['pending'][1], status='canceled', text_evidence='The merchant has refunded it; see the attached letter.')
""",
    ),
    (
        "rewards-1",
        "method",
        """
for offset in (0, 5, 10):
    api.list_rewards_activity(user_id=guide['rewards_users'][0]['id'], type='redeemed', limit=5, offset=offset)
""",
    ),
    (
        "webhooks-1",
        "method",
        """
api.sandbox.deposit(amount='0.45')
event = api.inbox.wait('microDeposit.received', timeout=30)
wb.course.answer('webhooks-1', event=event.id.upper())
""",
    ),
]
