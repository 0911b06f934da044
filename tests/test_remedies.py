"""A remedy is worded for the interface in use, in the package of that interface."""

import ast
import importlib
import re
import string
from pathlib import Path
from typing import get_args

import pytest

import workbench
import workbench as wb
from tests.each import each
from workbench.base.errors import Problem
from workbench.base.remedies import WORDINGS, Interface, Remedy, word, worded_for
from workbench.terminal.wording import TERMINAL

INTERFACES = get_args(Interface)
PYTHON = re.compile(r"(?<![\w-])[A-Za-z_][\w.]*\((?=[^)]*[=\"'…]|\))|\b(?:api|wb|sandbox)\.[a-z]")
"""A call in Python syntax: a name and parentheses, with or without arguments."""
WORKBENCH = Path(workbench.__file__).parent
for _file in WORKBENCH.rglob("*.py"):  # import all modules that declare remedies
    if "declare(" in (_text := _file.read_text(encoding="utf-8")) or "word(" in _text:
        importlib.import_module(".".join(["workbench", *_file.relative_to(WORKBENCH).with_suffix("").parts]))
word("terminal", TERMINAL)


def parameters_of(code: str) -> dict[str, str]:
    """Return the parameters in the texts of a code, each with a value."""
    texts = WORDINGS[code].values()
    return {name: "x1" for text in texts for _, name, _, _ in string.Formatter().parse(text) if name}


@each("interface", INTERFACES)
@each("code", WORDINGS)
def test_each_remedy_has_words_for_each_interface(code: str, interface: Interface) -> None:
    """Each text has all its values, and outside of Python no text contains a Python call."""
    words = Remedy(code, **parameters_of(code)).worded(interface)

    assert words
    assert "{" not in words.replace('{"x1"}', "").replace('{row: "', "")
    assert interface == "python" or PYTHON.search(words) is None


@pytest.mark.slow
def test_each_remedy_is_used_and_each_use_is_in_the_table() -> None:
    """The parameters agree too."""
    used: dict[str, set[str]] = {}
    for file in WORKBENCH.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Remedy":
                assert isinstance(node.args[0], ast.Constant)
                used.setdefault(node.args[0].value, set()).update(str(word.arg) for word in node.keywords)

    assert used.keys() == WORDINGS.keys()
    assert [code for code, given in used.items() if not parameters_of(code).keys() <= given] == []


def test_a_problem_says_its_remedy_in_the_words_of_the_interface() -> None:
    """The interface is determined when the problem's text is created."""
    problem = Problem("email", "masked_value", "is masked", Remedy("allow", name="masked_value", option="masked-value"))
    with worded_for("terminal"):
        at_a_prompt = str(problem)

    assert (at_a_prompt, str(problem)) == (
        "email is masked; --allow masked-value sends it",
        "email is masked; allowing(masked_value=True) sends it",
    )


def test_threads_of_a_command_word_remedies_as_it_does() -> None:
    """A bulk run sends from several threads."""
    from workbench.base.system.thread_pool import ThreadPool

    said: list[str] = []
    with worded_for("terminal"):
        ThreadPool(lambda _: said.append(str(Remedy("again"))), range(2), 2, "worded").run(lambda: None)

    assert said == ["--again sends it again"] * 2


def test_a_served_control_words_its_refusal_for_http() -> None:
    """Programs in any language read this text."""
    with (
        wb.Sandbox().serve() as url,
        wb.connect(url) as api,
        pytest.raises(wb.ApiError, match="see /_sandbox/guide"),
    ):
        api.sandbox.wallet("0x" + "1" * 40)
    with pytest.raises(wb.ApiError, match=r"see sandbox.guide\(\)"):
        wb.Sandbox().wallet("0x" + "1" * 40)
