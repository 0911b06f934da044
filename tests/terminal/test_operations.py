"""Commands of the operations on a shared sandbox: effects, output and exit codes."""

import csv
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import unicodedata

import pytest

from workbench.base.schema.walk import build
from workbench.sandbox import Sandbox
from workbench.service.interface.people import User
from workbench.terminal.exits import exit_code
from workbench.terminal.output import Output, show

BODY = "tests/terminal/application.json"
NOBODY = "3f2a0b1c-0000-4000-8000-000000000000"


@pytest.fixture
def guide(wb):
    return json.loads(wb("sandbox", "guide", "-o", "json").out)


def authorize(wb, guide, *more: str, amount: str = "1250", merchant: str = "Example Shop"):
    return wb(
        "transactions", "authorize", "--card-id", guide["cards"]["active"][0], "--amount", amount, "--currency", "USD",
        "--merchant-name", merchant, "--merchant-category-code", "5411", *more,
    )  # fmt: skip


def test_a_command_sees_what_the_last_one_did(wb, guide):
    """Commands share a stored sandbox: later commands settle and refund an earlier authorization."""
    made = json.loads(authorize(wb, guide, "-o", "json").out)
    wb("sandbox", "settle", made["transactionId"])
    ended = wb("transactions", "refund", made["transactionId"], "--amount", "FULL", "-o", "json")

    assert ended.code == 0
    assert json.loads(ended.out)["completionReason"] == "REFUND"


def test_reset_begins_again(wb, guide):
    """After a reset, no earlier change remains."""
    authorize(wb, guide)
    wb("sandbox", "reset")

    assert json.loads(wb("sandbox", "events", "-o", "json").out) == []


def test_controls_take_defaults_beside_other_libraries(wb):
    """Defaults of controls are correct even if pydantic is loaded, which cyclopts then uses for validation."""
    pytest.importorskip("pydantic")

    assert wb("sandbox", "create-tenant", "acme", "--management", "provider").code == 0
    assert wb("sandbox", "create-tenant", "beta", "--corporate-cards", "false").code == 0
    assert wb("sandbox", "create-tenant", "gamma", "--corporate-cards", "maybe").code == 2


@pytest.mark.parametrize(
    "line",
    [
        "events list --last 1.5", "events list -n 0x10", "journal list --last 2.0", "events listen --port 80.5", "bulk run x x.csv --workers 1.5",
        "sandbox serve --port 8e3", "sandbox settle A --amount 1.5",
    ],
)  # fmt: skip
def test_no_number_is_rounded(wb, line):
    """An integer option accepts only an integer."""
    refused = wb(*line.split())

    assert refused.code == 2
    assert "is not a whole number" in refused.err


def test_tenant_is_chosen_by_name(wb):
    """With `--tenant`, calls and events belong to that tenant, also if an earlier command created it."""
    assert wb("sandbox", "create-tenant", "acme", "--management", "provider").code == 0
    guide = json.loads(wb("sandbox", "guide", "-o", "json").out)
    card = guide["tenants"]["acme"]["cards"]["active"][0]
    options = ("--card-id", card, "--amount", "100", "--currency", "USD", "--merchant-name", "A",
               "--merchant-category-code", "5411", "-o", "json")  # fmt: skip

    assert wb("transactions", "authorize", *options).code == 3
    assert wb("transactions", "authorize", *options, "--tenant", "acme").code == 0
    assert len(wb("events", "list", "--tenant", "acme", "-o", "ndjson").out.splitlines()) == 2
    assert wb("events", "list", "-o", "ndjson").out == ""
    assert wb("transactions", "authorize", *options, "--tenant", "nobody").code == 2
    wb("sandbox", "reset")


def test_fresh_leaves_the_kept_one_alone(wb, guide):
    """Changes in a `--fresh` sandbox are discarded when the command ends."""
    authorize(wb, guide, "--fresh")

    assert json.loads(wb("sandbox", "events", "-o", "json").out) == []


def test_names_with_dashes_and_with_underscores(wb):
    """Operations and options are accepted with underscores, as in Python, and with hyphens."""
    for words in (("rewards", "list", "--user-id"), ("rewards", "list", "--user_id")):
        assert wb(*words, NOBODY).code == 3


@pytest.mark.parametrize(
    "amount", ["12.50", "1e3", "", "-1", "0", "1_000", "٣", "True", "0x10", " 5"], ids=lambda text: repr(text)
)
def test_amounts_are_exact(wb, guide, amount):
    """Only whole cents are accepted. Any other amount ends with 2, and nothing is sent."""
    ended = authorize(wb, guide, amount=amount)

    assert ended.code == 2
    assert re.search(
        r"--amount +(?:must be a whole number of cents|must be at least 1, in cents|12.50 is not a whole number of cents)",
        ended.err,
    )
    assert json.loads(wb("sandbox", "events", "-o", "json").out) == []


