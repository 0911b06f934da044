"""Names, docstrings, messages, help, pages and notebooks are in standard English.

`python tests/test_words.py workbench/client/calls docs` lists the findings in packages and folders, with a reason for each.
"""

import ast
import functools
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

ROOT = Path(__file__).parent.parent

PHRASES = {
    r"told": "say what happened: reported, sent, given",
    r"c[ao]mes? of": "result, outcome",
    r"odd(?:ly|ities|ity)?": "unusual, unexpected; or name what is wrong",
    r"the whole": "the entire …, all of …; or name the thing",
    r"mend(?:s|ed|ing)?": "fix",
    r"nobody knows": "unknown",
    r"of one's own": "your own, a separate",
    r"in the air": "in flight",
    r"as it was at first|begin again": "initial state, reset",
    r"so many": "N, as many",
    r"(?<!there )is no(?= (?!longer|more|such))": "is not a",
    r"(?<!there )(?:are|is) nothing to": "does not apply to",
    r"wherever it may": "wherever possible",
    r"guess(?:es|ed|ing)?": "assumption",
    r"from now on": "leave it out",
    r"nobody answers": "connection refused",
    r"no words of": "no error message",
    r"found out": "rejected, determined",
    r"later and later": "at growing intervals",
    r"in vain": "without a result, timed out",
    r"go(?:es)? on with": "resume, continue",
    r"said aloud|says? aloud": "explicit",
    r"private house|the house|houses?|rooms?|floors?|doors?": "package, layer, HTTP server",
    r"couriers?|crews?": "dispatcher, thread pool",
    r"drips?|dripping|storms?": "slow body, load test",
    r"the faces|a face|each face|every face": "interface: Python, terminal, notebook",
}
"""Phrases to avoid, with replacements."""

STARTS = {
    r"Gives?\b": "Return …, Yield …, Read …",
    r"Have\b": "say what the call does: Inject …, Return …",
}
"""Words that do not begin a docstring or a help line."""

BRITISH = (
    r"(?:colour|behaviour|favour|honour|neighbour)\w*|(?:cancell|labell|modell|signall|travell)(?:ed|ing|er|able)|"
    r"centre[sd]?|licence[sd]?|fulfil(?:s|ment)?|programmes?|artefacts?|whilst|learnt|spelt|grey\w*|defence|"
    r"analys(?:e[sd]?|ing)|(?:\w*(?:recogn|organ)|(?:un|re)?(?:normal|serial|initial|author|real|final|custom|synchron|"
    r"minim|maxim|optim|summar|random|util|emphas|categor|character|standard|special|general|visual|token|capital))"
    r"is(?:e[sdr]?|ing|ations?|able)"
)
CODE = r"(?<![\w.#&/$%+-])[A-Z][0-9]{1,2}(?![\w.:/-])"

RIGHT = {
    r"V[12](?= EVM)|V[12] contracts?|versions? V[12]": "versions of contracts, as the interface document calls them",
    r"odd (?:number|length|count)|odd-length": "not even",
    r"be guessed|guess(?:es)? (?:of )?the number": "attacks on hashes of short numbers",
    r"(?:much|more|enough|no|little) room|rooms? for": "space",
    r"Blue Door": "the name of a merchant",
    r"percentage of the whole": "mathematics",
    r"\"[A-Z][0-9]+\"(?=,?  )|\"T20\"": "rules of ruff",
    r"floor(?= division|\()|math\.floor": "rounding down",
    r"(?:A|B|C)[1-9](?= cell)|cell [A-Z][1-9]": "cells of a spreadsheet",
}
"""Texts in which a listed word is right, with reasons."""

