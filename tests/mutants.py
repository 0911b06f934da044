"""Mutation test: change a random place of the source, and check whether a test fails.

    python -m tests.mutants --count 400 --seed 27 --workers 2

The quick tier runs once on a copy of the tree, to record which test runs which line. Each mutant is then tested by the tests
that run its line, first with the quick tier (plain `pytest`). A survivor is tested by the files of these tests and of its
package's test folder, with the slow tier (`make test` without browser and notebooks). A line that runs only at import is
tested by the tests of its module. Messages, annotations and docstrings are not changed. A mutant that does not change the
behavior cannot be killed, so a person judges the printed survivors.
"""

import argparse
import ast
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PACKAGES = ("base/schema", "client", "sandbox", "analysis", "runs")
FIRST_TESTS, MAX_TESTS = 40, 300  # number of tests to run first for a mutant, and maximum number if these pass
MAX_FILES = 10  # maximum number of test files for a mutant; files of the mutated package are chosen first
# seconds of processor time per mutant, four times as many in the slow tier; a mutant that exceeds them counts as killed
SECONDS = 150
_QUICK = "not slow and not browser and not soak and not notebook"
IMPORTED = ("-W", "ignore::pytest.PytestAssertRewriteWarning")  # workers import libraries before pytest, which warns
_SLOW = "not browser and not soak and not notebook"
_SWAPS: Mapping[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
}  # fmt: skip


class Mutant(NamedTuple):
    """A change of one file: `text` replaces the source from `start` to `end`."""

    file: str
    line: int
    start: int
    end: int
    text: str

    def __str__(self) -> str:
        old = (ROOT / self.file).read_bytes()[self.start : self.end].decode()
        return f"{self.file}:{self.line}: {' '.join(old.split())[:70]}  →  {' '.join(self.text.split())[:70]}"


def _changed(node: ast.AST) -> Iterator[ast.AST | str]:
    """Yield replacements of a node."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in _SWAPS:
            yield ast.Compare(node.left, [_SWAPS[type(op)]()], node.comparators)  # type: ignore[list-item]
        case ast.BoolOp():
            yield ast.BoolOp(_SWAPS[type(node.op)](), node.values)  # type: ignore[arg-type]
            yield node.values[0]
        case ast.BinOp() if type(node.op) in _SWAPS and not _is_text(node.left) and not _is_text(node.right):
            yield ast.BinOp(node.left, _SWAPS[type(node.op)](), node.right)  # type: ignore[arg-type]
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.Constant(value=bool() as flag):
            yield ast.Constant(not flag)
        case ast.Constant(value=int() as number):
            yield ast.Constant(number + 1)
        case ast.IfExp():
            yield ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
        case ast.If():
            yield ast.UnaryOp(ast.Not(), node.test)
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield "return None"
        case ast.Expr(value=ast.Call() | ast.Await()):
            yield "pass"
        case ast.Call(keywords=[*rest, ast.keyword(arg=str())]) if node.args or rest:
            yield ast.Call(node.func, node.args, rest)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _places(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that may be changed, except annotations, messages, decorators and f-strings."""
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list"} or isinstance(node, ast.Raise | ast.JoinedStr):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                if isinstance(child, ast.Call) and getattr(child.func, "id", "") in {"Problem", "advise", "cast"}:
                    continue
                yield child
                yield from _places(child)


def mutants(file: Path) -> list[Mutant]:
    """Return all mutants of a file."""
    source = file.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node in _places(ast.parse(source)):
        for changed in _changed(node):
            place = node.test if isinstance(node, ast.If) else node
            start = starts[place.lineno - 1] + place.col_offset  # type: ignore[attr-defined]
            end = starts[place.end_lineno - 1] + place.end_col_offset  # type: ignore[attr-defined]
            text = changed if isinstance(changed, str) else f"({ast.unparse(changed)})"
            found.append(Mutant(str(file.relative_to(ROOT)), place.lineno, start, end, text))  # type: ignore[attr-defined]
    return found


FOLDERS = [
    *(
        f"tests/{name}"
        for name in (
            "client",
            "canaries",
            "interface",
            "withdrawals",
            "webhooks",
            "sandbox",
            "service",
            "tables",
            "rewards",
            "charts",
        )
    ),
    *(f"tests/{name}" for name in ("bulk", "sequences", "reports", "testing", "rendering", "chains")),
    *(f"tests/test_{name}.py" for name in ("session", "async_session", "mcp_server", "damage", "storage")),
]
"""Folders whose tests are recorded by line: tests of the mutated packages, and of packages that use them most."""