def test_an_option_given_twice_is_refused(wb, guide):
    """Two values for one amount are ambiguous."""
    assert authorize(wb, guide, "--amount", "5").code == 2


def test_a_refund_needs_its_amount(wb):
    """An omitted amount is not a full refund, which requires FULL."""
    ended = wb("transactions", "refund", NOBODY)

    assert ended.code == 2
    assert "write FULL" in ended.err


def test_the_unit_of_a_withdrawal_is_said(wb, guide):
    """A withdrawal without a flag for its unit is refused."""
    contract = guide["contracts"][0]
    words = ["--token", contract["tokens"][0]["address"], "--amount", "2500", "--admin-address",
             contract["admin_addresses"][0], "--recipient-address", contract["admin_addresses"][0]]  # fmt: skip

    assert "pass true or false" in wb("withdrawals", "sign", *words).err
    assert wb("withdrawals", "sign", *words, "--is-amount-native", "perhaps").code == 2
    signed = wb("withdrawals", "sign", *words, "--is-amount-native", "false", "-o", "json")
    assert signed.code == 0
    assert json.loads(signed.out)["signature"] == {"data": "•••", "salt": "•••"}


def test_all_problems_at_once(wb):
    """Every problem is reported, and the exit code is 2."""
    ended = wb("transactions", "authorize", "--amount", "x")

    assert ended.code == 2
    assert all(
        f"--{name} " in ended.err
        for name in ("card-id", "amount", "currency", "merchant-name", "merchant-category-code")
    )


def test_refused(wb):
    """A refusal by the service ends with 3, with the service's message on stderr only."""
    ended = wb("transactions", "refund", NOBODY, "--amount", "FULL")

    assert (ended.code, ended.out) == (3, "")
    assert "Transaction not found" in ended.err


def test_exit_codes_of_all_errors():
    """Each error class has its exit code."""
    from datetime import UTC, datetime

    from workbench import errors

    attempt = errors.Attempt(id="a", operation="x", what="x", started=datetime.now(UTC), environment="sandbox")
    codes = {
        2: [errors.InvalidRequest("x"), errors.InvalidProfile("x"), errors.InvalidArguments("x")],
        3: [errors.BadRequest(operation="x", status=400), errors.UnexpectedRedirect("x"), errors.InvalidWebhook("x")],
        4: [errors.OutcomeUnknown("x", attempt=attempt)],
        5: [errors.UnexpectedAnswer("x")],
        6: [errors.NotSent("x"), errors.CannotRecord("x"), errors.NotArmed("x"), errors.WrongEnvironment("x")],
    }
    for code, held in codes.items():
        assert {code} == {exit_code(error) for error in held}


def test_an_unknown_outcome(wb):
    """A request without an answer ends with 4 and is not sent again. The message states the next step."""
    sandbox = Sandbox()
    with sandbox.serve() as url:
        sandbox.add_fault("lost", of="simulate_authorization")
        ended = wb(
            "transactions", "authorize", "--url", url, "--card-id", sandbox.guide()["cards"]["active"][0], "--amount", "100",
            "--currency", "USD", "--merchant-name", "x", "--merchant-category-code", "5411",
        )  # fmt: skip
        created = sandbox.events("transaction.created")
    sandbox.close()

    assert (ended.code, ended.out) == (4, "")
    assert "It was not sent again" in " ".join(ended.err.split())
    assert len(created) == 1


# bodies


def test_a_body_from_a_file_with_options_on_top(wb):
    """A body is read from a file, and options override its members, including nested members."""
    ended = wb("users", "create", "--from", BODY, "--address.city", "Salem", "--external-id", "x-1", "-o", "json")

    assert ended.code == 0
    made = json.loads(ended.out)
    assert (made["address"]["city"], made["externalId"], made["address"]["region"]) == ("Salem", "x-1", "ME")


def test_advice_is_a_line_of_its_own(wb):
    """Advice of the client is printed on a separate line, and the call continues."""
    ended = wb("users", "create", "--from", BODY, "--country-of-issue", "us", "-o", "json")

    assert ended.code == 0
    assert ended.err.splitlines() == [
        "Advice: create_user_application: country_of_issue is usually written in capitals, US"
    ]


def test_invisible_text_is_not_sent(wb):
    """Invisible characters are refused and shown as escapes."""
    ended = wb("users", "create", "--from", BODY, "--external-id", "a\u202eb\x1b[31m")

    assert ended.code == 2
    assert "U+202E" in ended.err
    assert "\x1b" not in ended.err


@pytest.mark.slow
def test_a_body_from_a_pipe(piped):
    """A body is read from stdin."""
    done = piped("transactions", "refund", NOBODY, "--from", "-", stdin=b'{"amount": 5}')

    assert done.returncode == 3
    assert b"Transaction not found" in done.stderr