OLD_NAMES = """
    Turn Ground Together Front Heard Said Told Line Aside Doing Beside Still Gauge Crew Courier Hold Unkept Slip Question
    Walk Venue Miss WaitedInVain NothingArrived TIRED PATIENCE _LOOK tired look_at let_go hold_against discreet strike
    tell told enlist at_work arrive glimpse lying wrong bad _thawed _sooner wary NOTHING_MORE Known W L S G
    mine forget heard said
"""
"""Replaced names of classes, functions, methods, attributes and constants."""
OF_ASYNCIO = {"_timer_handle_cancelled"}
"""Names that asyncio gives to the methods of a loop."""
OLD_PARTS = "guess guesses guessed courier crew drip house told heard behaviour colour cancelled"
"""Words that do not occur in names of classes, functions, arguments, attributes or constants."""

SELF = Path(__file__).name


@attrs.frozen
class Finding:
    """A listed word in a text."""

    path: str
    line: int
    found: str
    instead: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.found}  → {self.instead}"


@attrs.frozen
class Text:
    """A text that a person reads, with its line, and whether its first words are checked."""

    line: int
    text: str
    starts: bool = False


def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE)


PATTERNS = [(_pattern(words), instead) for words, instead in PHRASES.items()]
PATTERNS.append((_pattern(BRITISH), "American spelling"))
PATTERNS.append((re.compile(CODE), "say the promise in words"))
STARTS_PATTERNS = [(re.compile(words), instead) for words, instead in STARTS.items()]
RIGHT_PATTERN = re.compile("|".join(RIGHT))


def problems(path: str, texts: list[Text]) -> Iterator[Finding]:
    """Yield the listed words in some texts."""
    for text in texts:
        plain = RIGHT_PATTERN.sub(lambda right: " " * len(right.group()), text.text)
        for pattern, instead in PATTERNS:
            for found in pattern.finditer(plain):
                line = text.line + plain.count("\n", 0, found.start())
                around = " ".join(plain[max(0, found.start() - 25) : found.end() + 15].split())
                yield Finding(path, line, f"“{found.group()}” in “{around}”", instead)
        if text.starts:
            for pattern, instead in STARTS_PATTERNS:
                if found := pattern.match(text.text.lstrip()):
                    yield Finding(path, text.line, f"begins with “{found.group()}”", instead)


@functools.lru_cache(maxsize=1)
def nodes(source: str) -> list[ast.AST]:
    """Return all nodes of a module's syntax tree."""
    return list(ast.walk(ast.parse(source)))


def node_name(node: ast.AST) -> str:
    """Return the name of a class or function; empty for a module."""
    return getattr(node, "name", "")


