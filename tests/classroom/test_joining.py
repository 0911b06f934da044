"""A learner joins a class by one link, and leaves it again."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import httpx
import pytest

import workbench as wb
from tests.notebooks.reading import COURSE, cells
from tests.notebooks.test_again import failures
from workbench.base.system.certificates import trusted
from workbench.base.system.process import HOSTED
from workbench.course import membership
from workbench.course.classroom import ClassServer
from workbench.course.classroom.exports import qr_code, sheets
from workbench.course.joining import leave
from workbench.course.task_files import EXERCISES
from workbench.sandbox.internals import internals
from workbench.sandbox.server import self_signed

pytestmark = pytest.mark.slow  # each test runs a class server


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path / "state"))
    before = set(HOSTED)
    yield tmp_path / "state"
    HOSTED.intersection_update(before)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ClassServer]:
    opened = ClassServer(["Ann"], tmp_path / "class")
    yield opened
    opened.close()


def link(server: ClassServer) -> str:
    return server.results.link(server.learners[0])


def test_a_link_of_a_self_signed_class_is_all_that_a_learner_needs(server: ClassServer, tmp_path: Path) -> None:
    certificate, key = tmp_path / "class-tls.crt", tmp_path / "class-tls.key"
    self_signed(certificate, key, ["127.0.0.1"])
    with server.serve(certfile=certificate, keyfile=key):
        joined = wb.course.join(f" {link(server)}\n")
        with wb.connect(seed=7) as api:
            assert internals(api.sandbox).hosted
            assert api.list_contracts()

        assert "CLASS: Ann" in str(joined)


def test_another_certificate_than_the_links_is_not_trusted(server: ClassServer, state: Path, tmp_path: Path) -> None:
    certificate, key = tmp_path / "class-tls.crt", tmp_path / "class-tls.key"
    self_signed(certificate, key, ["127.0.0.1"])
    with server.serve(certfile=certificate, keyfile=key):
        before, _, fingerprint = link(server).partition("#")
        for wrong in (f"{before}#{'0' * len(fingerprint)}", f"{before}#"):
            with pytest.raises(wb.WorkbenchError, match=r"certificate|cut off"):
                wb.course.join(wrong)

    assert not list(state.glob("class*"))


@pytest.mark.parametrize("person", ["ann:secret-pw@", ":secret-pw@", "secret-pw@", "@secret-pw:x@"])
def test_a_password_in_a_link_is_refused_and_not_repeated(state: Path, person: str) -> None:
    with pytest.raises(wb.errors.UsageError) as caught:
        wb.course.join(f"http://{person}127.0.0.1:9/olive-4f7m-qjxa")
    assert "secret-pw" not in str(caught.value)


def test_a_wrong_letter_and_a_dead_server_are_distinguished(server: ClassServer, state: Path) -> None:
    with server.serve():
        right = link(server)
        with pytest.raises(wb.errors.UsageError, match=r"no learner has the code .*letter by letter"):
            wb.course.join(right[:-1] + ("2" if right[-1] != "2" else "3"))
    with pytest.raises(wb.errors.NotSent, match=r"No answer from 127\.0\.0\.1:\d+: no class is served"):
        wb.course.join(right)

    assert not list(state.glob("class*"))


@pytest.mark.parametrize(
    "wrong",
    ["", "olive-4f7m-qjxa", "http://class.example:8700/olive-4f7m-qjxa", "https://[", "https://a:b/c", "https://a"],
)
def test_another_text_than_a_link_is_refused_with_its_form(wrong: str) -> None:
    with pytest.raises(wb.errors.UsageError, match="https://HOST:PORT/CODE#FINGERPRINT"):
        wb.course.join(wrong)


def test_a_sandbox_of_one_person_is_not_a_class() -> None:
    with wb.Sandbox().serve() as url, pytest.raises(wb.WorkbenchError, match="is not a class"):
        wb.course.join(f"{url}/olive-4f7m-qjxa")


def test_a_class_that_is_over_says_how_to_go_on_and_progress_comes_along(server: ClassServer) -> None:
    with server.serve():
        wb.course.join(link(server))
        with wb.connect(seed=7) as api:
            wb.course.task("start-1", api)
            card = api.sandbox.guide()["cards"]["active"][1]
            coffee = api.simulate_authorization(
                card_id=card, amount=420, currency="USD", merchant_name="Example Coffee", merchant_category_code="5814"
            )
            api.sandbox.settle(coffee.transaction_id)
            assert wb.course.check("start-1", api).ok
            assert server.learners[0].code not in repr(api.sandbox)
    with pytest.raises(wb.errors.NotSent, match="If it is over, `workbench course leave`") as refused:
        wb.connect(seed=7)
    assert server.learners[0].code not in str(refused.value)

    leave()
    with wb.connect(seed=7) as api:
        assert not getattr(api.sandbox, "_hosted", False)
    assert wb.course.progress().done == ("start-1",)
    assert "not in a class" in str(leave())


def test_effects_on_real_services_are_refused_until_the_class_is_left(server: ClassServer, tmp_path: Path) -> None:
    with server.serve():
        wb.course.join(link(server))
    HOSTED.clear()  # as in a process that has not joined
    settings = {"base_url": "https://api.example.com/v1", "api_key": "k" * 20, "journal": tmp_path / "journal.db"}
    with (
        wb.Client(**settings, environment="production") as real,
        pytest.raises(
            wb.errors.NotArmed, match=r"this is a class .if you joined by a link, `workbench course leave` leaves it"
        ),
    ):
        real.update_user(user_id="00000000-0000-4000-8000-000000000000", is_active=True)


def test_a_class_in_the_environment_comes_before_the_link(server: ClassServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with server.serve() as url:
        wb.course.join(link(server))
        monkeypatch.setitem(os.environ, "WORKBENCH_CLASS", f"{url}/other")

        assert membership.address().url == f"{url}/other"


@pytest.mark.soak
def test_the_notebook_of_webhooks_is_done_in_a_class_with_tls(server: ClassServer, tmp_path: Path) -> None:
    """The class counts deliveries to receivers on the learner's machine."""
    certificate, key = tmp_path / "class-tls.crt", tmp_path / "class-tls.key"
    self_signed(certificate, key, ["localhost"])
    notebook = next(path for path in COURSE if path.name.startswith("03"))
    with server.serve("0.0.0.0", hosts=["localhost"], certfile=certificate, keyfile=key):
        wb.course.join(link(server))
        solutions = [
            f'wb.course.task("{exercise}")\n{EXERCISES[exercise].answer}\nwb.course.check("{exercise}")'
            for exercise in ("webhooks-1", "webhooks-2")
        ]
        code = [*cells(notebook, "code"), *solutions]

        assert failures([(notebook.name, code)], tmp_path / "here", WORKBENCH_STATE=str(tmp_path / "state")) == ""
        done = server.results.progress()["Ann"]
        assert [done[exercise].done for exercise in ("webhooks-1", "webhooks-2")] == [True, True]


