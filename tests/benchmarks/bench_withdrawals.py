"""Measure a withdrawal from plan to transaction without the service's time, and the import of the package.

`bench_chains` compares the verification of a signature with another library. Run: python -m tests.benchmarks.bench_withdrawals
"""

import statistics
import time
from collections.abc import Callable

import workbench as wb
from tests.benchmarks.bench_chains import import_cost
from tests.withdrawals.lessons import Service, answered
from workbench.service import chains
from workbench.service.chains.values import derive_secret

_ROUNDS = 200


def _timed(work: Callable[[], object]) -> float:
    """Return the median microseconds per call over several rounds."""
    rounds = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        work()
        rounds.append(time.perf_counter() - start)
    return statistics.median(rounds) * 1e6


def main() -> None:
    """Print the figures."""
    contract = wb.connect().list_contracts()[0]
    api = Service(contract, answered(contract))
    secret = derive_secret(b"bench", "admin")
    plan = api.plan()
    withdrawal = plan.sign()
    message = withdrawal.typed_data(nonce=0, admin=chains.public_address(secret))
    signature = chains.sign(message.digest, secret)
    half = message.accept(signature)
    transaction = withdrawal.transaction(half, direct_transfer=True)
    for what, work in {
        "plan, all checks": api.plan,
        "read the answer and compare it": plan.sign,
        "make the admin's message": lambda: withdrawal.typed_data(nonce=0),
        "check what the wallet gave back": lambda: message.accept(signature),
        "make the transaction, halves checked again": lambda: withdrawal.transaction(half, direct_transfer=True),
        "explain it": lambda: withdrawal.explain(transaction),
    }.items():
        print(f"{what}: {_timed(work):.0f} µs")
    print(f"import the package: {import_cost('import workbench.client.withdrawals'):.0f} ms")
    everything = "import workbench.client.withdrawals as w; [getattr(w, name) for name in w.__all__]"
    print(f"import the package and all it names: {import_cost(everything):.0f} ms")


if __name__ == "__main__":
    main()
