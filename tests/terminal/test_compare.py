"""`workbench sequences compare` lists what differs between two services."""

import json
import re


def test_compare(wb) -> None:
    """Two behaviors by chosen sequences; exit code 5 where anything differs."""
    differing = wb("sequences", "compare", "documented", "observed", "--sequence", "reverse-full", "-o", "json")
    same = wb("sequences", "compare", "documented", "documented", "--sequence", "reverse-full")

    assert differing.code == 5
    assert ("reverse-full", "event 2") in {(one["of"], one["path"]) for one in json.loads(differing.out)}
    assert same.code == 0
    assert re.search(r"compared 1 sequence, .* values: no difference", same.err)
    assert wb("sequences", "compare", "documented", "observed", "--sequence", "nope").code == 2
