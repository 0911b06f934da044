"""Search each place and each form of display for every planted private value; none occurs where it does not belong.

The places are in `places.PLACES` and `faces.FACES`, the values in `planted.PLANTED`. Errors in all traceback modes are
in `test_tracebacks`; shell histories and notebooks in `test_sessions`; dumps of objects with keys, and hashes, in
`test_keys`; revealed and deleted values in `test_shown`; made-up people in `test_reserved`.
"""

from pathlib import Path

import pytest

from tests.canaries.conftest import Life
from tests.canaries.faces import FACES
from tests.canaries.places import PLACES, Place
from tests.canaries.planted import PLANTED, found

NOT_SENT = {"private key", "seed phrase"}  # the workbench rejects these values before it sends a request
KEPT_HERE = {"webhook key"}  # the workbench signs with this key, and never sends it


def test_there_are_forty() -> None:
    """At least forty values are planted, and none is part of another, so each is found separately."""
    assert len(PLANTED) >= 40
    assert [] == [
        (one, other) for one in PLANTED.values() for other in PLANTED.values() if one != other and one in other
    ]
    assert len(set(PLANTED.values())) == len(PLANTED)


def test_each_value_was_sent_or_received(life: Life) -> None:
    """Each planted value was sent to a service or received from one, except the values that are never sent."""
    assert set(PLANTED) - NOT_SENT - KEPT_HERE == set(found(b"\n".join(life.went)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.base.errors.AdviceWarning")
@pytest.mark.parametrize(
    "place",
    [pytest.param(one, id=name, marks=pytest.mark.slow if one.slow else ()) for name, one in (PLACES | FACES).items()],
)
def test_none_stands_where_it_does_not_belong(place: Place, life: Life, tmp_path: Path) -> None:
    """A place contains exactly the planted and drawn values that are expected there."""
    texts = [one if isinstance(one, str) else one.decode("latin-1") for one in place.read(life, tmp_path)]
    held = {name: one for one in texts for name in found(one, life.drawn)}

    assert any(place.says in one for one in texts)
    assert place.belongs == set(held), {name: one[:200] for name, one in held.items() if name not in place.belongs}


def test_files_are_their_owners_alone(life: Life) -> None:
    """Only the owner can access the files: journal, runs, inbox and state."""
    files = [one for one in life.folder.rglob("*") if one.stat().st_mode & 0o077]

    assert [] == files
