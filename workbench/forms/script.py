"""Steps that forms add, gathered into one sequence."""

import attrs

from workbench.sequences import Sequence


class Script:
    """A sequence under way: the steps that forms added, in order. `script.sequence` is what can be run."""

    def __init__(self, name: str = "from-forms", *, called: str = "form.script") -> None:
        self.called = called  # how a person gets at it
        self.sequence = Sequence(name=name, steps=())

    def add(self, one: Sequence) -> str:
        """Add the steps of another sequence, with its parameters; give the name of the last step."""
        taken = {step.name for step in self.sequence.steps}
        steps = []
        for step in one.steps:
            name, number = step.name, 2
            while name in taken:
                name, number = f"{step.name}-{number}", number + 1
            taken.add(name)
            steps.append(attrs.evolve(step, name=name))
        known = {parameter.name for parameter in self.sequence.parameters}
        more = tuple(parameter for parameter in one.parameters if parameter.name not in known)
        self.sequence = attrs.evolve(
            self.sequence,
            steps=(*self.sequence.steps, *steps),
            parameters=(*self.sequence.parameters, *more),
        )
        return steps[-1].name

    def __repr__(self) -> str:
        return f"<script of {len(self.sequence.steps)} steps: {self.called}.sequence.to_toml() shows it>"
