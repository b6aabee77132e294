"""The settings of a session, which SET changes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpdb.errors import InvalidOption
from dpdb.plan.logical.query import Options
from dpdb.policy.budget import valid_epsilon
from dpdb.policy.numbers import decimal
from dpdb.records import dataclass
from dpdb.sql.selects.statements import Assign
from dpdb.sql.syntax.option_names import INTERVALS, MECHANISMS, SENSITIVITIES, SETTINGS, TEACHING


@dataclass(frozen=True)
class Settings:
    """The values of a session's settings."""

    epsilon: Fraction | None = None
    """The ε that a query may spend; None for an even share of the budget."""
    mechanism: str = "default"
    sensitivity: str = "global"
    interval: str = "on"
    """Whether a part of a quantile's ε is for its interval."""
    repeats_are_paid: bool = False
    """Whether a repeated query is paid for again and gets fresh noise."""
    plans_batches: bool = False
    """Whether the statements of a file are planned together before any of them is answered."""
    protected: bool = True
    """Whether answers are noisy at all; teaching mode can switch that off."""
    reveal: bool = False
    """Whether exact statistics are shown below the answers; in teaching mode only."""

    @property
    def unprotected(self) -> bool:
        """Whether noise is off or of local sensitivity; neither is differentially private."""
        return not self.protected or self.sensitivity == "local"

    def rows(self, *, teach: bool) -> tuple[tuple[str, str, str], ...]:
        """SHOW ALL: each setting, its value and its meaning; those of teaching mode only there."""
        values = {
            "epsilon": "default" if self.epsilon is None else decimal(self.epsilon),
            "mechanism": self.mechanism,
            "sensitivity": self.sensitivity,
            "interval": self.interval,
            "repeats": "fresh" if self.repeats_are_paid else "free",
            "plan": "on" if self.plans_batches else "off",
            "dp": "on" if self.protected else "off",
            "reveal": "on" if self.reveal else "off",
        }
        known = {**SETTINGS, **TEACHING} if teach else SETTINGS
        return tuple((name, values[name], meaning) for name, meaning in known.items())

    def filled(self, options: Options) -> Options:
        """The options of a query, with the settings in place of options that are not given."""
        return replace(
            options,
            epsilon=self.epsilon if options.epsilon is None else options.epsilon,
            mechanism=options.mechanism or self.mechanism,
            sensitivity=options.sensitivity or self.sensitivity,
            interval=options.interval or self.interval,
        )

    def changed(self, assignment: Assign, *, teach: bool) -> Settings:
        """The settings after SET name = value."""
        pair = assignment.name, assignment.value
        teaching_only = assignment.name in TEACHING or pair == ("sensitivity", "local")
        if teaching_only and not teach:
            raise InvalidOption(
                f"{assignment.name} can be set in teaching mode only",
                hint="start dpdb with --teach; a session cannot enter it later",
                place=assignment.place,
            )
        match pair:
            case "epsilon", "default":
                return replace(self, epsilon=None)
            case "epsilon", Fraction() as value:
                return replace(self, epsilon=valid_epsilon(value, assignment.place))
            case "repeats", "free" | "fresh" as value:
                return replace(self, repeats_are_paid=value == "fresh")
            case "plan", "on" | "off" as value:
                return replace(self, plans_batches=value == "on")
            case "dp", "on" | "off" as value:
                return replace(self, protected=value == "on")
            case "mechanism", str() as value if value in (*MECHANISMS, "default"):
                return replace(self, mechanism=value)
            case "sensitivity", str() as value if value in (*SENSITIVITIES, "local"):
                return replace(self, sensitivity=value)
            case "interval", str() as value if value in INTERVALS:
                return replace(self, interval=value)
            case "reveal", "on" | "off" as value:
                return replace(self, reveal=value == "on")
        meaning = {**SETTINGS, **TEACHING}[assignment.name]
        raise InvalidOption(f"{assignment.name}: {meaning}", place=assignment.place)
