"""The trainer's board in a notebook."""

import httpx

from workbench.course.learner import Display
from workbench.errors import NotSent, WrongEnvironment, visible
from workbench.rendering.layout import Cell, Grid


def board(url: str, trainer_key: str) -> Display:
    """Return the board of a class as it is now: learners, what they have done, and their last problem.

    Args:
        url: URL of the class server.
        trainer_key: The key it printed.

    Raises:
        NotSent: Nothing answers at the URL.
        WrongEnvironment: No class is served there, or this is not its trainer's key.
    """
    try:
        answer = httpx.get(f"{url.rstrip('/')}/board/data", headers={"trainer-key": trainer_key}, trust_env=False)
    except httpx.HTTPError as error:
        raise NotSent(f"The class server does not answer ({type(error).__name__}).") from None
    if answer.status_code != httpx.codes.OK:
        raise WrongEnvironment(f"No class is served there, or this is not its trainer's key ({answer.status_code}).")
    found = answer.json()
    rows = []
    for one in found["learners"]:
        open_ = [result for result in one["results"].values() if not result["done"] and result["last_problem"]]
        problem = f"{open_[-1]['exercise']}: {open_[-1]['last_problem']}" if open_ else ""
        tries = sum(result["tries"] for result in one["results"].values())
        hints = sum(result["hints"] for result in one["results"].values())
        seen = "not joined" if one["seen"] is None else "idle" if one["seen"] > 60 else "working"
        rows.append(
            (
                Cell((visible(one["learner"]),)), Cell((seen,)), Cell((str(one["done"]),), "number"), Cell((str(tries),), "number"),
                Cell((str(hints),), "number"), Cell((", ".join(one["stuck"]),)), Cell((visible(problem, 200),)),
            )
        )  # fmt: skip
    columns = ("learner", "is", "done", "tries", "hints", "stuck", "last problem")
    title = f"Class board: {sum(one['done'] for one in found['learners'])} of {len(rows) * len(found['exercises'])} exercises done"
    return Display(Grid(title=title, columns=columns, rows=tuple(rows), total=len(rows)))
