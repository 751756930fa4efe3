"""From where the weights of a pretrained network are looked at, and which of them."""

from __future__ import annotations

from dataclasses import dataclass

from attentest.models.pretrained.sinks import Sinks

ROW = "row"  # what is shown as attention where nothing else is named: the rows of the site that is looked at


@dataclass(frozen=True)
class View:
    """`head` is the only one that is examined and changed [all], `weights` names what is shown as attention [the rows
    of the site], with `special` the special tokens count as tokens of the text, and `sinks` do not."""

    site: str | None = None
    head: int | None = None
    weights: str | None = None
    special: bool = False
    sinks: Sinks | None = None

    @property
    def name(self) -> str:
        """What tells it from the usual one, as part of a file's name; its site aside."""
        named = {
            f"head-{self.head}": self.head is not None,
            f"{self.weights}": self.weights is not None,
            "special": self.special,
            "without-sinks": self.sinks is not None,
        }
        return "-".join(name for name, there in named.items() if there)

    @property
    def shown(self) -> list[str]:
        """What is shown as attention, in words."""
        named = (self.site, None if self.head is None else f"head {self.head}", self.weights)
        return [part for part in named if part not in (None, ROW)]
