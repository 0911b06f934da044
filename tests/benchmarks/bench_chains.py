"""What verifying a withdrawal's signature costs, beside `eth-account` in the same run, and what importing the package costs.

Run: python -m tests.benchmarks.bench_chains
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from tests.chains.cases import chance
from workbench.service.chains import digest, public_address, recover, sign, withdraw_typed_data

_ROUNDS = 40
_PER_ROUND = 25


def verification() -> tuple[float, float]:
    """Return microseconds per signature, ours and eth-account's: typed data to digest to address to comparison.

    Both take turns over the same cases, and the median of the rounds counts, so a busy machine slows both alike.
    """
    from eth_account import Account
    from eth_account.messages import encode_typed_data

    draw = chance(1)
    cases = []
    for _ in range(_PER_ROUND):
        secret = draw.secret()
        typed_data = withdraw_typed_data(**draw.withdrawal() | {"user": public_address(secret)})
        cases.append((typed_data, sign(digest(typed_data), secret), public_address(secret)))

    def ours() -> None:
        for typed_data, signature, address in cases:
            assert recover(digest(typed_data), signature) == address

    def theirs() -> None:
        for typed_data, signature, address in cases:
            message = encode_typed_data(full_message=typed_data)
            assert Account.recover_message(message, signature=signature) == address

    rounds = [(_timed(ours), _timed(theirs)) for _ in range(_ROUNDS)]
    return statistics.median(a for a, _ in rounds), statistics.median(b for _, b in rounds)


def _timed(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) / _PER_ROUND * 1e6


def import_cost(statement: str) -> float:
    """Return the milliseconds of a processor that a statement takes in a fresh interpreter, the best of seven."""
    code = f"import time; start = time.process_time(); {statement}; print(time.process_time() - start)"
    return min(
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) * 1e3
        for _ in range(7)
    )


def main() -> None:
    """Print the figures."""
    ours, theirs = verification()
    print(f"verify one EVM signature: ours {ours:.0f} µs, eth-account {theirs:.0f} µs, ratio {ours / theirs:.2f}")
    everything = "import workbench.service.chains as c; [getattr(c, name) for name in c.__all__]"
    used = f"{everything}; c.recover; import Crypto.Hash.keccak, Crypto.PublicKey.ECC, Crypto.Signature.eddsa"
    for what, statement in {
        "the package": "import workbench.service.chains",
        "the package and all it names": everything,
        "and the libraries behind it": used,
        "eth-account": "import eth_account",
    }.items():
        print(f"import {what}: {import_cost(statement):.0f} ms")


if __name__ == "__main__":
    main()
