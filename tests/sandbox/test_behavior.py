"""One argument sets the behavior of a sandbox: a name, a TOML file, or a mapping."""

import pytest

import workbench as wb
from workbench import testing
from workbench.base.errors import UsageError
from workbench.sandbox.internals import internals

OBSERVED = {"behavior": "observed", "settle_route": False, "currency": ["USD", "EUR"]}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "acme.toml"
    path.write_text('behavior = "observed"  # seen in March\nsettle_route = false\ncurrency = ["USD", "EUR"]\n')
    return path


def test_a_file_a_mapping_and_a_session_agree(file) -> None:
    """File, mapping and session give the same settings and the same name of the base behavior."""
    sandboxes = [
        wb.Sandbox(behavior=OBSERVED), wb.Sandbox(behavior=file), wb.Sandbox(behavior=str(file)),
        wb.connect(behavior=str(file)).sandbox, testing.session(behavior=OBSERVED).sandbox,
    ]  # fmt: skip

    assert {sandbox.behavior for sandbox in sandboxes} == {"observed"}
    assert all(
        internals(sandbox).engine.environment.settings == internals(sandboxes[0]).engine.environment.settings
        for sandbox in sandboxes
    )
    assert (
        internals(sandboxes[0]).engine.environment.settings["settle_route"],
        internals(sandboxes[0]).engine.environment.settings["currency"],
    ) == (False, ("USD", "EUR"))
    assert internals(sandboxes[0]).engine.environment.settings["bearer_keys"]


def test_a_mapping_without_a_name_differs_from_the_documented_behavior() -> None:
    sandbox = wb.Sandbox(behavior={"rate_limit": 100})

    assert (
        sandbox.behavior,
        internals(sandbox).engine.environment.settings["rate_limit"],
        internals(sandbox).engine.environment.settings["bearer_keys"],
    ) == (
        "documented",
        100,
        False,
    )


@pytest.mark.parametrize(
    "behavior, words",
    [
        ("observd", "did you mean observed"),
        ("missing.toml", "cannot be read: missing.toml"),
        ({"rate_limits": 1}, "behavior.rate_limits is not a setting of the sandbox; did you mean rate_limit"),
        ({"behavior": "live"}, "must be one of documented, observed"),
        ({"rate_limit": -1}, "behavior.rate_limit must be one of .* or another value of this type from 0 to"),
        ({"rate_limit": float("nan")}, "behavior.rate_limit must be one of"),
        ({"tightened_roles": {"list_contract": "x"}}, "tightened_roles.list_contract is not .*; did you mean list_con"),
        ({"extra_members": {"user.update/x": {}}}, "behavior.extra_members.user.update/x is not an operation or event"),
        (7, "must be one of documented, observed, the path of a .toml file, a mapping of settings"),
    ],
)
def test_what_is_not_a_behavior_is_named(behavior, words) -> None:
    for make in (wb.Sandbox, wb.connect, testing.session):
        with pytest.raises(UsageError, match=words):
            make(behavior=behavior)


def test_a_file_that_is_not_toml_is_named(tmp_path) -> None:
    (tmp_path / "x.toml").write_bytes(b"\xff = 1")
    with pytest.raises(UsageError, match=r"is not TOML: x.toml"):
        wb.Sandbox(behavior=tmp_path / "x.toml")


@pytest.mark.parametrize("text", ["'a'" + ".'a'" * 100_000 + " = 1", "#" * 1_000_001], ids=["names", "size"])
def test_a_file_beyond_the_limits_is_refused(tmp_path, text) -> None:
    """A file beyond the limits of size and depth is refused immediately."""
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(UsageError, match=r"parts|bytes"):
        wb.Sandbox(behavior=tmp_path / "x.toml")


def test_many_unknown_settings_are_not_compared_one_by_one() -> None:
    with pytest.raises(UsageError) as refused:
        wb.Sandbox(behavior={f"a{number}": 1 for number in range(100_000)})

    assert len(refused.value.problems) == 20