@pytest.mark.parametrize(
    "body, said",
    [
        ("{", "not JSON"),
        ("[]", "must be an object"),
        ('{"shoeSize": 1}', "shoeSize"),
        ('{"amount": 10.5}', "whole number"),
        ('{"amount": null}', "null"),
        ('{"amount": 1, "amount": 2}', "twice"),
    ],
    ids=["cut", "list", "unknown", "fraction", "null", "twice"],
)
def test_a_wrong_body(wb, tmp_path, body, said):
    """An invalid or ambiguous body ends with 2 and a reason."""
    (tmp_path / "body.json").write_text(body)
    ended = wb("transactions", "refund", NOBODY, "--from", str(tmp_path / "body.json"))

    assert ended.code == 2
    assert said in ended.err


def test_an_amount_left_out_of_a_body_is_not_full(wb, tmp_path):
    """A body without an amount does not refund the full amount."""
    (tmp_path / "body.json").write_text("{}")

    assert wb("transactions", "refund", NOBODY, "--from", str(tmp_path / "body.json")).code == 2


def test_a_missing_file(wb):
    """A missing file is reported."""
    ended = wb("transactions", "refund", NOBODY, "--from", "nowhere.json")

    assert ended.code == 2
    assert "nowhere.json" in ended.err


# dry runs


def test_dry_run_sends_nothing_and_shows_no_key(wb, guide):
    """The request is printed as a curl command with a variable for the key, and nothing is sent."""
    ended = authorize(wb, guide, "--dry-run")

    assert ended.code == 0
    assert ended.out.startswith("curl -X POST https://")
    assert guide["api_keys"]["full"] not in ended.out
    assert "$WORKBENCH_API_KEY" in ended.out
    assert json.loads(wb("sandbox", "events", "-o", "json").out) == []


def test_dry_run_masks_private_values(wb):
    """Private values in the curl command are masked unless revealed."""
    assert "noor" not in wb("users", "create", "--from", BODY, "--dry-run").out.lower().replace("tour-noor", "")
    assert "noor.vandenberg@example.com" in wb("users", "create", "--from", BODY, "--dry-run", "--reveal").out


def test_curl_quotes_what_it_shows(wb, guide):
    """A hostile value cannot end the shell's quotes."""
    ended = authorize(wb, guide, "--dry-run", merchant="x'; rm -rf / #")

    assert any('"merchantName":"x\'; rm -rf / #"' in word for word in shlex.split(ended.out))


# output


@pytest.mark.parametrize("form", ["json", "ndjson", "csv"])
def test_forms_for_programs(wb, form):
    """Each output format is valid and is printed to stdout only."""
    ended = wb("contracts", "list", "-o", form)

    assert (ended.code, ended.err) == (0, "")
    match form:
        case "json":
            assert len(json.loads(ended.out)) == 3
        case "ndjson":
            assert [json.loads(line)["chainId"] for line in ended.out.splitlines()] == [84532, 11155111, 901]
        case "csv":
            rows = list(csv.DictReader(io.StringIO(ended.out)))
            assert [row["chainId"] for row in rows] == ["84532", "11155111", "901"]
            assert rows[0]["tokens[0].balance"] == "25000.50"


def test_fields(wb):
    """Only the requested members are printed, in the requested order, by attribute name or wire name."""
    for fields in ("chain_id,id", "chainId,id"):
        head, *rows = wb("contracts", "list", "-o", "csv", "--fields", fields).out.splitlines()
        assert head == fields
        assert rows[0].startswith("84532,")
    table = wb("contracts", "list", "--fields", "chainId").out
    assert "chain id" in table
    assert "proxy" not in table
    assert wb("contracts", "list", "--fields", "shoe").code == 2


def test_masked_unless_revealed(wb):
    """Private values are masked in every format unless `--reveal` is given."""
    for form in ("table", "json", "ndjson", "csv"):
        assert "noor.vandenberg" not in wb("users", "create", "--from", BODY, "--fresh", "-o", form).out
        assert "noor.vandenberg" in wb("users", "create", "--from", BODY, "--fresh", "--reveal", "-o", form).out


def test_all_pages(wb, guide):
    """`--all` reads every page; without it, one page is read."""
    user = guide["rewards_users"][0]
    one = wb("rewards", "list", "--user-id", user["id"], "-o", "ndjson").out.splitlines()
    every = wb("rewards", "read", user["id"], "-o", "ndjson").out.splitlines()

    assert len(one) == 20
    assert len(every) > 100
    assert len(set(every)) == len(every)


def test_rewards_say_exact_sums(wb, guide):
    """`rewards` prints exact sums of the items to stderr."""
    ended = wb("rewards", "read", guide["rewards_users"][0]["id"], "-o", "ndjson")
    earned = sum(int(row["points"]) for row in map(json.loads, ended.out.splitlines()) if row["type"] == "earned")

    assert f"{earned:,} points earned" in ended.err


