"""The chapters of the tour in their order, each one job of the main job."""

from contextlib import closing
from pathlib import Path

from workbench.demo import collateral, endings, happenings, people, purchases, rewards
from workbench.demo.bodies import Bodies
from workbench.demo.cast import Cast
from workbench.demo.stage import Stage
from workbench.session import connect

SEED = 7


def tour(*, bodies: Path | None = None, out: Path | None = None, stage: Stage | None = None) -> None:
    """Tell the main job, each step a real call on a sandbox inside this process.

    Args:
        bodies: A folder of request bodies and answers; what it lacks comes from this package.
        out: Where the picture goes; the folder `out` here where left out.

    Raises:
        InvalidRequest: A body breaks the interface's rules, or an answer cannot be read.
    """
    stage = stage or Stage()
    held = Bodies(bodies)
    with closing(connect(seed=SEED)) as api:
        cast = Cast(
            api=api,
            guide=api.sandbox.guide(),
            bodies=held,
            out=out or Path("out"),
        )
        stage.title(
            "Card issuing workbench: the main job, start to end",
            "Every line below is a real call of the client. It talks to a sandbox inside this process: no key, no "
            "network, no money. Private values are masked wherever they are shown.",
        )
        collateral.contracts(stage, cast)
        collateral.withdrawal(stage, cast)
        people.application(stage, cast)
        people.payment_account(stage, cast)
        rewards.rewards(stage, cast)
        purchases.purchases(stage, cast)
        purchases.decline(stage, cast)
        happenings.events(stage, cast)
        endings.answers(stage, cast)
        endings.guesses(stage, cast)