# tests by line


def record(tree: Path, out: Path, folders: list[str]) -> None:
    """Run the quick tier of some folders, and record which test functions run each line."""
    os.chdir(tree)
    import coverage
    import pytest

    run = coverage.Coverage(
        data_file=str(out) + ".coverage", config_file=False, include=[f"*/workbench/{name}/*" for name in PACKAGES]
    )
    failed: set[str] = set()

    class Recorder:
        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_setup(self, item: pytest.Item) -> None:
            run.switch_context(item.nodeid.partition("[")[0])

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.failed:
                failed.add(report.nodeid.partition("[")[0])

    run.start()
    pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", "-m", _QUICK, *folders], plugins=[Recorder()])
    run.stop()
    data, lines = run.get_data(), {}
    for file in data.measured_files():
        contexts = data.contexts_by_lineno(file).items()
        lines[str(Path(file).relative_to(tree))] = {
            line: sorted({test for test in tests if test} - failed) for line, tests in contexts
        }
    out.write_text(json.dumps({"lines": lines, "failed": sorted(failed)}))


def tests_of(mutant: Mutant, lines: Mapping[str, Mapping[str, list[str]]], chance: random.Random) -> list[str]:
    """Return the test functions that run the mutant's line, or its module if the line runs only at import."""
    of_file = lines.get(mutant.file, {})
    tests = of_file.get(str(mutant.line)) or sorted({test for row in of_file.values() for test in row})
    files = Counter(test.partition("::")[0] for test in tests)
    package = mutant.file.split("/")[-2]
    chosen = sorted(files, key=lambda file: (file.split("/")[1] != package, -files[file]))[:MAX_FILES]
    near = [test for test in tests if test.partition("::")[0] in chosen]
    return chance.sample(near, min(MAX_TESTS, len(near)))


# running the tests


def failure(tree: Path, tests: list[str], marks: str) -> str | None:
    """Return the first test that fails in a tree, in a process forked from this process; None if all pass."""
    if not tests:
        return None
    tests = sorted(tests)
    note = tree / "failed.txt"
    note.write_text("")
    seconds = SECONDS * (4 if marks == _SLOW else 1)
    child = os.fork()
    if child == 0:
        os.setsid()
        # the limit is processor time, so that a busy machine kills no mutant
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        os.chdir(tree)
        with Path(os.devnull).open("w") as nothing:
            os.dup2(nothing.fileno(), 1)
            os.dup2(nothing.fileno(), 2)
        import pytest

        class Noted:
            def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
                if report.failed:
                    note.write_text(report.nodeid)

        status = 1
        try:
            options = ["-q", "-x", "-n", "0", "-p", "no:cacheprovider", "-m", marks, *IMPORTED, *tests]
            status = pytest.main(options, plugins=[Noted()])
        finally:
            os._exit(int(status))
    until = time.monotonic() + 8 * seconds  # wall-clock limit, because a mutant may wait without using processor time
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            passed = os.waitstatus_to_exitcode(status) in (0, 5)  # 5 means that the tier has no test for this mutant
            return None if passed else note.read_text() or tests[0]
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return tests[0]


def fate(tree: Path, mutant: Mutant, tests: list[str], slow: bool) -> str:
    """Return the result of the tests for a mutant in a tree.

    The result is the tier that kills the mutant ("quick" or "slow"), "survives", or "invalid" if the failing test also fails
    without the mutant.
    """
    path = tree / mutant.file
    source = (ROOT / mutant.file).read_bytes()
    path.write_bytes(source[: mutant.start] + mutant.text.encode() + source[mutant.end :])
    try:
        failed, end = failure(tree, tests[:FIRST_TESTS], _QUICK), "quick"
        if failed is None:
            failed = failure(tree, tests[FIRST_TESTS:], _QUICK)
        if failed is None and slow:
            folder = ROOT / "tests" / mutant.file.split("/")[-2]
            own = {str(path.relative_to(ROOT)) for path in folder.glob("test_*.py")}
            files = sorted(own | {test.partition("::")[0] for test in tests})
            failed, end = failure(tree, files, _SLOW), "slow"
        path.write_bytes(source)
        if failed is None:
            return "survives"
        return end if failure(tree, [failed.partition("[")[0]], _SLOW) is None else "invalid"
    finally:
        path.write_bytes(source)


