"""Command line: every operation, every control of the sandbox, a shell, and a webhook listener."""

from workbench.terminal.application import main as main
