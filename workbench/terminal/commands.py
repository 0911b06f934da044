"""The commands and the first page of help, written once. Nothing is imported here, so that the page costs next to nothing."""

import os
import re
import shlex
import shutil
import sys
import textwrap

NOUNS: dict[str, tuple[str, dict[str, str]]] = {
    "contracts": ("Smart contracts of the tenant.", {"list": "list_contracts"}),
    "transactions": (
        "Simulated card transactions: authorize, reverse, refund.",
        {
            "authorize": "simulate_authorization", "reverse": "simulate_reversal", "refund": "simulate_refund",
            "settle": "sandbox:settle",
        },
    ),
    "users": ("Users of the tenant.", {"update": "update_user"}),
    "applications": (
        "Applications of users, and of owners of companies.",
        {"create": "create_user_application", "update-owner": "update_ubo", "review": "sandbox:review"},
    ),
    "payment-accounts": (
        "Payment accounts of users.",
        {"create": "create_payment_account", "delete": "delete_payment_account"},
    ),
    "disputes": ("Disputes: cancel one, or add evidence.", {"update": "update_dispute"}),
    "rewards": (
        "Rewards activity: one page, or all of users with exact sums.",
        {"list": "list_rewards_activity", "read": "bulk:rewards", "chart": "bulk:chart"},
    ),
    "withdrawals": (
        "Signatures that allow withdrawals of collateral.",
        {
            "sign": "sign_withdrawal", "plan": "withdrawals:plan", "verify": "withdrawals:verify",
            "typed-data": "withdrawals:typed_data", "transaction": "withdrawals:transaction",
            "explain": "withdrawals:explain", "execute": "withdrawals:execute",
        },
    ),
}  # fmt: skip
"""What there is to a noun, by verb: an operation, which is a command of its own name too, or where another command is."""

COMMANDS = {
    "Many calls": {
        "bulk": ("bulk:app", "Send one request for each row of a file, at most once each."),
    },
    "Sandbox": {
        "sandbox": ("sandbox:app", "Serve, reset and control the sandbox: settle, review, advance and more."),
    },
    "Events": {
        "events": ("events:app", "List events as webhooks deliver them, or redeliver one."),
        "listen": ("events:listen", "Receive webhooks: verify, show and forward them."),
        "trigger": ("events:trigger", "Send a signed sample event."),
        "watch": ("watch:watch", "Watch requests, events and deliveries on one time line."),
        "logs": ("watch:logs_app", "Print requests, events and deliveries as they happen."),
        "chaos": ("sequences:chaos_app", "Prove that a webhook handler is right, under everything that goes wrong."),
    },
    "Sequences": {
        "run": ("sequences:run", "Run a sequence."),
        "sequences": ("sequences:app", "List, show and check sequences."),
        "compare": ("sequences:compare", "Compare two behaviors or services by the runs of sequences."),
    },
    "Training": {
        "class": ("training:class_app", "Serve a class, and export its results."),
        "drill": ("training:drill_app", "Solve incidents in the sandbox, graded by what it holds at the end."),
    },
    "Charts": {
        "chart": ("bulk:chart", "Draw points, collateral, declines and more into a file."),
    },
    "Journal and profiles": {
        "journal": ("journal:app", "List calls with an effect, and resolve unknown outcomes."),
        "profiles": ("journal:profiles_app", "List, show and check connection profiles."),
        "arm": ("journal:arm", "Allow operations with an effect in production for some minutes."),
    },
    "Help": {
        "assumptions": ("about:list_assumptions", "List the assumptions about the service and where to change them."),
        "docs": ("about:docs", "Show the rules of an operation or a kind of event."),
        "skeleton": ("about:skeleton", "Print the body of an operation with example values."),
        "config": ("about:config", "Show files and environment variables."),
        "doctor": ("about:doctor", "Check this installation."),
        "demo": ("about:demo", "Walk through the main tasks on an embedded sandbox."),
        "shell": ("shell:shell", "Open IPython with api, sandbox, inbox and wb ready."),
        "lab": ("shell:lab", "Open JupyterLab."),
        "dashboard": ("shell:dashboard", "Write a dashboard of a program into an HTML file."),
        "mcp": ("shell:mcp", "Serve tools for coding agents by the Model Context Protocol."),
        "completion": ("where:script", "Print the completion script for bash, zsh or fish."),
    },
}
"""The other commands by section: where each is, and its line of help."""

OPERATIONS = {
    (noun, verb): name for noun, (_, verbs) in NOUNS.items() for verb, name in verbs.items() if ":" not in name
}
"""The operations by noun and verb."""

PLACES: dict[tuple[str, ...], str] = {
    **{(noun, verb): place for noun, (_, verbs) in NOUNS.items() for verb, place in verbs.items()},
    **{path: f"operations:{name}" for path, name in OPERATIONS.items()},
    **{(name.replace("_", "-"),): f"operations:{name}" for name in OPERATIONS.values()},
    **{(name,): place for rows in COMMANDS.values() for name, (place, _) in rows.items()},
}
"""Where each command is, by the words it is called by."""