def work(
    number: int,
    folder: Path,
    slow: bool,
    jobs: "multiprocessing.Queue[object]",
    out: "multiprocessing.Queue[object]",
) -> None:
    """Test mutants from a queue in a copy of the tree."""
    tree = copy_tree(folder / f"tree{number}")
    for library in (
        "cattrs",
        "httpx",
        "hypothesis.strategies",
        "matplotlib.pyplot",
        "pandas",
        "pyarrow.parquet",
    ):
        import_module(library)  # import once, before the processes fork

    while (job := jobs.get()) is not None:
        mutant, tests = job  # type: ignore[misc]
        out.put((mutant, fate(tree, mutant, tests, slow)))


def copy_tree(to: Path) -> Path:
    """Copy the tracked files and the installed tools of OpenAPI into a folder, and return the folder."""
    for name in subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split():
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, to / name)
    subprocess.run(["git", "init", "-q"], cwd=to, check=True)
    tools = Path("tests/openapi/node_modules")
    if (ROOT / tools).is_dir():  # without these tools, tests would be skipped and kill no mutant
        (to / tools).symlink_to(ROOT / tools)
    return to


def main() -> None:
    """Run the mutation test, and print the table and the survivors."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--count", type=int, default=400, help="number of mutants")
    options.add_argument("--seed", type=int, default=27, help="seed of the choice")
    options.add_argument("--workers", type=int, default=2, help="processes")
    options.add_argument("--minutes", type=float, default=600, help="stop after this time")
    options.add_argument("--quick", action="store_true", help="try the quick tier alone")
    options.add_argument("--packages", nargs="+", default=PACKAGES, help="packages whose files are changed")
    options.add_argument("--map", type=Path, help="file of the lines that each test runs; written if it is missing")
    chosen = options.parse_args()
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True
    with tempfile.TemporaryDirectory() as name:
        _run(chosen, Path(name))


def _run(chosen: argparse.Namespace, folder: Path) -> None:
    lines_file = chosen.map or folder / "lines.json"
    if not lines_file.exists():
        process = multiprocessing.Process(
            target=record, args=(copy_tree(folder / "tree"), lines_file.resolve(), FOLDERS)
        )
        process.start()
        process.join()
    recorded = json.loads(lines_file.read_text())
    chance = random.Random(chosen.seed)
    files = [file for name in chosen.packages for file in sorted((ROOT / "workbench" / name).rglob("*.py"))]
    all_mutants = [mutant for file in files for mutant in mutants(file)]
    sample = chance.sample(all_mutants, min(chosen.count, len(all_mutants)))
    print(f"{len(all_mutants):,} places to change; {len(sample)} of them by seed {chosen.seed}", flush=True)
    if recorded["failed"]:
        print(f"{len(recorded['failed'])} tests fail without a change, and are left out", flush=True)
    jobs: multiprocessing.Queue[object] = multiprocessing.Queue()
    out: multiprocessing.Queue[tuple[Mutant, str]] = multiprocessing.Queue()
    for mutant in sample:
        jobs.put((mutant, tests_of(mutant, recorded["lines"], chance)))
    workers = [
        multiprocessing.Process(target=work, args=(n, folder, not chosen.quick, jobs, out))
        for n in range(chosen.workers)
    ]
    for worker in workers:
        jobs.put(None)
        worker.start()
    fates: list[tuple[Mutant, str]] = []
    began = time.monotonic()
    while len(fates) < len(sample) and time.monotonic() - began < 60 * chosen.minutes:
        mutant, end = out.get()
        fates.append((mutant, end))
        if end != "quick":
            print(f"{end}: {mutant}", flush=True)
        if len(fates) % 25 == 0:
            report(fates, slow=not chosen.quick)
    for worker in workers:
        worker.terminate()
    report(fates, slow=not chosen.quick)


def report(fates: list[tuple[Mutant, str]], *, slow: bool) -> None:
    """Print how many mutants of each package are killed by each tier."""
    packages: dict[str, Counter[str]] = defaultdict(Counter)
    for mutant, end in fates:
        if end == "invalid":
            continue
        packages[mutant.file.split("/")[-2]][end] += 1
        packages["all"][end] += 1
    for package, ends in packages.items():
        count = ends.total()
        both = ends["quick"] + ends["slow"]
        more = f", make test {both} ({both / count:.0%})" if slow else ""
        print(f"{package}: {count} mutants, pytest kills {ends['quick']} ({ends['quick'] / count:.0%}){more}")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
