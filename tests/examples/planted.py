"""Plant mistakes in the example programs, and list which ones mypy and pyright find.

`python -m tests.examples.planted` writes `planted.md`, which the test compares.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = Path(__file__).with_name("planted.md")
PLANTED: dict[str, list[tuple[str, str]]] = {
    "fastapi_ledger": [
        ('"transaction.completed"', '"transaction.complete"'),
        ("atomic=True", "atomik=True"),
        ("event.id, event", "event.ids, event"),
        ("event.body.spend", "event.body.spent"),
        ("inbox.respond", "inbox.response"),
        ("inbox.running()", "inbox.run()"),
        ("keys=[os", "key=[os"),
        ("wb.Inbox(", "wb.InBox("),
        ("spend.amount", "spend.ammount"),
        ("wb.records.Event", "wb.records.Events"),
    ],
    "batch": [
        ("wb.bulk.resume(", "wb.bulk.resum("),
        ('key="nickname"', 'keys="nickname"'),
        ("rows, progress=False", "rows, progres=False"),
        ("api.create_payment_account,", "api.create_account,"),
        ("wb.bulk.InvalidRows", "wb.bulk.InvalidRow"),
        ("error.frame.", "error.frames."),
        ("wb.bulk.investigate(api, result)", "wb.bulk.investigate(result, api)"),
        ("finding.found", "finding.find"),
        ("result.ok ", "result.okay "),
        ("wb.to_frame(result)", "wb.to_frame(result, revael=())"),
    ],
    "async_worker": [
        ("await api.simulate_authorization(", "api.simulate_authorization("),
        ("await api.simulate_authorization(", "await api.simulate_authorisation("),
        ("api: wb.AsyncSession, arguments", "api: wb.AsyncSesion, arguments"),
        ("error.message", "error.text"),
        ("wb.OutcomeUnknown", "wb.OutcomeUnkown"),
        ("async with await wb", "async with wb"),
        ("wb.connect_async(", "wb.connect_asynch("),
        ("journal=journal", "journals=journal"),
        ("api.journal.unknown()", "api.journal.unknowns()"),
        ("entry.id", "entry.ids"),
    ],
    "script": [
        ("api.list_contracts()", "api.list_contract()"),
        ("contract.tokens", "contract.token"),
        ("contract.chain_id}", "contract.chain}"),
        ("token.balance", "token.ballance"),
        ("merchant_name=", "merchant="),
        ('currency="USD", ', ""),
        ("amount=cents, ", "amount=cents / 1, "),
        ("purchase.transaction_id)", "purchase.id)"),
        ("api.sandbox.settle(", "api.sandbox.setle("),
        ("amount=cents // 2", "amounts=cents // 2"),
        ("wb.connect(profile, path=", "wb.connect(profile, file="),
        ("error.attempt.id", "error.attempt.key"),
        ("error.message} ({error.status}", "error.message} ({error.code}"),
        ("wb.NotSent", "wb.NotSend"),
        ("wb.connect(profile", "wb.connect(5"),
    ],
}
"""Planted mistakes by example program: a piece of its text, and its replacement with a mistake."""


def write_programs(folder: Path) -> dict[str, tuple[str, int]]:
    """Write each program without a mistake and with each mistake.

    Returns:
        The program and the line of the mistake, by the name of the file with the mistake.
    """
    places = {}
    for name, mistakes in PLANTED.items():
        text = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8")
        (folder / f"{name}_right.py").write_text(text, encoding="utf-8")
        for number, (right, wrong) in enumerate(mistakes):
            head, found, rest = text.partition(right)
            assert found, f"{name}: {right}"
            (folder / f"{name}_{number}.py").write_text(head + wrong + rest, encoding="utf-8")
            places[f"{name}_{number}"] = (name, head.count("\n") + 1)
    return places


def found_by(tool: str, folder: Path) -> set[tuple[str, int]]:
    """Return the file and line of each error that a type checker reports."""
    if tool == "mypy":
        command = ["mypy", "--no-error-summary", "--cache-dir", str(folder / "cache"), "."]
        done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, cwd=folder, check=False)
        lines = re.findall(r"^(\w+)\.py:(\d+): error", done.stdout, re.MULTILINE)
        assert lines, done.stdout + done.stderr
        return {(name, int(line)) for name, line in lines}
    command = ["pyright", "--outputjson", "--pythonpath", sys.executable, "."]
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, cwd=folder, check=False)
    reported = json.loads(done.stdout)["generalDiagnostics"]
    return {
        (Path(each["file"]).stem, each["range"]["start"]["line"] + 1)
        for each in reported
        if each["severity"] == "error"
    }


def page() -> str:
    """Return the table of mistakes, with the type checkers that find each."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pyproject.toml").write_text("[tool.mypy]\nstrict = true\n", encoding="utf-8")
        places = write_programs(folder)
        found = {tool: found_by(tool, folder) for tool in ("mypy", "pyright")}
    lines = [
        "# Mistakes in the example programs",
        "",
        "Each program is copied with one mistake; found is an error within two lines of it. Written by",
        "`python -m tests.examples.planted`.",
        "",
        "| Program | Right | With a mistake | mypy | pyright |",
        "|---|---|---|---|---|",
    ]
    for file, (program, line) in places.items():
        right, wrong = PLANTED[program][int(file.rpartition("_")[2])]
        said = [
            "found" if any((file, near) in of for near in range(line - 2, line + 3)) else "**not found**"
            for of in found.values()
        ]
        lines.append(f"| {program} | `{right.strip()}` | `{wrong.strip() or '(left out)'}` | {said[0]} | {said[1]} |")
    errors = {tool: sum(file.endswith("_right") for file, _ in of) for tool, of in found.items()}
    lines += ["", f"Errors in the programs without a mistake: mypy {errors['mypy']}, pyright {errors['pyright']}."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
