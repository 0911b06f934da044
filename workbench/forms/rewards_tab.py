"""The tab of a panel that asks first: the rewards of one user, by id, type and time, drawn as a chart."""

from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import ipywidgets

from workbench.chains import refuse_private_key
from workbench.errors import InvalidRequest, Problem
from workbench.forms import views
from workbench.forms.known import guide
from workbench.forms.tabs import Tab
from workbench.interface.rules import ISO_DAY, RewardType


class Rewards(Tab):
    """The rewards of one user: asked for by id, type and time, drawn as a chart."""

    def _before(self) -> list[Any]:
        known = [one["id"] for one in guide(self._api).get("rewards_users", ())]
        self.user = ipywidgets.Combobox(
            options=known, description="User id", placeholder="a user's id", ensure_option=False
        )
        options = [("earned and redeemed", ""), *((str(one), str(one)) for one in RewardType)]
        self.type = ipywidgets.Dropdown(options=options, value="", description="Type")
        self.since = ipywidgets.Text(description="Since", placeholder="2026-01-31")
        self.until = ipywidgets.Text(description="Until", placeholder="2026-02-28")
        ask = ipywidgets.Button(description="Read rewards", button_style="primary").add_class("wb-read")
        ask.on_click(lambda _: self.read())
        draw = ipywidgets.Button(description="Draw points over time").add_class("wb-draw")
        draw.on_click(lambda _: self._guard(self.draw))
        self.picture = ipywidgets.VBox().add_class("wb-chart")
        for widget, name in (
            (self.user, "wb-user"),
            (self.type, "wb-type"),
            (self.since, "wb-since"),
            (self.until, "wb-until"),
        ):
            widget.add_class(name)
        asked = ipywidgets.HBox([self.user, self.type, self.since, self.until, ask, draw]).add_class("wb-row-actions")
        return [asked, self.picture]

    def load(self) -> None:
        """Read nothing before a user was named."""

    def read(self) -> None:
        """Read the rewards of the user that was named."""
        self._guard(self._read)

    def _read(self) -> None:
        refuse_private_key(self.user.value, "userId")
        asked: dict[str, Any] = {"type": self.type.value or None}
        for name, widget in (("since", self.since), ("until", self.until)):
            if widget.value:
                asked[name] = _day(name, widget.value)
        self.show(views.rewards(self._api, self.user.value, **asked))

    def draw(self) -> None:
        """Draw the points of what was read."""
        from workbench.charts import points_chart

        if self.view is None or self.view.frame is None:
            raise InvalidRequest("read the rewards of a user first", of="draw")
        data = BytesIO()
        figure: Any = points_chart(self.view.frame).figure
        figure.savefig(data, format="png", dpi=110)
        picture = ipywidgets.Image(value=data.getvalue(), format="png").add_class("wb-picture")
        picture.layout.max_width = "min(100%, 720px)"
        old, self.picture.children = self.picture.children, (picture,)
        for widget in old:
            widget.close()


def _day(name: str, text: str) -> datetime:
    if ISO_DAY.fullmatch(text):
        try:
            return datetime.fromisoformat(text).replace(tzinfo=UTC)
        except ValueError:
            pass
    raise InvalidRequest([Problem(name, "date", "must be a day of the calendar written YYYY-MM-DD")], of="rewards")
