"""The stored notebooks: no outputs, a fixed order, and the same structure in each."""

import ast
import builtins
import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.each import each
from tests.notebooks.reading import COURSE, HERE, IDS, NOTEBOOKS, cells, minutes
from workbench.course.task_files import EXERCISES, QUIZZES, Task
from workbench.service.interface.table import OPERATIONS

every_notebook = each("path", NOTEBOOKS, ids=IDS)
every_lesson = each("path", COURSE, ids=IDS[: len(COURSE)])


def test_order() -> None:
    """The course has notebooks 01 to 14 and the reports 21 to 23, named by number and title."""
    assert [f"{number:02}" for number in (*range(1, 15), 21, 22, 23)] == [name[:2] for name in IDS]
    assert all(re.fullmatch(r"\d\d(-[a-z]+)+", name) for name in IDS)


@every_notebook
def test_opens_and_closes(path: Path) -> None:
    """A notebook begins with title, task, goals and requirements, and ends with practice and reading."""
    texts = cells(path, "markdown")
    learn = texts[0].partition("*What you'll learn*")[2].partition("*What you'll need*")[0]

    assert texts[0].startswith("# ")
    assert "*What you'll do*:" in texts[0]
    assert 3 == len(re.findall(r"^- ", learn, re.MULTILINE))
    assert "*What you'll need*:" in texts[0]
    assert "*Terms*: [" in texts[0]
    assert "## In practice" in texts[-1]
    assert "## Further reading\n\n- The interface: [" in texts[-1]


@every_lesson
def test_the_concept_comes_first(path: Path) -> None:
    """An idea with a picture and its alternative text precedes the first code cell. Key points follow."""
    stored = json.loads(path.read_text())["cells"]
    kinds = [cell["cell_type"] for cell in stored]
    before = ["".join(cell["source"]) for cell in stored[: kinds.index("code")]]
    idea = next(text for text in before if text.startswith("## The idea"))
    pictures = re.findall(r"!\[([^\]]*)\]\((\S+)\)", idea)

    assert len(idea.split()) > 80
    assert 1 == len(pictures)
    assert all(len(words) > 100 and (HERE / file).exists() for words, file in pictures)
    assert any(text.startswith("## Key points\n\n- ") for text in cells(path, "markdown"))


@every_lesson
def test_links_the_operations_that_it_calls(path: Path) -> None:
    """Each linked operation has the right anchor, and the notebook calls it."""
    page = (HERE.parent / "docs" / "interface.md").read_text(encoding="utf-8")
    anchors = dict(re.findall(r"### Endpoints (\d+)\n\n`(\w+)`", page))
    linked = re.findall(r"\[([^\]]+)\]\(\.\./docs/interface\.md#endpoints-(\d+)\)", cells(path, "markdown")[-1])

    assert [f"`{anchors[number]}`" for _, number in linked] == [name for name, _ in linked]
    called = "".join(cells(path, "code")).replace("plan.sign(", "sign_withdrawal(")
    assert all(f"{name.strip('`')}(" in called for name, _ in linked)


@every_lesson
def test_states_its_time(path: Path) -> None:
    """The stated time follows from the notebook's size, and is 20 to 35 minutes."""
    assert f"*Time*: about {minutes(path)} minutes." in cells(path, "markdown")[0]
    assert 20 <= minutes(path) <= 35


@every_lesson
def test_asks_before_it_shows(path: Path) -> None:
    """Each quiz of the notebook is asked in a separate cell."""
    mine = {f'wb.course.task("{quiz.name}")' for quiz in QUIZZES.values() if quiz.notebook == path.stem}
    asked = [source for source in cells(path, "code") if source in mine]

    assert mine == {*asked}
    assert 2 <= len(asked)


