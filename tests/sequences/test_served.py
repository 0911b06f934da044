"""The catalogue gives the same hashes over HTTP as in process."""

from collections.abc import Iterator

import pytest

from tests.each import some
from workbench.client.session import connect
from workbench.runs.sequences import catalogue, run
from workbench.sandbox import Sandbox


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Sandbox, str]]:
    sandbox = Sandbox(seed=3)
    with sandbox.serve() as url:
        yield sandbox, url


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", some(3, [name for name, one in catalogue.items() if one.profile in (None, "documented")])
)
def test_a_sequence_has_the_same_result_on_a_served_sandbox(served: tuple[Sandbox, str], name: str) -> None:
    """The run meets its expectations, with the hash of an embedded run."""
    sandbox, url = served
    sandbox.reset()
    embedded = run(sandbox.fork(), catalogue[name])
    with connect(url) as api:
        result = run(api, catalogue[name])

    assert result.ok, result.verdict
    assert result.hash == embedded.hash
