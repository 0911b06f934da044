"""Command line with every operation, every control of the sandbox, a shell, and a webhook receiver."""

from workbench.terminal.application import main as main