def test_pictures_are_those_of_the_script() -> None:
    """The stored pictures equal those of `docs/make_course.py`, and each is in a notebook."""
    drawn = runpy.run_path(str(HERE.parent / "docs" / "make_course.py"))["PICTURES"]
    texts = "".join(path.read_text() for path in COURSE)

    assert {f"{name}.svg": one.svg() for name, one in drawn.items()} == {
        file.name: file.read_text(encoding="utf-8") for file in (HERE / "images").iterdir()
    }
    assert all(f"images/{name}.svg" in texts for name in drawn)


@every_notebook
def test_first_cell_has_the_imports_and_the_seed(path: Path) -> None:
    """The first code cell has all imports, and opens a session with seed 7."""
    first, *others = cells(path, "code")

    assert "wb.connect(seed=7" in first
    assert [] == [source for source in others if re.search(r"^\s*(import|from)\s", source, re.MULTILINE)]


@every_notebook
def test_cells_are_short(path: Path) -> None:
    """No code cell has more than twenty lines."""
    assert [] == [source for source in cells(path, "code") if source.count("\n") >= 20]


@every_lesson
def test_exercises_stand_in_their_notebook(path: Path) -> None:
    """Each exercise is shown and checked in its notebook, which does not contain its hints."""
    code = "\n".join(cells(path, "code"))
    mine = [one for one in EXERCISES.values() if one.notebook == path.stem]

    assert 1 <= len(mine) <= 2
    for one in mine:
        assert f'wb.course.task("{one.name}"' in code
        assert f'wb.course.check("{one.name}"' in code
        assert not any(hint in path.read_text() for hint in one.all_hints)


def names(code: str) -> tuple[set[str], set[str]]:
    """Return the names that code reads, and those that it assigns."""
    read, made = set(), set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else made).add(node.id)
        elif isinstance(node, ast.alias):
            made.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            made.add(node.name)
    return read, made


@each("one", EXERCISES.values(), ids=EXERCISES)
def test_the_last_hint_can_be_pasted_there(one: Task) -> None:
    """The last hint's code uses only names that the notebook defines before the exercise."""
    code = "\n".join(cells(HERE / f"{one.notebook}.ipynb", "code"))
    _, made = names(code.partition(f'wb.course.task("{one.name}"')[0])
    read, own = names(one.answer)

    assert set() == read - own - made - set(vars(builtins))


@each("one", EXERCISES.values(), ids=EXERCISES)
def test_nothing_is_asked_before_it_is_taught(one: Task) -> None:
    """Each method and argument in the last hint's code occurs in the course before the exercise."""
    taught = ""
    for path in COURSE:
        everything = "\n".join("".join(cell["source"]) for cell in json.loads(path.read_text())["cells"])
        taught += everything.partition(f'wb.course.task("{one.name}"')[0] if path.stem == one.notebook else everything
        if path.stem == one.notebook:
            break
    nodes = list(ast.walk(ast.parse(one.answer)))
    asked = {node.func.attr for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)}
    asked |= {node.arg for node in nodes if isinstance(node, ast.keyword) and node.arg}

    assert [] == [name for name in sorted(asked) if not re.search(rf"\b{name}\b", taught)]


@each("name", OPERATIONS)
def test_each_operation_has_a_line(name: str) -> None:
    """Each operation is called somewhere in the course."""
    assert any(f".{name}(" in source for path in NOTEBOOKS for source in cells(path, "code"))


@every_notebook
def test_names_no_other_machine(path: Path) -> None:
    """No notebook contains a URL of another machine or a magic command."""
    assert [] == re.findall(r"https?://(?!127\.0\.0\.1|api\.example\.com)\S+", path.read_text())
    assert [] == [source for source in cells(path, "code") if re.search(r"^\s*[%!]", source, re.MULTILINE)]


@pytest.mark.slow
def test_stored_as_nbstripout_leaves_them() -> None:
    """nbstripout would change no stored notebook."""
    done = subprocess.run(
        [sys.executable, "-m", "nbstripout", "--verify", *NOTEBOOKS], capture_output=True, text=True, check=False
    )

    assert (0, "") == (done.returncode, done.stdout)
    assert {4} == {json.loads(path.read_text())["nbformat"] for path in NOTEBOOKS}
