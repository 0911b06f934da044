"""Names of earlier versions and their replacements. CHANGELOG.md shows the same as a table."""

from collections.abc import Callable, Mapping
from typing import NoReturn

RENAMED: Mapping[str, str] = {
    # names of wb and its namespaces
    "wb.compare": "wb.compare_behavior(a, b), or wb.compare_records(a, b) for stored records",
    "wb.reports.movers": "wb.reports.monthly_changes",
    "wb.charts.movers_chart": "wb.charts.monthly_changes_chart",
    "wb.tables.to_frame": "wb.to_frame",
    "wb.tables.export": "wb.to_file",
    "wb.tables.load": "wb.tables.read_parquet",
    "wb.export": "wb.to_file",
    "wb.bulk.load": "wb.bulk.read_rows",
    "wb.events.read": "wb.events.read_log",
    "wb.rewards.read": "wb.rewards.fetch",
    "wb.testing.export": "wb.testing.to_text",
    "wb.sequences.dumps": "sequence.to_toml()",
    "wb.sequences.load": "wb.sequences.read_toml",
    "wb.sequences.loads": "wb.sequences.from_toml",
    "wb.sequences.run_async": "await wb.sequences.run(api, sequence)",
    "wb.sequences.guide": 'wb.sequences.ref("guide.cards.active")',
    "{ guide = … }": '{ ref = "guide.cards.active" }',
    "wb.reports.micro_deposits": 'wb.to_frame(events, of="microDeposit.received", reveal={"amount"})',
    "wb.course.use": 'wb.course.begin("06", api)',
    **{
        f"wb.tables.{name}": f"wb.reports.{name}"
        for name in (
            "applications",
            "approvals",
            "cohorts",
            "contract_values",
            "declines",
            "deliveries",
            "disputes",
            "posting_times",
            "record_balances",
            "spend",
            "spend_funnel",
            "status_history",
            "time_in_status",
            "transactions",
        )
    },
    "wb.tables.contract_totals": "wb.reports.contract_values",
    "wb.tables.micro_deposits": 'wb.to_frame(events, of="microDeposit.received", reveal={"amount"})',
    "wb.tables.movers": "wb.reports.monthly_changes",
    "wb.tables.reasons": "the column reasons of wb.reports.status_history",
    "wb.tables.rewards_from_pages": "wb.rewards.fetch",
    "wb.tables.Events": "wb.events.read_log",
    "wb.tables.Rewards": "wb.rewards.Rewards",
    "wb.rewards.liability": "wb.reports.liability",
    "wb.rewards.outstanding": "wb.reports.outstanding",
    **{f"wb.{name}.panel": f"wb.panel.{name}" for name in ("bulk", "rewards")},
    "wb.sequences.panel": "wb.panel.sequence",
    "wb.withdrawals.countdown": "wb.panel.countdown",
    "wb.sequences.export": "wb.testing.to_text",
    **{f"wb.sequences.{name}": f"wb.testing.{name}" for name in ("from_journal", "traffic")},
    "wb.sequences.evidence": "wb.learn",
    "wb.sequences.problems": "wb.sequences.run, whose error has all problems",
    "wb.sequences.Step": "wb.sequences.step",
    "wb.sequences.Parameter": "wb.sequences.param",
    "wb.charts.endpoints_chart": "wb.charts.deliveries_chart",
    "wb.course.DRILLS": "`workbench course drills`",
    "wb.course.exercises": "wb.course.progress",
    "wb.chains": "the package workbench.chains",
    "wb.chaos": "wb.testing.explore",
    "wb.frame": "wb.to_frame",
    "wb.save": "wb.to_file",
    "wb.read_rewards": "wb.rewards.fetch",
    "wb.tables.read_rewards": "wb.rewards.fetch",
    "wb.read_events": "wb.events.read_log",
    "wb.sample_event": "wb.events.sample",
    "wb.apply": "wb.bulk.run",
    "wb.runs": "wb.bulk",
    "wb.resume": "wb.bulk.resume",
    "wb.load_bodies": "wb.bulk.read_rows",
    "wb.run": "wb.sequences.run",
    "wb.sequences.run_kept": "wb.sequences.run(api, sequence, path=path)",
    "wb.play": "wb.panel.sequence",
    "wb.cents": "wb.withdrawals.usd",
    "wb.native": "wb.withdrawals.native_units",
    "wb.countdown": "wb.panel.countdown",
    "wb.from_wire": "api.from_wire(operation, body)",
    "wb.verify_assumptions": "api.verify_assumptions()",
    "wb.NothingArrived": "wb.errors.EventTimeout",
    "wb.bulk.Held": "wb.errors.FileBusy",
    "wb.tables.cumulated": "wb.tables.cumsum",
    **{f"wb.tables.{name}": "a method of the pandas column" for name in ("total", "grouped", "mean", "added")},
    **{f"wb.tables.{name}": 'column.astype("Float64"), then pandas' for name in ("describe", "quantile", "floats")},
    "wb.chains.check": "workbench.chains.address_problems",
    "wb.chains.octets": "workbench.chains.read_bytes",
    "wb.chains.assurance": "workbench.chains.checksum_note",
    "wb.chains.is_zero": "workbench.chains.is_zero_address",
    "wb.chains.look_alike": "workbench.chains.similar_addresses",
    # members of a session
    "api.events": "api.inbox.events()",
    "api.guide": "api.sandbox.guide()",
    "api.wires": "api.converter",
    "journal.find": "journal.list(outcome=…)",
    "journal.filter": "journal.list(outcome=…)",
    "journal.send_again": "journal.resend",
    "entry.end": "entry.outcome",
    "inbox.kept": "inbox.stored",
    "inbox.at_work": "inbox.running()",
    # members of results
    "comparison.same": "comparison.ok",
    "check.done": "check.ok",
    "row.end": "row.outcome",
    "row.said": "row.message",
    "listing.export": "listing.to_file(path)",
    "dashboard.export": 'wb.to_file(dashboard, "june.html")',
    "failure.export": "failure.to_pytest(path, application)",
    "message.json": "message.to_json()",
    "message.save": "message.to_json(path)",
    "plan.says": "plan.summary",
    "plan.reading": "plan.amount_text",
    "plan.needs_typing": "plan.needs_confirmation",
    "withdrawal.says": "withdrawal.summary",
    "explanation.says": "explanation.summary",
    "form.ways": "form.snippets",
    "form.button": "form.view.button",
    "rewards.told": "rewards.summaries",
    "rewards.take": "rewards.update(later)",
    "journal.export": "wb.to_frame(journal.list())",
    # controls of a sandbox
    **{
        f"sandbox.create_{kind}": f"sandbox.create.{kind}"
        for kind in ("tenant", "key", "user", "company", "contract", "payment_route")
    },
    **{f"sandbox.{action}_card": f"sandbox.cards.{action}" for action in ("activate", "lock", "unlock", "cancel")},
    "sandbox.issue_card": "sandbox.create.card",
    "sandbox.enable_endpoint": "sandbox.update_endpoint(id, enabled=True)",
    "sandbox.rotate_signing_key": "sandbox.update_endpoint(id, signing_key=…)",
    "sandbox.wallet_address": "sandbox.wallet(admin).address",
    "sandbox.wallet_sign": "sandbox.wallet(admin).sign(data)",
    "sandbox.settle_after": 'behavior={"settle_by_clock": …}',
    "sandbox.url": "sandbox.share()",
    "sandbox.subscribe": "api.inbox, or sandbox.register_endpoint(url)",
    # commands
    "workbench list-contracts": "workbench contracts list",
    "workbench simulate-authorization": "workbench transactions authorize",
    "workbench simulate-reversal": "workbench transactions reverse",
    "workbench simulate-refund": "workbench transactions refund",
    "workbench update-user": "workbench users update",
    "workbench create-user-application": "workbench applications create",
    "workbench update-ubo": "workbench applications update-owner",
    "workbench create-payment-account": "workbench payment-accounts create",
    "workbench delete-payment-account": "workbench payment-accounts delete",
    "workbench update-dispute": "workbench disputes update",
    "workbench list-rewards-activity": "workbench rewards list",
    "workbench sign-withdrawal": "workbench withdrawals sign",
    "workbench listen": "workbench events listen",
    "workbench trigger": "workbench events trigger",
    "workbench watch": "workbench events watch",
    "workbench logs": "workbench events tail",
    "workbench chaos": "workbench test http",
    "workbench run": "workbench sequences run",
    "workbench compare": "workbench sequences compare",
    "workbench drill": "workbench course",
    "workbench lab": "workbench course lab",
    "workbench chart": "workbench report chart",
    "workbench dashboard": "workbench report dashboard",
    "workbench arm": "workbench profiles arm",
    "workbench assumptions": "workbench docs assumptions",
    "workbench skeleton": "workbench docs skeleton",
    "workbench doctor": "workbench setup check",
    "workbench config": "workbench setup config",
    "workbench completion": "workbench setup completion",
    "workbench mcp": "workbench agent serve",
    "workbench apply": "workbench bulk run",
    "workbench resume": "workbench bulk resume",
    "workbench events listen --within": "--timeout",
    "workbench sandbox serve --profile": "--behavior",
    "workbench sandbox serve --webhooks-outside": "--public-webhooks",
    "workbench journal list --end": "--outcome",
    "workbench docs assumptions --known": "--confidence",
    "workbench sandbox register-endpoint --for-url": "--endpoint-url",
    "workbench sandbox create-key --for-tenant": "--tenant-name",
    "workbench shell": "workbench sandbox shell",
    # arguments of functions
    "connect(code=)": 'the URL with the code: connect("https://class.example:8700/CODE")',
    "approvals(by=)": "freq=",
    "applications(by=)": "freq=",
    "points_chart(by=)": "freq=",
    "points_chart(cumulated=)": "cumulative=",
    "outstanding(group=)": "by=",
    "liability(by=)": "on=",
    "wait(within=)": "timeout=",
    "flush(within=)": "timeout=",
    "sign(wait=)": "timeout=",
    "register_endpoint(url=)": "endpoint_url=",
    "create_key(tenant=)": "tenant_name=",
    "connect(settings=)": "behavior={…}",
    "connect_async(settings=)": "behavior={…}",
    "Sandbox(settings=)": "behavior={…}",
    "Sandbox(profile=)": "behavior=",
    "Sandbox(webhooks_outside=)": "public_webhooks=",
    "connect(sandbox=)": "behavior=, path= and so on",
    "session(settings=)": "behavior={…}",
}


