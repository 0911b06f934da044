"""The walk-through runs to its end, on the package's files and on a user's own, and names the ids it replaces."""

import io
import json
import re
from pathlib import Path

import pytest

from tests.conftest import RECORDED
from workbench.demo import Bodies, Page, read_all, tour
from workbench.errors import InvalidRequest
from workbench.rendering.text import Screen
from workbench.schema.fields import Confidence

pytestmark = pytest.mark.slow  # the tour is walked


def written(tmp_path: Path, bodies: Path | None = None, **screen: object) -> str:
    out = io.StringIO()
    tour(bodies=bodies, out=tmp_path, page=Page(out, Screen(**screen)))
    return out.getvalue()


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> str:
    return written(tmp_path_factory.mktemp("tour"))


@pytest.mark.parametrize(
    "promise",
    [
        "deposit address", "SANDBOX, do not send funds", "What the signature authorizes", "✓ approved", "points earned",
        "reverse down to 80.50", "settle 45.90", "refund 45.90 (REFUND)", "✗ declined", "transaction.completed",
        "user.updated", str(list(Confidence)[-1]),
    ],
)  # fmt: skip
def test_every_task_is_shown(text, promise):
    """Each task has its place in the walk-through."""
    assert promise in text


def test_an_application_goes_through_review(text):
    """Without a status word in the name, the application is pending, reviewed, then approved."""
    chapter = text.split("Consumer applications")[1].split("Payment accounts")[0]
    seen = re.findall(r"user\.updated +\S (pending|manual review|approved)", chapter)

    assert seen == ["pending", "manual review", "approved"]


def test_money_is_conserved_at_each_step(text):
    """Available, held and posted less refunded are the same sum in every row of a ledger."""
    rows = re.findall(r"^.*?((?:[\d,]+\.\d\d USD *){4})$", text, re.MULTILINE)
    sums = set()
    for row in rows:
        available, held, posted, refunded = (
            int(amount.replace(",", "").replace(".", "")) for amount in re.findall(r"[\d,]+\.\d\d", row)
        )
        sums.add(available + held + posted - refunded)

    assert len(rows) == 8
    assert len(sums) == 1


def test_nothing_private_is_shown(text):
    """No personal or secret value of the bodies is in the text."""
    body = json.loads(Bodies().request("create_user_application").data)
    account = json.loads(Bodies().request("create_payment_account").data)["externalFiatAccount"]["accountNumber"]

    for private in (
        body["nationalId"],
        body["email"],
        body["firstName"],
        body["birthDate"],
        body["ipAddress"],
        account,
    ):
        assert private not in text


def test_the_chart_is_saved(tmp_path):
    """The chart that the page names exists."""
    text = written(tmp_path)

    assert str(tmp_path / "rewards.png") in text
    assert (tmp_path / "rewards.png").read_bytes().startswith(b"\x89PNG")


def unplaced(text):
    """Return a page without the path of its chart, and without the line breaks that a longer path would move."""
    return re.sub(r"\s+", " ", re.sub(r"\S+rewards\.png", "", text))


def test_the_same_every_time(text, tmp_path):
    """The page is the same, letter by letter, each time."""
    again = written(tmp_path)

    assert unplaced(again) == unplaced(text)


def test_files_of_the_user(tmp_path):
    """The files of a folder are used, ids the sandbox does not have are replaced, and the page says both."""
    body = json.loads(Bodies().request("simulate_authorization").data)
    body["amount"], body["declineReason"] = 777, "restricted_country"
    (tmp_path / "simulate_authorization.request.mine.json").write_text(json.dumps(body))
    text = written(tmp_path, tmp_path)

    assert "authorize 7.77: restricted country" in text
    assert "simulate_authorization.request.mine.json, from" in text
    assert "Its cardId does not exist in the sandbox" in text
    assert "create_user_application.request.personal.json, from this package" in text


