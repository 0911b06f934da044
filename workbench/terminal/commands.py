"""Table of commands, and the first page of help. No command is imported here, to keep start-up fast."""

import os
import re
import shutil
import sys
import textwrap

from workbench.service.interface.naming import command_of
from workbench.service.interface.table import OPERATIONS as TABLE

OPERATIONS: dict[tuple[str, ...], str] = {command_of(row): name for name, row in TABLE.items()}
"""The operations by noun and verb."""


def _operations() -> dict[str, dict[str, str]]:
    """Return the commands of the operations, and of what belongs to their nouns."""
    nouns: dict[str, dict[str, str]] = {}
    for (noun, verb), name in OPERATIONS.items():
        nouns.setdefault(noun, {})[verb] = f"operations:{name}"
    nouns["rewards"]["read"] = "bulk:rewards"
    for name in ("plan", "verify", "typed_data", "transaction", "explain"):
        nouns["withdrawals"][kebab(name)] = f"withdrawals:{name}"
    return nouns


def kebab(name: str) -> str:
    """Return a name in kebab-case, as used on the command line."""
    return name.replace("_", "-")


COMMANDS: dict[str, dict[str, str]] = {
    **_operations(),
    "bulk": {"run": "bulk:run", "resume": "bulk:resume"},
    "sandbox": {
        "serve": "sandbox:serve",
        "reset": "sandbox:reset",
        "shell": "shell:shell",
        "agent": "shell:agent",
        "world": "learning:world",
        "advance": "sandbox:advance",
    },
    "corpus": {"add": "learning:add", "check": "learning:check", "learn": "learning:learn"},
    "events": {
        "list": "events:list_events",
        "resend": "events:resend",
        "listen": "events:listen",
        "trigger": "events:trigger",
    },
    "test": {"explore": "testing:explore", "http": "testing:http"},
    "sequences": {
        "list": "sequences:list_sequences",
        "show": "sequences:show_sequence",
        "check": "sequences:check",
        "run": "sequences:run",
    },
    "course": {
        "lab": "shell:lab",
        "tasks": "training:list_tasks",
        **{name: f"training:{name}" for name in ("start", "check", "answer", "hint")},
        **{name: f"training:{name}" for name in ("serve", "join", "leave", "board", "results", "add", "prepare")},
        "print": "training:print_",
    },
    "report": {"chart": "bulk:chart", "close": "shell:close", "dashboard": "shell:dashboard"},
    "journal": {
        "list": "journal:list_calls",
        "unknown": "journal:list_unknown",
        "resolve": "journal:resolve",
        "health": "journal:health",
    },
    "profiles": {
        "list": "journal:list_profiles",
        "show": "journal:show_profile",
        "check": "journal:check",
        "arm": "journal:arm",
        "config": "about:config",
    },
    "docs": {
        "": "about:docs",
        "assumptions": "about:list_assumptions",
        "skeleton": "about:skeleton",
        "completion": "application:completion",
        "agent": "about:agent",
    },
}
"""Module and function of each command by noun and verb; the empty verb is the noun alone. The controls of the sandbox
are added when the noun is used."""


def _help_line(noun: str) -> str:
    """Return the help line of a noun of operations: its verbs, or the line of its only operation."""
    verbs = COMMANDS[noun]
    only = {of: TABLE[name].doc for (of, _), name in OPERATIONS.items()}
    return f"{', '.join(verbs).capitalize()}." if verbs.keys() - {""} and len(verbs) > 1 else only[noun]


SECTIONS: dict[str, dict[str, str]] = {
    "Operations": {noun: _help_line(noun) for noun in dict.fromkeys(noun for noun, _ in OPERATIONS)},
    "Many calls": {"bulk": "Send one request for each row of a file, at most once each."},
    "Sandbox": {
        "sandbox": "Serve, reset and control the sandbox: settle, review, advance and more; open a shell.",
        "corpus": "Keep recorded traffic without its values; replay it; learn a behavior file from it.",
    },
    "Events": {"events": "List, receive and send events."},
    "Tests": {"test": "Explore your application in simulated universes, also behind HTTP."},
    "Sequences": {"sequences": "List, show, check and run sequences of calls."},
    "Training": {"course": "Open the course, solve its tasks; serve or join a class, and export its results."},
    "Reports": {"report": "Close a month; draw a chart, or write a dashboard, into a file."},
    "Journal and profiles": {
        "journal": "List calls with an effect, and resolve unknown outcomes.",
        "profiles": "List, show, check and arm connection profiles; check this installation; show its variables.",
    },
    "Help": {
        "docs": "Print the rules of an operation or a kind of event, example bodies, assumptions, a completion script, "
        "or a guide for coding agents.",
    },
}
"""Commands by section, with their help line."""

HELP = {noun: line for lines in SECTIONS.values() for noun, line in lines.items()}