FORMER_TYPES: Mapping[str, str] = {
    "bulk": "Applied Outcome BulkResult Finding Findings Plan RowProblem RowResult",
    "course": "Board Checked Progress CheckResult CourseProgress DrillRun Exercise Hint Quiz QuizResult",
    "records": "AccountDetails Address BankingAddress BeneficiaryType CardLimit CreatePaymentAccount "
    "CreateUserApplication DeletePaymentAccount Deletion DisputeUpdateStatus ExternalFiatAccount Link LinkParams "
    "ListContracts ListRewardsActivity MicroDepositRail Onramp PaymentAccountType RewardType RewardsItem Role "
    "SignWithdrawal Signature SimulateAuthorization SimulateRefund SimulateReversal StatusChangeReason Token "
    "UpdateDispute UpdateUbo UpdateUser",
    "sequences": "Stage Done EventWanted Entry Evidence Expect ExpectedEvent Ledger Mix Run Runs StepResult Unbalanced",
    "tables": "Body ClusterRewards Saved",
    "withdrawals": "AdminMessage AdminSignature CallData Cents Explanation Native NativeUnits Plan Revealed "
    "Transaction Withdrawal",
}
"""Types that were public in earlier versions, by namespace."""


def renamed(name: str) -> str:
    """Return the replacement of a name of an earlier version as the end of a message; empty for other names."""
    _, _, rest = name.partition("wb.")
    space, _, member = rest.partition(".")
    if member in FORMER_TYPES.get(space, "").split():
        return "; since 0.3 the types of requests and results are private: call the function that takes or returns it"
    return f"; it is now {RENAMED[name]}" if name in RENAMED else ""


def former_members(article: str, name: str) -> Callable[[object, str], NoReturn]:
    """Return the `__getattr__` of a class: it names what replaced a member of an earlier version.

    Args:
        article: What precedes the name in a message: "a" or "an".
        name: An object of the class, as in `RENAMED`: "journal".
    """

    def refuse(self: object, member: str) -> NoReturn:
        shown = {"api": "session"}.get(name, name)
        message = f"{article} {shown} has no {member}{renamed(f'{name}.{member}')}"
        raise AttributeError(message, name=member, obj=self)

    return refuse
