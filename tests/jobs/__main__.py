"""Run a script for each job of a developer, with the built wheel and only the packages that the script names.

    python -m tests.jobs            runs every script, and prints the table
    python -m tests.jobs NAME …     runs the named scripts
    python -m tests.jobs --write    also writes jobs.md
    python -m tests.jobs --pages    runs the examples of every page with every extra, for the matrix
    python -m tests.jobs --hour     runs the examples of README, from the first answer to the first test
    python -m tests.jobs --tests    runs the tests for jobs that need other programs

A script ends with status 0 if the job of its first line works. Times are wall times of the entire process.
"""

import ast
import doctest
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tests import environments
from tests.install.test_pages import PAGES, ROOT, commands, run_commands, run_page

SCRIPTS = Path(__file__).parent / "scripts"
PAGE = Path(__file__).with_name("jobs.md")
EXTRAS = ("", "tables", "server", "lab", "agents", "test")
TESTS = {
    "Clients of four OpenAPI generators make all twelve calls": "tests/openapi",
    "The image, its health, and the compose story": "tests/install/test_image.py",
    "The workflow for CI": "tests/install/test_ci.py",
    "A missing library names the command that installs it": "tests/install/test_extras.py",
    "A thirteenth operation, in three files": "tests/interface/test_thirteenth.py",
    "Completion in an editor, and at a prompt": "tests/test_completion.py",
    "Type checkers on a program of a user": "tests/test_docs_types.py",
    "A proxy, private authorities, certificates of clients": "tests/client/test_network.py tests/client/test_options.py",
    "Keys from variables, commands and the keyring": "tests/client/test_settings.py tests/client/test_key_renewal.py",
    "Files of another version": "tests/test_other_versions.py",
    "Schemathesis as it comes": "tests/service/test_schemathesis.py",
}
"""Jobs that tests of the checkout do, because the jobs need other programs."""
INTRODUCTION = """# What a developer does

Each line is a script of `tests/jobs/scripts`, run in an empty folder, from the built wheel, in an environment with only the extra that the line names.
`python -m tests.jobs --write` runs all of them and writes this page; the seconds are those of one run, the start of Python included.
"""
PARTS = {
    "## Tests of the checkout": "Jobs that need other programs are shown by tests of the checkout, without those of `make soak`\n"
    "(`python -m tests.jobs --tests --write`).",
    "## The first hour": "The examples of README, each in a separate process, in an environment with only the extra they name\n"
    "(`python -m tests.jobs --hour --write`). Installing is not among the seconds.\n\n"
    "A reader had to look up what each part installs, where ids come from, and what a request body holds: each section\n"
    "names its extra, the guide is in the first lines, and a skeleton is piped into the call.",
    "## Pages and extras": "Whether the Python examples of a page, and the commands of the README, run in an environment "
    "with the extra alone\n(`python -m tests.jobs --pages --write`). A page names the extra that it needs, and a test runs "
    "it with that.",
}
"""Headings of the page's other parts, each with its introduction."""


class Job(NamedTuple):
    """A script, its title, and the extra and other distributions that it needs."""

    path: Path
    title: str
    extra: str
    others: tuple[str, ...]


