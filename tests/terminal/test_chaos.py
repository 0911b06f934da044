"""`workbench events chaos`."""

from tests.chaos.handlers import WRONG, Ledger
from tests.chaos.test_campaign import served


def run(wb, ledger: Ledger, *more: str):
    with served(ledger) as url:
        return wb(
            "events",
            "chaos",
            "--handler",
            f"{url}/webhooks",
            "--books",
            f"{url}/books",
            *more,
            "--reset",
            f"{url}/reset",
        )


def test_a_right_handler_ends_with_0(wb, tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text("purchases = 10", encoding="utf-8")
    ended = run(wb, Ledger(), "--plan", str(plan))

    assert (ended.code, "✓ right" in ended.out) == (0, True)


def test_a_wrong_one_ends_with_5_and_the_shortest_sequence(wb, tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text("purchases = 10\nforged = 0.5", encoding="utf-8")
    ended = run(wb, WRONG["forgeries are refused"](), "--plan", str(plan))

    assert ended.code == 5
    assert "The shortest sequence" in ended.out


def test_the_key_of_the_environment_signs(wb, monkeypatch, tmp_path):
    monkeypatch.setenv("WORKBENCH_WEBHOOK_KEY", "another")
    plan = tmp_path / "plan.toml"
    plan.write_text("purchases = 3", encoding="utf-8")

    assert "refused at each try (401)" in run(wb, Ledger(), "--plan", str(plan)).out


def test_books_that_cannot_be_read_are_an_error(wb, tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text("purchases = 1", encoding="utf-8")
    ended = wb(
        "events", "chaos", "--handler", "http://127.0.0.1:9/", "--books", "http://127.0.0.1:9/", "--plan", str(plan)
    )

    assert ended.code == 2
    assert "does not answer" in ended.err
