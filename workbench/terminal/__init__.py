"""Command line with every operation, the controls of the sandbox, a shell, and a webhook receiver."""

from workbench.terminal.application import main as main