HOSTILE = "\x1b]52;c;aGk=\x07\x9b31m\u202e[/bold]=cmd|' /C calc'!A"


@pytest.mark.parametrize("form", ["table", "json", "ndjson", "csv"])
def test_hostile_text_reaches_no_terminal(capsys, form):
    """Control characters and direction marks in data are escaped in every format."""
    show([build(User, {"id": NOBODY, "external_id": HOSTILE, "application_status": HOSTILE})], Output(output=form))

    out = capsys.readouterr().out
    assert [c for c in out if unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp"} and c != "\n"] == []
    assert "[/bold]" in out


def test_spreadsheets_get_no_formula(capsys):
    """A cell that a spreadsheet would run as a formula is written as text."""
    show([build(User, {"id": NOBODY, "external_id": "=cmd|x"})], Output(output="csv"))

    assert "'=cmd|x" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words", [["--api-key", "very-secret"], ["--api_key=very-secret"], ["--API-KEY", "very-secret"]]
)
def test_no_key_on_a_command_line(wb, words):
    """No option takes a key. An attempt prints where keys belong."""
    ended = wb("contracts", "list", *words)

    assert ended.code == 2
    assert "keyring" in ended.err
    assert "very-secret" not in ended.err


def test_journal_knows_what_was_sent(wb, guide):
    """The next command lists earlier calls with an effect and their outcomes."""
    authorize(wb, guide)
    wb("transactions", "refund", NOBODY, "--amount", "1")
    rows = [json.loads(line) for line in wb("journal", "list", "-o", "ndjson").out.splitlines()]

    assert [(row["operation"], row["outcome"]) for row in rows] == [
        ("simulate_authorization", "done"), ("simulate_refund", "refused"),
    ]  # fmt: skip
    assert re.search(r"✗ refused", wb("journal", "list", "--outcome", "refused").out)
    assert wb("journal", "unknown").err.strip() == "No call has an unknown outcome."
    health = wb("journal", "health", "-o", "json")
    (trouble,) = json.loads(health.out)
    assert (health.code, trouble["kind"], trouble["count"]) == (5, "failed request", 1)
    assert "Versions: workbench " in health.err
    assert [wb("journal", "resolve", row["id"], "done").code for row in rows] == [0, 2]


# served sandboxes


@pytest.fixture
def served():
    sandbox = Sandbox()
    with sandbox.serve() as url:
        yield sandbox, url
    sandbox.close()


def test_an_endpoint_is_registered_on_a_served_sandbox(wb, served, monkeypatch):
    """The `url` of the endpoint does not conflict with the sandbox's `--url`, and likewise for the tenant."""
    sandbox, url = served
    monkeypatch.setenv("WORKBENCH_WEBHOOK_KEY", "a key")
    ended = wb("sandbox", "register-endpoint", "http://127.0.0.1:9/hooks", "--url", url, "-o", "json")

    assert ended.code == 0
    assert [one.url for one in sandbox.endpoints()] == ["http://127.0.0.1:9/hooks"]
    assert wb("sandbox", "create-key", "auditor", "--tenant-name", "provider-managed", "--url", url).code == 0
    (tenant,) = [one for one in sandbox.tenants() if one.name == "provider-managed"]
    assert "auditor" in tenant.keys


def test_the_printed_curl_can_be_run(wb, served):
    """The curl command from `--dry-run` works on a served sandbox, also with an empty body for a full refund."""
    sandbox, url = served
    card = sandbox.guide()["cards"]["active"][0]
    words = ["--card-id", card, "--amount", "1250", "--currency", "USD", "--merchant-name", "Example Shop",
             "--merchant-category-code", "5411", "--url", url]  # fmt: skip
    made = run_curl(sandbox, wb("transactions", "authorize", *words, "--dry-run").out)
    sandbox.settle(made["transactionId"])
    refunded = run_curl(
        sandbox, wb("transactions", "refund", made["transactionId"], "--amount", "FULL", "--url", url, "--dry-run").out
    )

    assert (made["status"], refunded["completionReason"]) == ("authorized", "REFUND")


def test_a_dry_run_on_an_embedded_sandbox_says_how_to_serve_it(wb, guide):
    """An embedded sandbox has no reachable URL, so a message states how to serve it."""
    assert "workbench sandbox serve --own" in authorize(wb, guide, "--dry-run").err


def run_curl(sandbox, command: str):
    """Run a printed command in a shell, as a person would paste it."""
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    environ = {**os.environ, "WORKBENCH_API_KEY": sandbox.full_key}
    done = subprocess.run(["bash", "-c", f"{command.strip()} -s"], check=True, capture_output=True, env=environ)
    return json.loads(done.stdout)
