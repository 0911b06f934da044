"""Write docs/SKILL.md and docs/llms.txt from the operation table: `python -m docs.make_agents`."""

from pathlib import Path

from workbench.testing.skill import llms, skill

TEXTS = {Path(__file__).parent / "SKILL.md": skill, Path(__file__).parent / "llms.txt": llms}

if __name__ == "__main__":
    for path, text in TEXTS.items():
        path.write_text(text(), encoding="utf-8")