_LAST = """\
`workbench COMMAND --help` shows what a command takes, and `workbench --version` the version.

Commands act on your own sandbox, kept in a file, so each command sees the effects of earlier ones. Use --fresh for a new
sandbox in memory, --url URL for a served one and --profile NAME for a real service.

Exit codes: 0 done, 2 wrong input, 3 refused, 4 outcome unknown, 5 partly done, 6 not sent."""


def kebab(name: str) -> str:
    """Return a name as it is typed at a prompt."""
    return name.replace("_", "-")


def first_page() -> str:
    """Return the first page of help, as wide as the terminal, in ASCII."""
    terminal = sys.stdout.isatty()
    width = max(40, min(140, shutil.get_terminal_size((100, 24)).columns)) if terminal else 100
    bold = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") != "dumb"
    sections = {"Operations": {noun: doc for noun, (doc, _) in NOUNS.items()}}
    sections |= {section: {name: doc for name, (_, doc) in rows.items()} for section, rows in COMMANDS.items()}
    parts = ["Usage: workbench COMMAND\n\nA workbench for a card issuing API."]
    for section, rows in sections.items():
        head = f"\033[1m{section}\033[0m" if bold else section
        parts.append("\n".join([head, *(_row(name, doc, width) for name, doc in rows.items())]))
    names = ", ".join(map(kebab, OPERATIONS.values()))
    text = f"Each operation is a command of its own name too: {names}."
    parts.insert(2, textwrap.fill(text, width, break_on_hyphens=False))
    return "\n\n".join([*parts, *(textwrap.fill(text, width) for text in _LAST.split("\n\n"))])


def _row(name: str, doc: str, width: int) -> str:
    return textwrap.fill(doc, width, initial_indent=f"  {name:<18}", subsequent_indent=" " * 20)


def read_duration(text: str) -> dict[str, float]:
    """Return a duration such as `2d 3h` or `1h30m` as days, hours, minutes and seconds.

    Raises:
        ValueError: It is something else.
    """
    parts = re.findall(r"([0-9]+(?:\.[0-9]+)?)([dhms])", text)
    if not parts or "".join(map("".join, parts)) != "".join(text.split()):
        raise ValueError(f"{text[:40]!a} is not a duration; expected 2d, 3h, 15m or 30s, or several as 2h30m")
    names = {name[0]: name for name in ("days", "hours", "minutes", "seconds")}
    return {name: sum(float(number) for number, of in parts if of == unit) for unit, name in names.items()}


# examples of commands

