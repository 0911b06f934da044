"""Measure signing and verifying a withdrawal, importing and installing, and compare with `eth-account` in the same run.

Run: python -m tests.benchmarks.bench_chains (`--install` needs a package index and some minutes)
"""

import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from tests.benchmarks.bench_install import ROOT, install
from tests.chains.cases import chance
from workbench.service.chains import digest, public_address, recover, sign, withdraw_typed_data

_ROUNDS = 12
_PER_ROUND = 25


Figures = tuple[float, float]
"""The workbench's figure, and the figure of eth-account."""


def signatures() -> tuple[Figures, Figures]:
    """Return the CPU microseconds to sign typed data, and to verify it (digest, recovered address, comparison).

    The two libraries take turns with the same cases, and the median of the rounds counts, so a busy machine slows both alike.
    """
    from eth_account import Account
    from eth_account.messages import encode_typed_data

    draw = chance(1)
    cases = []
    for _ in range(_PER_ROUND):
        secret = draw.secret()
        typed_data = withdraw_typed_data(**draw.withdrawal() | {"user": public_address(secret)})
        cases.append((typed_data, secret, sign(digest(typed_data), secret), public_address(secret)))

    def sign_ours() -> None:
        for typed_data, secret, signature, _ in cases:
            assert sign(digest(typed_data), secret) == signature

    def sign_theirs() -> None:
        for typed_data, secret, signature, _ in cases:
            message = encode_typed_data(full_message=typed_data)
            assert Account.sign_message(message, secret).signature == signature

    def verify_ours() -> None:
        for typed_data, _, signature, address in cases:
            assert recover(digest(typed_data), signature) == address

    def verify_theirs() -> None:
        for typed_data, _, signature, address in cases:
            message = encode_typed_data(full_message=typed_data)
            assert Account.recover_message(message, signature=signature) == address

    return _median(sign_ours, sign_theirs), _median(verify_ours, verify_theirs)


def _median(ours: Callable[[], None], theirs: Callable[[], None]) -> Figures:
    rounds = [(_timed(ours), _timed(theirs)) for _ in range(_ROUNDS)]
    return statistics.median(a for a, _ in rounds), statistics.median(b for _, b in rounds)


def _timed(work: Callable[[], None]) -> float:
    start = time.process_time()
    work()
    return (time.process_time() - start) / _PER_ROUND * 1e6


def import_cost(statement: str) -> float:
    """Return the CPU milliseconds of a statement in a fresh interpreter: the best of seven runs."""
    code = f"import time; start = time.process_time(); {statement}; print(time.process_time() - start)"
    return min(
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) * 1e3
        for _ in range(7)
    )


def main() -> None:
    """Print the figures."""
    print(
        f"Python {platform.python_version()}, pycryptodome {version('pycryptodome')}, eth-account {version('eth-account')}"
    )
    for what, (ours, theirs) in zip(("sign", "verify"), signatures(), strict=True):
        print(f"{what} typed data: ours {ours:.0f} µs, eth-account {theirs:.0f} µs, ratio {ours / theirs:.2f}")
    everything = "import workbench.service.chains as c; [getattr(c, name) for name in c.__all__]"
    used = f"{everything}; c.recover; import Crypto.Hash.keccak, Crypto.PublicKey.ECC, Crypto.Signature.eddsa"
    for what, statement in {
        "the package": "import workbench.service.chains",
        "the package and all it names": everything,
        "and the libraries behind it": used,
        "eth-account": "import eth_account",
    }.items():
        print(f"import {what}: {import_cost(statement):.0f} ms")
    for wanted in (str(ROOT), "eth-account") if "--install" in sys.argv else ():
        with tempfile.TemporaryDirectory() as folder:
            packages, megabytes, _ = install(Path(folder), wanted)
            what = "the base of the workbench" if wanted == str(ROOT) else wanted
            print(f"install {what}: {packages} packages, {megabytes:.0f} MB", flush=True)


if __name__ == "__main__":
    main()
