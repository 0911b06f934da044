"""All behavior of sandbox and checks beyond the document is listed as an assumption, and every listed assumption is
used.
"""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings

import workbench
from tests.each import each
from tests.interface.test_interface import DOCUMENTED_FAILURES
from tests.sandbox.driver import Api
from tests.strategies import Break, breaks, broken
from workbench.base.schema.walk import build, leaves, record_of
from workbench.sandbox import Sandbox
from workbench.service.interface import table
from workbench.service.interface.assumptions import BEHAVIORS, assumptions
from workbench.service.interface.convert import converter, placeholders
from workbench.service.interface.events import EVENT_KINDS

IDS = {one.id for one in assumptions()}
ROOT = Path(workbench.__file__).parent
CODE = "\n".join(path.read_text() for path in ROOT.rglob("*.py") if path.name != "assumptions.py")

# Failures that the document states for all operations. Source: Errors.
ANYWHERE = {(401, "Unauthorized", "Invalid or missing API key"), (500, "InternalServerError", "Internal server error"),
            (403, "ForbiddenError", "Forbidden")}  # fmt: skip


def is_documented(operation: str | None, body: dict) -> bool:
    """Return whether the document shows an error, for the operation or for all operations."""
    error = (body["statusCode"], body["error"], body["message"])
    return error in ANYWHERE or (operation, *error) in DOCUMENTED_FAILURES


@each("key", sorted(BEHAVIORS))
def test_each_behavior_is_marked_where_it_is_made(key: str):
    """The code that follows an assumption has its id."""
    assert re.search(rf'"{key}"|assumed[^\n"]*\b{key}\b', CODE)


@pytest.mark.slow
@pytest.mark.parametrize("operation", table.OPERATIONS.values(), ids=lambda row: row.name)
def test_refusals_beyond_the_document_name_their_assumptions(operation):
    """With one broken rule at a time, every undocumented error names its assumption."""
    sandbox = Sandbox(seed=7)
    api = Api(sandbox)

    def check(how: Break) -> None:
        @settings(max_examples=1)
        @given(given=broken(operation, how))
        def answered(given):
            path, body = converter().write_request(operation, build(operation.request, given))
            target = operation.target(dict.fromkeys(placeholders(operation.path), "0" * 8) | path, {})
            sent = {name: str(value) for name, value in body.items()} if operation.in_query else body
            answer = api.call(operation.method, target, **({"query": sent} if operation.in_query else {"body": sent}))
            if answer.status >= 400 and not is_documented(operation.name, answer.body):
                assert answer.assumed, (how, answer.body)
            assert answer.assumed <= IDS

        answered()

    for how in breaks(operation.request):
        check(how)


SPECIAL = {
    "unknown_paths": ("GET", "/nothing", b"", {}),
    "content_type": ("POST", "/payment-accounts", b"{}", {"content_type": "text/plain"}),
    "body_size": ("POST", "/payment-accounts", b'"%b"' % (b"x" * 1_000_000), {}),
    "id_case": ("DELETE", "/payment-accounts/none", b"", {}),
    "email_format": ("POST", "/issuing/applications/user", b'{"email": "none"}', {}),
    "ip_format": ("POST", "/issuing/applications/user", b'{"ipAddress": "none"}', {}),
}


@each("key", SPECIAL)
def test_general_refusals_name_their_assumptions(key: str):
    """Refusals that all operations share name their assumption."""
    method, path, body, headers = SPECIAL[key]
    answer = Api(Sandbox(seed=7)).send(method, path, body, **headers)

    assert answer.status >= 400
    assert key in answer.assumed


FORMATS = {"email": "email_format", "ip": "ip_format", "uuid": "id_case"}
# Formats whose values the document states (a date), or that concern only the display.
DESCRIBED = {None, "date", "date-time", "decimal", "name", "phone", "password", "account-number", "long-text"}


def test_formats_are_documented_or_listed():
    """Each format of a member is documented or a listed assumption."""
    tops = [cls for row in table.OPERATIONS.values() for cls in (row.request, row.answer)]
    tops += [kind.body for kind in EVENT_KINDS.values()]
    found = {one.about.rule.format for top in tops for _, one in leaves(top) if record_of(one.kind) is None}

    assert set() == found - DESCRIBED - set(FORMATS)
    assert set() == set(FORMATS.values()) - IDS