def python_texts(source: str) -> list[Text]:
    """Return the docstrings, the string literals that are sentences, and the comments of a module."""
    texts, shown = [], set[int]()  # `shown` holds the ids of constants that are part of a text
    for node in nodes(source):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if node_name(node).startswith("test_"):
                texts.append(Text(node.lineno, node_name(node).replace("_", " ")))
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                shown.add(id(first.value))
                texts.append(Text(first.value.lineno, first.value.value, starts=True))
        elif isinstance(node, ast.JoinedStr):
            shown |= {id(piece) for piece in ast.walk(node)}
            text = "".join(piece.value if isinstance(piece, ast.Constant) else "{}" for piece in node.values)
            texts.append(Text(node.lineno, text))
        elif isinstance(node, ast.keyword) and node.arg in {"help", "doc"} and isinstance(node.value, ast.Constant):
            texts.append(Text(node.value.lineno, str(node.value.value), starts=True))
            shown.add(id(node.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in shown:
            texts.append(Text(node.lineno, node.value))
    texts += [  # comments, and the text after a `#` in a string
        Text(number, line[line.index("#") :]) for number, line in enumerate(source.splitlines(), 1) if "#" in line
    ]
    return [text for text in texts if re.search(r"[A-Za-z]\W*\s\W*[A-Za-z]", text.text)]


def argument_names(source: str) -> Iterator[tuple[int, str]]:
    """Yield the names of all arguments."""
    yield from ((node.lineno, node.arg) for node in nodes(source) if isinstance(node, ast.arg))


def defined_names(source: str) -> Iterator[tuple[int, str]]:
    """Yield the names of classes, functions, and variables of modules and classes."""
    for node in nodes(source):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name
        if isinstance(node, ast.Module | ast.ClassDef):
            for statement in node.body:
                targets = (
                    statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
                )
                names = [name for target in targets if target is not None for name in ast.walk(target)]
                yield from ((name.lineno, name.id) for name in names if isinstance(name, ast.Name))


def name_problems(path: str, source: str) -> Iterator[Finding]:
    """Yield the replaced names that still occur. A test may use an old name in lower case for a helper."""
    ours, gone, parts = path.startswith("workbench/"), set(OLD_NAMES.split()), set(OLD_PARTS.split())
    defined = [(line, name) for line, name in defined_names(source) if not name.startswith("test_")]
    defined = [(line, name) for line, name in defined if name not in OF_ASYNCIO]
    old = {(line, name) for line, name in defined if name in gone and (ours or name[:1].isupper())}
    for line, name in [*defined, *argument_names(source)]:
        words = set(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().split("_"))
        if (line, name) in old or words & parts:
            yield Finding(path, line, f"name “{name}”", "the table of names in tests/test_words.py has the new one")


def notebook_texts(raw: str) -> list[Text]:
    """Return the cells of a notebook. The line number is the number of the cell."""
    cells = json.loads(raw)["cells"]
    return [Text(number, "".join(cell["source"])) for number, cell in enumerate(cells, 1)]


def findings(path: Path) -> list[Finding]:
    """Return the findings of one file."""
    name, raw = str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return sorted([*problems(name, python_texts(raw)), *name_problems(name, raw)], key=lambda found: found.line)
    return list(problems(name, notebook_texts(raw) if path.suffix == ".ipynb" else [Text(1, raw)]))


def group(path: Path) -> str:
    """Return the package or folder of a file: `workbench/client/calls`, `tests/forms`, `docs`, `README.md`."""
    name = path.relative_to(ROOT).parts
    if name[0] in {"workbench", "tests"}:
        return "/".join(name[:2]) if len(name) > 2 else name[0]
    return name[0]


@functools.cache
def groups() -> dict[str, list[Path]]:
    """Return the files that people read, by group."""
    kinds = ("*.py", "*.md", "*.ipynb", "Makefile", "*.toml")
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "--", *kinds],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split("\n")
    found: dict[str, list[Path]] = {}
    for name in listed:
        path = ROOT / name
        translated = re.match(r"notebooks/[a-z]{2}/", name)  # translations are not held to the English word list
        if name and path.is_file() and not translated and path.name not in {SELF, "CHANGELOG.md"}:
            found.setdefault(group(path), []).append(path)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(groups()))
def test_words(name: str) -> None:
    """Texts that a person reads use the field's standard English terms."""
    found = [str(one) for path in groups()[name] for one in findings(path)]

    assert found == [], "\n" + "\n".join(found)


def test_every_exception_has_a_reason() -> None:
    """Each exception from the word list has a reason."""
    assert [] == [words for words, reason in RIGHT.items() if not reason.strip()]


if __name__ == "__main__":
    wanted = [name.rstrip("/") for name in sys.argv[1:]]
    for name, paths in sorted(groups().items()):
        if wanted and not any(name == one or name.startswith(f"{one}/") for one in wanted):
            continue
        listed = [found for path in paths for found in findings(path)]
        print(f"{name}: {len(listed)}")
        if wanted:
            print(*listed, sep="\n")


@pytest.mark.slow
def test_no_word_of_a_docstring_stands_alone() -> None:
    """Paragraphs are filled: no word stands alone on a line before a line that it would fit into."""
    alone = []
    for path in sorted((ROOT / "workbench").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (ast.get_docstring(node) or "").split("\n")
                for before, line, after in zip(lines, lines[1:], lines[2:], strict=False):
                    word = line.strip()
                    indent = len(line) - len(word)
                    if (
                        before.strip()
                        and re.fullmatch(r"[^\s-][^\s.:]*", word)
                        and re.match(rf" {{{indent}}}[\w(]", after)
                    ):
                        alone.append(f"{path.relative_to(ROOT)}: {word} {after.strip()[:40]}")

    assert alone == []
