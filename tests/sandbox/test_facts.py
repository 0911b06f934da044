"""The sandbox follows the interface document, except for the listed departures."""

import pytest

from tests.sandbox import facts


@pytest.mark.slow
@pytest.mark.parametrize("behavior", facts.BEHAVIORS)
def test_only_listed_facts_are_not_kept(behavior):
    assert sorted(facts.departures(behavior)) == sorted(facts.DEPARTURES[behavior])


@pytest.mark.slow
def test_the_page_is_renewed():
    assert facts.PAGE.read_text(encoding="utf-8") == facts.page()


def test_a_fact_that_is_not_kept_is_seen():
    """The check of a claim fails if the answer differs from the claim."""
    refused = facts.Fact("Endpoints", "an application is refused", facts.sent(facts.apply(), 400))

    assert not facts.kept(refused, "documented")