def test_bodies_of_other_kinds(tmp_path):
    """A share token in place of a person, and a company's account, take part as well."""
    token = {"sumsubShareToken": "share-1", "ipAddress": "198.51.100.7", "occupation": "Baker", "annualSalary": "1",
             "accountPurpose": "everyday", "expectedMonthlyVolume": "1"}  # fmt: skip
    (tmp_path / "create_user_application.request.sumsub.json").write_text(json.dumps(token))
    account = json.loads(Bodies().request("create_payment_account").data)
    del account["userId"]
    account["companyId"] = "00000000-0000-4000-8000-00000000000a"
    (tmp_path / "create_payment_account.request.company.json").write_text(json.dumps(account))
    text = written(tmp_path, tmp_path)

    assert "Its companyId does not exist in the sandbox" in text
    assert "share-1" not in text
    assert "That is the end of the walk-through" in text


def test_every_answer_comes_back_whole():
    """The package's own answers go through the client without loss."""
    answers = Bodies().answers()

    assert [one["file"] for one in read_all(answers)] == [one.name for one in answers]
    assert len(answers) >= 6


@pytest.mark.parametrize(
    "name, data",
    [
        ("list_contracts.200.json", b'[{"id": 7}]'),
        ("sign_withdrawal.200.json", b'{"status": "ready", "expiresAt": "2026-01-01T01:00:00+01:00"}'),
        ("error.200.odd.json", b"{}"),
    ],
    ids=["another type", "written otherwise", "no error at all"],
)
def test_loss_is_noticed(tmp_path, name, data):
    """An answer that cannot be read, or would not be written again as it came, is an error that names the file."""
    (tmp_path / name).write_bytes(data)

    with pytest.raises(InvalidRequest, match=re.escape(name)):
        read_all(Bodies(tmp_path).answers())


def test_a_wrong_body_is_refused_with_all_its_problems(tmp_path):
    """A body that breaks rules is not sent; every problem is named, with the file."""
    (tmp_path / "create_user_application.request.json").write_text('{"email": "nobody", "shoeSize": 42}')

    with pytest.raises(InvalidRequest) as caught:
        written(tmp_path, tmp_path)
    assert {"ipAddress", "email", "shoeSize"} <= {problem.path for problem in caught.value.problems}
    assert "create_user_application.request.json" in str(caught.value)


def test_a_folder_that_is_not_there(tmp_path):
    """A missing folder is an error."""
    with pytest.raises(InvalidRequest, match="is not a folder"):
        Bodies(tmp_path / "nowhere")


def test_recorded_samples(tmp_path):
    """With the recorded samples the walk-through runs to its end, each answer without loss."""
    text = written(tmp_path, RECORDED)

    assert f"{sum('.request.' not in path.name for path in RECORDED.glob('*.json'))} answers and error bodies" in text
    assert "That is the end of the walk-through" in text


@pytest.mark.slow
@pytest.mark.parametrize("width", [60, 140])
def test_width_is_kept(tmp_path, width):
    """Lines stay within the terminal, but for ids, addresses and calls, which are never broken."""
    lines = written(tmp_path, width=width).splitlines()
    broken = [
        line for line in lines if len(line) > width and len(max(line.split(), key=len)) < 30 and ">>>" not in line
    ]

    assert [line for line in broken if "..." not in line and "─" not in line] == []


def test_ascii_terminals(tmp_path):
    """Where nothing beyond ASCII can be shown, nothing beyond it is written."""
    out = io.TextIOWrapper(io.BytesIO(), "ascii")
    tour(out=tmp_path, page=Page(out, Screen()))
    out.flush()

    assert "v approved" in out.buffer.getvalue().decode("ascii")


def test_color_changes_nothing_else(text, tmp_path):
    """On a terminal the same text comes with colors."""
    colored = written(tmp_path, color=True)

    assert "\x1b[1m" in colored
    bare = re.sub(r"\x1b\[\d+m", "", colored)
    assert unplaced(bare) == unplaced(text)