_LAST = """\
`workbench COMMAND --help` shows what a command takes, and `workbench --version` the version.

Commands act on your own sandbox, kept in a file, so each command sees the effects of earlier ones. Use --fresh for a
new sandbox in memory, --url URL for a served one and --profile NAME for a real service.

Exit codes: 0 done, 2 wrong input, 3 refused, 4 outcome unknown, 5 partly done, 6 not sent."""


def first_page() -> str:
    """Return the first page of help at terminal width, in ASCII."""
    terminal = sys.stdout.isatty()
    width = max(40, min(140, shutil.get_terminal_size((100, 24)).columns)) if terminal else 100
    bold = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") != "dumb"
    parts = ["Usage: workbench COMMAND\n\nA workbench for a card issuing API."]
    for section, rows in SECTIONS.items():
        head = f"\033[1m{section}\033[0m" if bold else section
        parts.append("\n".join([head, *(_row(name, doc, width) for name, doc in rows.items())]))
    return "\n\n".join([*parts, *(textwrap.fill(text, width) for text in _LAST.split("\n\n"))])


def _row(name: str, doc: str, width: int) -> str:
    return textwrap.fill(doc, width, initial_indent=f"  {name:<18}", subsequent_indent=" " * 20)


# examples of commands

_EXAMPLES = {
    "profiles arm": 'workbench profiles arm update-user --profile live --minutes 10 --reason "ticket 7"',
    "docs assumptions": "workbench docs assumptions decline --confidence 'widely seen'",
    "bulk resume": "workbench bulk resume run.db people.csv --resolved 3=done",
    "bulk run": "workbench bulk run create-user-application people.csv --path run.db",
    "report chart": "workbench report chart collateral --out collateral.svg",
    "test http": "workbench test http --deliveries http://127.0.0.1:8000/webhooks --books http://127.0.0.1:8000/books",
    "course results": "workbench course results --folder class",
    "docs completion": "workbench docs completion zsh > ~/.zfunc/_workbench",
    "profiles config": "workbench profiles config",
    "report close": "workbench report close --month 2026-06 --out june",
    "report dashboard": "workbench report dashboard --fresh --out june.html",
    "docs": "workbench docs user.updated",
    "contracts list": "workbench contracts list --fields id,tokens.balance",
    "events list": "workbench events list --kind transaction.created --last 5",
    "sandbox agent": "workbench sandbox agent --fresh",
    "profiles check": "workbench profiles check test",
    "users create": "workbench users create --from body.json",
    "test explore": "workbench test explore shop:Application --universes 500",
    "course serve": "workbench course serve --folder class --learners names.csv",
    "sequences show": "workbench sequences show refund-full",
    "journal list": "workbench journal list --outcome unknown -n 5",
    "events resend": "workbench events resend EVENT-ID --forward-to http://127.0.0.1:8000/webhooks",
    "journal resolve": "workbench journal resolve 4f1d done --note 'seen in the dashboard'",
    "journal unknown": "workbench journal unknown --path app.db",
    "course lab": "workbench course lab notebooks",
    "events listen": "workbench events listen --forward-to http://127.0.0.1:8000/webhooks",
    "profiles show": "workbench profiles show test",
    "sequences run": "workbench sequences run refund-full --set amount=2500",
    "sandbox balance": "workbench sandbox balance CARD-ID",
    "sandbox records": "workbench sandbox records card",
    "sandbox create-tenant": "workbench sandbox create-tenant before-refunds",
    "sandbox create-card": "workbench sandbox create-card USER-ID",
    "sandbox cancel-card": "workbench sandbox cancel-card CARD-ID",
    "sandbox wallet-address": "workbench sandbox wallet-address ADMIN-ADDRESS",
    "sandbox snapshot": "workbench sandbox snapshot before-refunds",
    "sandbox restore": "workbench sandbox restore before-refunds",
    "sandbox update-endpoint": "workbench sandbox update-endpoint ENDPOINT-ID",
    "sandbox remove-endpoint": "workbench sandbox remove-endpoint ENDPOINT-ID",
    "sandbox advance": "workbench sandbox advance 2h30m",
    "sandbox add-fault": (
        "workbench sandbox add-fault latency --of list_contracts --seconds 2 --url http://127.0.0.1:8080"
    ),
    "sandbox execute": "workbench sandbox execute @transaction.json",
    "sandbox register-endpoint": (
        "workbench sandbox register-endpoint http://127.0.0.1:8000/webhooks --url http://127.0.0.1:8080"
    ),
    "corpus": "workbench corpus add traffic.har webhooks.ndjson --to acme",
    "corpus add": "workbench corpus add traffic.har webhooks.ndjson --to acme",
    "corpus check": "workbench corpus check acme --behavior acme.toml",
    "corpus learn": "workbench corpus learn acme --out acme.toml",
    "sandbox world": "workbench sandbox world events.ndjson --out program.toml",
    "sandbox review": "workbench sandbox review PENDING-USER-ID approved",
    "sandbox serve": "workbench sandbox serve --port 8080 --db sandbox.db",
    "sandbox wallet-sign": "workbench sandbox wallet-sign ADMIN-ADDRESS @message.json --reveal -o json > half.json",
    "sequences check": "workbench sequences check mine.toml",
    "sandbox shell": "workbench sandbox shell --profile test",
    "docs skeleton": "workbench docs skeleton create-user-application > body.json",
    "events trigger": (
        "workbench events trigger user.updated --forward-to http://127.0.0.1:8000/webhooks --set "
        "application_status=denied"
    ),
    "transactions authorize": "workbench transactions authorize --card-id CARD-ID --amount 1250 --currency USD "
    "--merchant-name Shop --merchant-category-code 5411",
    "transactions reverse": "workbench transactions reverse OPEN-TRANSACTION-ID --new-amount FULL",
    "transactions refund": "workbench transactions refund SETTLED-TRANSACTION-ID --amount FULL",
    "payment-accounts delete": "workbench payment-accounts delete PAYMENT-ACCOUNT-ID",
    "users update": "workbench users update USER-ID --is-active false",
    "users update-owner": "workbench users update-owner COMPANY-ID OWNER-ID --email owner@example.com",
    "disputes update": "workbench disputes update DISPUTE-ID --status canceled",
    "rewards list": "workbench rewards list --user-id USER-ID --limit 5",
    "rewards read": "workbench rewards read USER-ID --save rewards.csv",
    "sandbox lock-card": "workbench sandbox lock-card CARD-ID",
    "sandbox activate-card": "workbench sandbox activate-card INACTIVE-CARD-ID",
    "sandbox unlock-card": "workbench sandbox unlock-card LOCKED-CARD-ID",
    "sandbox settle": "workbench sandbox settle OPEN-TRANSACTION-ID",
    "sandbox open-dispute": "workbench sandbox open-dispute SETTLED-TRANSACTION-ID",
    "sandbox resolve-dispute": "workbench sandbox resolve-dispute DISPUTE-ID --status accepted",
    "sandbox accept-terms": "workbench sandbox accept-terms NEW-USER-ID",
    "payment-accounts create": "workbench payment-accounts create --from account.json --user-id USER-ID",
    **{f"course {verb}": f"workbench course {verb} unknown-refunds" for verb in ("start", "check", "hint")},
    "course answer": "workbench course answer cut-rewards --set earned=120",
    "course join": "workbench course join https://class.example.com:8700/olive-4f7m-qjxa",
    "course prepare": "workbench course prepare --folder class --system windows --system linux",
    "course print": "workbench course print sheets --folder class",
    "sandbox create-key": "workbench sandbox create-key reporting",
    "sandbox create-payment-route": "workbench sandbox create-payment-route --user-id USER-ID",
    "sandbox redeem": "workbench sandbox redeem USER-ID 100",
    "sandbox state": "workbench sandbox state CARD-ID",
    "withdrawals sign": "workbench withdrawals sign --from plan.json --reveal -o json > signed.json",
    "withdrawals explain": "workbench withdrawals explain transaction.json --plan plan.json --signed signed.json",
    "withdrawals plan": (
        "workbench withdrawals plan --contract CONTRACT-ID --token TOKEN-ADDRESS --admin ADMIN-ADDRESS "
        "--to ADMIN-ADDRESS --amount 25.00 -o json > plan.json"
    ),
    "withdrawals transaction": "workbench withdrawals transaction plan.json signed.json --message message.json "
    "--signature half.json --no-direct-transfer --reveal > transaction.json",
    "withdrawals typed-data": "workbench withdrawals typed-data plan.json signed.json > message.json",
    "withdrawals verify": "workbench withdrawals verify plan.json signed.json",
}


_NAMED_VALUE = re.compile(r"\b[A-Z]+(?:-[A-Z]+)*-(?:ID|ADDRESS)\b")


def example_of(arguments: list[str]) -> str:
    """Return an example of the command that a command line starts, with ids of the user's sandbox."""
    text = _example(arguments)
    if not (names := set(_NAMED_VALUE.findall(text))):
        return text
    from workbench.terminal.where import example_values

    values = example_values()
    return _NAMED_VALUE.sub(lambda name: values.get(name[0], name[0]), text) if names & values.keys() else text


def _example(arguments: list[str]) -> str:
    command = " ".join(arguments[:2])
    if example := _EXAMPLES.get(command):
        return example
    verbs = [verb for verb in COMMANDS.get(command, ()) if f"{command} {verb}" in _EXAMPLES]
    return _example([command, verbs[0]]) if verbs else f"workbench {command}"