_ID = "3f2a0b1c-0000-4000-8000-000000000000"
_EXAMPLES = {
    "applications": "workbench applications create --from body.json",
    "applications review": f"workbench applications review {_ID} approved",
    "arm": 'workbench arm update-user --profile live --minutes 10 --reason "ticket 7"',
    "assumptions": "workbench assumptions decline --confidence 'widely seen'",
    "bulk": "workbench bulk run create-user-application people.csv",
    "bulk resume": "workbench bulk resume run.db people.csv --resolved 3=done",
    "bulk run": "workbench bulk run create-user-application people.csv --path run.db",
    "chart": "workbench chart collateral --out collateral.svg",
    "chaos": "workbench chaos run --handler http://127.0.0.1:8000/webhooks --books http://127.0.0.1:8000/books",
    "class": "workbench class serve --folder class --learners names.csv",
    "class results": "workbench class results --folder class",
    "compare": "workbench compare documented observed --sequence refund-full",
    "completion": "workbench completion zsh > ~/.zfunc/_workbench",
    "config": "workbench config",
    "contracts": "workbench contracts list --fields id,tokens.balance",
    "dashboard": "workbench dashboard --fresh --out june.html",
    "demo": "workbench demo --out pictures",
    "disputes": f"workbench disputes update {_ID} --status canceled",
    "docs": "workbench docs user.updated",
    "doctor": "workbench doctor",
    "drill": "workbench drill list",
    "events": "workbench events --kind transaction.created --last 5",
    "events resend": f"workbench events resend {_ID} --forward-to http://127.0.0.1:8000/webhooks",
    "journal": "workbench journal list --outcome unknown",
    "journal export": "workbench journal export --path app.db > calls.ndjson",
    "journal resolve": "workbench journal resolve 4f1d done --note 'seen in the dashboard'",
    "journal unknown": "workbench journal unknown --path app.db",
    "lab": "workbench lab notebooks",
    "listen": "workbench listen --forward-to http://127.0.0.1:8000/webhooks",
    "payment-accounts": f"workbench payment-accounts delete {_ID}",
    "profiles": "workbench profiles check test",
    "profiles show": "workbench profiles show test",
    "rewards": f"workbench rewards read {_ID} --save rewards.csv",
    "logs": "workbench logs tail --json --url http://127.0.0.1:8080",
    "mcp": "workbench mcp",
    "watch": "workbench watch --url http://127.0.0.1:8080",
    "run": "workbench run refund-full --set amount=2500",
    "sandbox": "workbench sandbox serve --port 8080",
    "sandbox advance": "workbench sandbox advance 2h30m",
    "sandbox add-fault": "workbench sandbox add-fault latency --of list_contracts --seconds 2 --url http://127.0.0.1:8080",
    "sandbox execute": "workbench sandbox execute @transaction.json",
    "sandbox register-endpoint": "workbench sandbox register-endpoint http://127.0.0.1:8000/webhooks --url http://127.0.0.1:8080",
    "sandbox review": f"workbench sandbox review {_ID} approved",
    "sandbox serve": "workbench sandbox serve --port 8080 --db sandbox.db",
    "sandbox wallet-sign": f"workbench sandbox wallet-sign 0x{'5a' * 20} @message.json",
    "sequences": "workbench sequences show refund-full",
    "sequences check": "workbench sequences check mine.toml",
    "shell": "workbench shell --code 'api.list_contracts()'",
    "skeleton": "workbench skeleton create-user-application > body.json",
    "transactions": "workbench transactions authorize --card-id CARD --amount 1250 --currency USD --merchant-name Shop "
    "--merchant-category-code 5411",
    "transactions settle": f"workbench transactions settle {_ID}",
    "trigger": "workbench trigger user.updated --forward-to http://127.0.0.1:8000/webhooks --set application_status=denied",
    "users": f"workbench users update {_ID} --is-active false",
    "withdrawals": "workbench withdrawals sign --from plan.json --reveal -o json > signed.json",
    "withdrawals execute": "workbench withdrawals execute transaction.json",
    "withdrawals explain": "workbench withdrawals explain transaction.json --plan plan.json --signed signed.json",
    "withdrawals plan": f"workbench withdrawals plan --contract {_ID} --token 0x… --admin 0x… --to 0x… --amount 25.00 -o json > plan.json",
    "withdrawals transaction": "workbench withdrawals transaction plan.json signed.json --message message.json "
    "--signature half.json --no-direct-transfer --reveal > transaction.json",
    "withdrawals typed-data": "workbench withdrawals typed-data plan.json signed.json > message.json",
    "withdrawals verify": "workbench withdrawals verify plan.json signed.json",
    "rewards chart": "workbench rewards chart points --out points.svg",
}


def example_of(words: list[str]) -> str:
    """Return an example of the command that a command line begins with."""
    command = " ".join(words[:2])
    path = next(
        (path for path in ((*words[:2],), (*words[:1],)) if PLACES.get(path, "").startswith("operations:")), None
    )
    if found := _EXAMPLES.get(command):
        return found
    if path is not None:
        return _operation(PLACES[path].partition(":")[2], " ".join(path))
    if words[:1] == ["sandbox"] and words[1:]:
        return _control(words[1])
    found = _EXAMPLES.get(words[0], "") if words else ""
    return found if found.startswith(f"workbench {command}") else f"workbench {command}"


def _operation(name: str, command: str) -> str:
    """Return a call with every required argument; one with a nested body takes it from a file."""
    from workbench.interface.examples import example_of as example
    from workbench.interface.table import OPERATIONS as TABLE
    from workbench.schema.readers import text_of
    from workbench.schema.rules import FULL
    from workbench.schema.walk import Nested, members

    cls = TABLE[name].request
    needed = [one for one in members(cls) if one.required]
    in_path = [one for one in needed if f"{{{one.wire}}}" in TABLE[name].path]
    if any(isinstance(one.kind, Nested) for one in needed) or len(needed) > 8:
        return " ".join(["workbench", command, *(_ID for _ in in_path), "--from body.json"])
    words = ["workbench", command]
    for one in needed:
        value = FULL if getattr(one.kind, "full", False) else example(cls, one)
        words += [text_of(one, value)] if one in in_path else [f"--{kebab(one.name)}", shlex.quote(text_of(one, value))]
    return " ".join(words)


def _control(verb: str) -> str:
    from workbench.sandbox.controls import CONTROLS

    row = CONTROLS.get(verb.replace("-", "_"))
    taken = [] if row is None else [one for one in row.signature.parameters.values() if one.name != "self"]
    needed = [
        _value(one.name) for one in taken if one.default is one.empty and one.name not in {"api_key", "signing_key"}
    ]
    return " ".join(["workbench sandbox", verb, *needed])


def _value(name: str) -> str:
    known = {"name": "before-refunds", "seconds": "60", "admin": "0x" + "5a" * 20, "kind": "card"}
    return known.get(name, _ID if name.endswith("_id") else name.upper())
