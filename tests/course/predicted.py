"""The calls after which an amount of a quiz is read; each leaves it, in cents, in `amount`."""

PREDICTED: dict[str, str] = {}
