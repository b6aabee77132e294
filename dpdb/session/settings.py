"""What SET has set in a session."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from dpdb.errors import InvalidOption
from dpdb.plan.query import Options
from dpdb.policy.budget import valid_epsilon
from dpdb.sql.option_names import MECHANISMS, SENSITIVITIES, SETTINGS, TEACHING
from dpdb.sql.statements import Assign


@dataclass(frozen=True)
class Settings:
    """What SET has set."""

    epsilon: Fraction | None = None
    mechanism: str = "laplace"
    sensitivity: str = "global"
    repeats_are_paid: bool = False
    protected: bool = True
    reveal: bool = False

    @property
    def unprotected(self) -> bool:
        """Whether noise is off or of local sensitivity: neither is differentially private."""
        return not self.protected or self.sensitivity == "local"

    def filled(self, options: Options) -> Options:
        """A query's options, with the settings for what they leave open."""
        return replace(
            options,
            epsilon=self.epsilon if options.epsilon is None else options.epsilon,
            mechanism=options.mechanism or self.mechanism,
            sensitivity=options.sensitivity or self.sensitivity,
        )

    def changed(self, assign: Assign, *, teach: bool) -> Settings:
        """The settings after SET name = value."""
        teaching = assign.name in TEACHING or (assign.name, assign.value) == (
            "sensitivity",
            "local",
        )
        if teaching and not teach:
            raise InvalidOption(
                f"{assign.name} can be set in teaching mode only",
                hint="start dpdb with --teach; a session cannot enter it later",
                place=assign.place,
            )
        match assign.name, assign.value:
            case "epsilon", "default":
                return replace(self, epsilon=None)
            case "epsilon", Fraction() as value:
                return replace(self, epsilon=valid_epsilon(value, assign.place))
            case "repeats", "free" | "fresh" as value:
                return replace(self, repeats_are_paid=value == "fresh")
            case "dp", "on" | "off" as value:
                return replace(self, protected=value == "on")
            case "mechanism", str() as value if value in MECHANISMS:
                return replace(self, mechanism=value)
            case "sensitivity", str() as value if value in (*SENSITIVITIES, "local"):
                return replace(self, sensitivity=value)
            case "reveal", "on" | "off" as value:
                return replace(self, reveal=value == "on")
        meaning = {**SETTINGS, **TEACHING}[assign.name]
        raise InvalidOption(f"{assign.name}: {meaning}", place=assign.place)
