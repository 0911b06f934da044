"""Test a handler with pytest, in two processes.

Needs: test + pytest-xdist.
"""

import subprocess
import sys
from pathlib import Path

Path("test_it.py").write_text("""
import pytest

@pytest.mark.parametrize("amount", range(100, 110))
def test_it(workbench_session, amount):
    api = workbench_session
    before = len(api.sandbox.records("transaction"))
    card = api.sandbox.guide()["cards"]["active"][0]
    api.simulate_authorization(
        card_id=card, amount=amount, currency="USD", merchant_name="Shop", merchant_category_code="5942"
    )
    assert len(api.sandbox.records("transaction")) == before + 1
""")
done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-n", "2"], capture_output=True, text=True)
assert "10 passed" in done.stdout, done.stdout