def jobs(names: Iterable[str] = ()) -> list[Job]:
    """Return the scripts with some names (default: all)."""
    chosen = set(names)
    found = []
    for path in sorted(SCRIPTS.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        stated = re.match(r'"""(.+)\.\n\nNeeds: (\w+)((?: \+ [\w-]+)*)\.\n"""', text)
        assert stated, path
        others = tuple(name for name in stated[3].split(" + ") if name)
        if not chosen or path.stem in chosen:
            found.append(Job(path, stated[1], "" if stated[2] == "base" else stated[2], others))
    return found


class Environments:
    """Environments with the built wheel, each created on first use."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wheel = environments.wheel(folder / "wheel")

    def python(self, extra: str, others: Iterable[str] = ()) -> Path:
        """Return the Python of an environment with an extra and other distributions."""
        made = self.folder / "-".join([extra or "base", *others])
        if not made.exists():
            needed = environments.closure([extra] if extra else [])
            for name in others:
                needed |= environments.closure_of(name)
            environments.make(made, needed)
            environments.install(made / "bin" / "python", self.wheel)
        return made / "bin" / "python"


def run(job: Job, python: Path, folder: Path) -> tuple[bool, float, str]:
    """Run a script in an empty folder; return whether it succeeded, its seconds, and its output."""
    folder.mkdir()
    (folder / "job.py").write_bytes(job.path.read_bytes())
    state = {"WORKBENCH_STATE": str(folder / "state"), "WORKBENCH_CONFIG": str(folder / "none"), "HOME": str(folder)}
    begun = time.monotonic()
    done = subprocess.run(
        [python, "job.py"], cwd=folder, env={**environments.clean(), **state}, capture_output=True, text=True,
        check=False, timeout=300,
    )  # fmt: skip
    return done.returncode == 0, time.monotonic() - begun, done.stdout + done.stderr


def matrix(made: Environments, folder: Path) -> list[str]:
    """Return the table of pages and extras: whether a page's Python examples, and the README's commands, run with an extra."""
    head = "| Page | Names | " + " | ".join(extra or "base" for extra in EXTRAS) + " |"
    lines = [head, "|---|---|" + "---|" * len(EXTRAS)]
    for page, named in PAGES.items():
        cells = []
        for extra in EXTRAS:
            try:
                tried = folder / f"{Path(page).stem}-{extra or 'base'}"
                run_page(made.python(extra), page, tried)
                if page == "README.md":  # other pages may show commands that are refused
                    run_commands(made.python(extra), page, tried.with_name(f"{tried.name}-commands"))
                cells.append("yes")
            except AssertionError:
                cells.append("**no**" if extra == named else "no")
        lines.append(f"| `{page}` | {named or 'base'} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines


def first_hour(made: Environments, folder: Path) -> list[str]:
    """Return a table of a user's first steps according to the README, and the recorded terminal.

    Each step is a command, or a program of the statements that the step needs, in a separate process.
    """
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    answer, rest = (
        code.examples for code in map(_session, re.findall(r"^```pycon\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    )
    connect = rest[:2]
    named = {
        "the first answer": ("", answer),
        "the first form": ("lab", [*connect, rest[2]]),
        "the first bulk run": ("lab", [*connect, rest[3], rest[4]]),
        "the first chart": ("lab", [*connect, *rest[5:]]),
    }
    programs = {
        title: (extra, ["python", "-c", "\n".join(map(_statement, code))], f"{len(code)} statements")
        for title, (extra, code) in named.items()
    }
    (test,) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    folder.mkdir()
    (folder / "test_handler.py").write_text(test, encoding="utf-8")
    count = len([line for line in test.splitlines() if line])
    programs["the first test of a handler"] = (
        "test",
        ["python", "-m", "pytest", "-q", "test_handler.py"],
        f"{count} lines",
    )
    *server, events = commands("README.md")
    for number, command in enumerate(server, 1):
        title = f"the first verified webhook, command {number} of {len(server)}"
        programs[title] = ("server", ["bash", "-c", command], "1 command")
    programs["its event as CSV"] = ("server", ["bash", "-c", events], "1 command")
    lines, record, total = ["| What | Extra | Written | Seconds |", "|---|---|---|---|"], [], 0.0
    state = {"WORKBENCH_STATE": str(folder / "state"), "WORKBENCH_CONFIG": str(folder / "none"), "HOME": str(folder)}
    for title, (extra, command, written) in programs.items():
        python = made.python(extra)
        environment = {**environments.clean(), **state, "PATH": f"{python.parent}:{os.environ['PATH']}"}
        begun = time.monotonic()
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        seconds = time.monotonic() - begun
        total += seconds
        lines.append(
            f"| {title} | {extra or 'base'} | {written} | {f'{seconds:.1f}' if not done.returncode else '**failed**'} |"
        )
        print(lines[-1], flush=True)
        shown = command[2] if command[0] == "bash" else " ".join(command) if command[1] == "-m" else command[2].strip()
        record += [f"$ {shown}", *(done.stdout + done.stderr).splitlines(), ""]
    lines.append(f"| all | | | {total:.1f} |")
    return [*lines, "", "The terminal, recorded:", "", "```text", *record[:-1], "```"]


def _statement(example: doctest.Example) -> str:
    """Return a statement of an interactive session. If the session shows the statement's value, the statement prints it."""
    statement = ast.unparse(ast.parse(example.source))
    return f"print(repr({statement}))" if example.want else statement


def _session(code: str) -> doctest.DocTest:
    return doctest.DocTestParser().get_doctest(code, {}, "README", None, 0)


def main(arguments: list[str]) -> int:
    """Run the requested scripts, tests and pages; return 1 if a script failed."""
    names = [name for name in arguments if not name.startswith("--")]
    failed = 0
    lines = ["| What | Installed | Seconds |", "|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        made = Environments(Path(folder))
        for job in jobs(names):
            python = made.python(job.extra, job.others)
            fine, seconds, printed = run(job, python, Path(folder) / f"run-{job.path.stem}")
            failed += not fine
            installed = " + ".join([job.extra or "base", *job.others])
            lines.append(
                f"| {job.title} (`{job.path.stem}`) | {installed} | {f'{seconds:.1f}' if fine else '**failed**'} |"
            )
            print(lines[-1], flush=True)
            if not fine:
                print(printed[-2000:], file=sys.stderr)
        tests = run_tests() if "--tests" in arguments else []
        hour = first_hour(made, Path(folder) / "hour") if "--hour" in arguments else []
        pages = matrix(made, Path(folder)) if "--pages" in arguments else []
    if "--write" in arguments and not names:
        PAGE.write_text("\n".join(page_lines(lines, tests, hour, pages)) + "\n", encoding="utf-8")
    return int(failed > 0)


def run_tests() -> list[str]:
    """Run the tests of `TESTS`, and return a table with the last line of pytest for each."""
    lines = ["| What | Test | Result |", "|---|---|---|"]
    for what, paths in TESTS.items():
        command = ["-m", "pytest", "-q", "-n", "0", "-m", "not soak", *paths.split()]
        done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)
        lines.append(f'| {what} | `pytest -m "not soak" {paths}` | {done.stdout.strip().splitlines()[-1]} |')
        print(lines[-1], flush=True)
    return lines


def page_lines(lines: list[str], *parts: list[str]) -> list[str]:
    """Return the lines of the page. A part that was not run is unchanged."""
    stored = PAGE.read_text(encoding="utf-8")
    written = [INTRODUCTION, *lines]
    for (heading, about), new in zip(PARTS.items(), parts, strict=True):
        old = stored.partition(f"{about}\n\n")[2].partition("\n\n## ")[0].splitlines()
        written += ["", heading, "", about, "", *(new or old)]
    return written


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)
    sys.exit(main(sys.argv[1:]))