def test_arguments_of_an_embedded_sandbox_are_refused_without_the_url() -> None:
    """The error does not show the URL, which contains the learner's code."""
    with pytest.raises(wb.errors.UsageError, match="`seed` applies only to an embedded sandbox") as refused:
        wb.connect("http://127.0.0.1:9/maple-otter-31", seed=3)

    assert "maple" not in str(refused.value)


def decoded(svg: str) -> str:
    """Return the text of a QR code of version 4, decoded by ISO/IEC 18004 without error correction."""
    dark, x, y, size = set(), 0, 0, 33
    assert f"0 0 {size + 8} {size + 8}" in svg
    for command, right, down in re.findall(r"([Mmh])(-?\d+)(?: (-?[\d.]+))?", svg):
        if command == "h":  # a row of dark modules
            dark |= {(y - 4, column - 4) for column in range(x, x + int(right))}
        elif command == "M":
            x, y = 0, 0
        x, y = x + int(right), y + int(float(down or 0))
    mask = int("".join(str(int((8, column) in dark)) for column in (2, 3, 4)), 2) ^ 0b101
    flipped = (
        lambda y, x: (y + x) % 2, lambda y, x: y % 2, lambda y, x: x % 3, lambda y, x: (y + x) % 3, lambda y, x: (y // 2 + x // 3) % 2,
        lambda y, x: y * x % 2 + y * x % 3, lambda y, x: (y * x % 2 + y * x % 3) % 2, lambda y, x: ((y + x) % 2 + y * x % 3) % 2,
    )[mask]  # fmt: skip
    bits, upward = "", True
    for right in (
        *range(size - 1, 6, -2),
        *range(5, 0, -2),
    ):  # pairs of columns; the column of the timing pattern is left out
        for y in range(size - 1, -1, -1) if upward else range(size):
            for x in (right, right - 1):
                corner = (y < 9 and (x < 9 or x >= size - 8)) or (y >= size - 8 and x < 9)
                if not (corner or y == 6 or (abs(y - 26) <= 2 and abs(x - 26) <= 2)):
                    bits += str(int(((y, x) in dark) ^ (flipped(y, x) == 0)))
        upward = not upward
    assert bits[:4] == "0100"  # 0100 is the mode for bytes
    content = bits[12 : 12 + 8 * int(bits[4:12], 2)]
    return bytes(int(content[at : at + 8], 2) for at in range(0, len(content), 8)).decode()


def test_the_sheet_and_the_board_show_the_link_as_a_qr_code(server: ClassServer) -> None:
    """The QR code contains the link, which is also its alternative text."""
    address = f"https://class.example:8700/{server.learners[0].code}#{'9f86d081' * 4}"
    sheet = sheets({"Ann": address})
    (picture,) = re.findall(r"<img class='qr' alt='QR code of (.*?)' src='(.*?)'>", sheet)

    assert picture[0] == address
    assert decoded(unquote(picture[1])) == address
    with server.serve() as url:
        shown = httpx.get(f"{url}/board/link?learner=Ann", headers={"trainer-key": server.trainer_key}).json()
        assert shown == {
            "learner": "Ann",
            "link": link(server),
            "picture": qr_code(link(server)),
        }
        assert (
            httpx.get(f"{url}/board/link?learner=Bob", headers={"trainer-key": server.trainer_key}).status_code == 404
        )
        assert httpx.get(f"{url}/board/link?learner=Ann").status_code == 401


def test_connections_share_the_default_certificates() -> None:
    assert trusted(None) is trusted(None)
