"""The JupyterHub recipe of docs/training.md runs."""

import re
from pathlib import Path
from types import SimpleNamespace

from workbench.course.classroom import ClassServer

TEXT = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")


def test_a_hub_hands_each_server_its_code(tmp_path: Path) -> None:
    server = ClassServer(["ann", "bob"], tmp_path)
    server.close()
    recipe = next(
        block for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL) if "jupyterhub_config" in block
    )
    config = SimpleNamespace(Spawner=SimpleNamespace())
    exec(recipe.replace("/srv/my-class", str(tmp_path)), {"c": config})
    spawner = SimpleNamespace(environment={}, user=SimpleNamespace(name="bob"))
    config.Spawner.pre_spawn_hook(spawner)

    code = next(one.code for one in server.learners if one.name == "bob")
    assert spawner.environment == {"WORKBENCH_CLASS": f"http://127.0.0.1:8700/{code}", "WORKBENCH_READONLY": "1"}
