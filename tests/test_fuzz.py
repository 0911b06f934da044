"""Any file, answer or request is read, or is refused with a workbench error, in limited time and memory."""

from pathlib import Path

import pytest

from tests import fuzz

FEW = {"toml": 60, "csv": 150, "xlsx": 20, "parquet": 100, "logs": 15, "answers": 100, "http": 40}
MORE_MEMORY = 100  # maximum memory in MB that a campaign may add after its first tenth


@pytest.mark.slow
@pytest.mark.parametrize("target", FEW)
def test_a_few(target: str, tmp_path: Path) -> None:
    """The cases raise only workbench errors."""
    report = fuzz.run(target, FEW[target], 1, tmp_path)

    assert {} == report.failures, str(report)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("target", fuzz.TARGETS)
def test_a_hundred_thousand(target: str, tmp_path: Path) -> None:
    """The cases raise only workbench errors, none takes a second of processor time, and memory use is bounded."""
    report = fuzz.run(target, 100_000, 2026, tmp_path)
    print(f"\n{report}")

    assert {} == report.failures
    assert report.longest < fuzz.SECOND
    assert max(report.memory) - report.memory[0] < MORE_MEMORY
