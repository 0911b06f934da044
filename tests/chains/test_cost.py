"""What the package may cost, measured beside another library in the same run."""

import pytest

from tests.benchmarks.bench_chains import import_cost, verification

pytestmark = pytest.mark.slow


def test_verification_costs_a_third():
    """Verifying one EVM signature costs at most a third of doing it with eth-account; the best of three runs counts."""
    pytest.importorskip("eth_account")

    assert min(ours / theirs for ours, theirs in (verification() for _ in range(3))) <= 1 / 3


def test_the_import_costs_little():
    """The package and everything it names are imported within 100 ms."""
    assert import_cost("import workbench.chains as c; [getattr(c, name) for name in c.__all__]") <= 100
