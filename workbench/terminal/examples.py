"""An example of each command, for its help: made from the declarations where there are some, else written here."""

import shlex

from workbench.terminal.commands import OPERATIONS, kebab

_ID = "3f2a0b1c-0000-4000-8000-000000000000"
_EXAMPLES = {
    "applications": "workbench applications create --from body.json",
    "applications review": f"workbench applications review {_ID} approved",
    "arm": 'workbench arm update-user --profile live --minutes 10 --reason "ticket 7"',
    "assumptions": "workbench assumptions decline --known 'widely seen'",
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
    "dashboard": "workbench dashboard --fresh",
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
    if found := _EXAMPLES.get(command):
        return found
    verb = words[1] if len(words) > 1 else ""
    operation = OPERATIONS.get(words[0], ("", {}))[1].get(verb) if words else None
    names = [name for _, verbs in OPERATIONS.values() for name in verbs.values()]
    if operation or (words and words[0].replace("-", "_") in names):
        return _operation(operation or words[0].replace("-", "_"), f"{words[0]} {verb}" if operation else words[0])
    if words[:1] == ["sandbox"] and verb:
        return _control(verb)
    found = _EXAMPLES.get(words[0]) if words else None
    return found if found and found.startswith(f"workbench {command}") else f"workbench {command}"


def _operation(name: str, command: str) -> str:
    """Return a call with every required argument; one with a nested body takes it from a file."""
    from workbench.interface.examples import example_of
    from workbench.interface.readers import text_of
    from workbench.interface.rules import FULL
    from workbench.interface.table import OPERATIONS as TABLE
    from workbench.interface.walk import Nested, members

    cls = TABLE[name].request
    needed = [one for one in members(cls) if one.required]
    in_path = [one for one in needed if f"{{{one.wire}}}" in TABLE[name].path]
    if any(isinstance(one.kind, Nested) for one in needed) or len(needed) > 8:
        return " ".join(["workbench", command, *(_ID for _ in in_path), "--from body.json"])
    words = ["workbench", command]
    for one in needed:
        value = FULL if getattr(one.kind, "full", False) else example_of(cls, one)
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
