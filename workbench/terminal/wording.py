"""Remedies in the words of the command line, by problem code."""

TERMINAL = {
    "again": "--again sends it again",
    "allow": "--allow {option} sends it",
    "amount": "--amount 25.00 for 25 dollars, or --native-units 25000000 for native units of the token",
    "arm": 'Allow it temporarily: workbench profiles arm {option} --profile NAME --minutes 10 --reason "…".',
    "assumption": "workbench docs assumptions {id}",
    "assumptions": "see workbench docs assumptions",
    "behavior": "a profile with behavior {behavior}",
    "embedded": "Without --profile and --url, commands act on a sandbox of this machine.",
    "guide": "see workbench sandbox guide",
    "investigate": "look up the outcome, then resume with --resolved ROW=done or ROW=not_sent",
    "native_units": "such as --native-units 25000000",
    "next_call": (
        "Next: workbench withdrawals typed-data prints the message for an admin's wallet to sign. With the wallet's "
        "signature, workbench withdrawals transaction prints the call, which anyone can send."
    ),
    "next_parameters": (
        "Next: workbench withdrawals transaction prints the public part of the transaction that the admin's "
        "wallet sends."
    ),
    "next_owner": (
        "Next: workbench withdrawals transaction prints the call, which the contract's owner sends from a wallet."
    ),
    "parameters": "workbench withdrawals transaction prints the arguments for this chain",
    "recipient": "to continue anyway, pass the last {count} characters of the recipient: --allow …",
    "resolve": "Then record the outcome: workbench journal resolve {id} done, or not_sent.",
    "resume": "workbench bulk resume sends the rest",
    "sign": "workbench withdrawals sign requests a signature for this withdrawal",
    "wait": "workbench withdrawals sign waits and retries",
    "wallet_file": "The JSON is for the wallet.",
    "wallet_json": "--reveal prints it for a wallet.",
}
