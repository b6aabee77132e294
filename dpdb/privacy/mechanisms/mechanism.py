"""The closed sets of mechanisms, and what the members of each answer for themselves.

A mechanism is a frozen record: its fields say what is released, and are its identity. All of them
have a `name` for reports, a `sensitivity`, a `loss` (in both measures of `Loss`), and a `spread`
that plans are compared by. EXPLAIN shows the `title`, and says by `changes` what the sensitivity
is of; braces stand for the rows. `Additive` noise answers besides:

    kind          the option that asks for it, and what planning must know beforehand
    law           the continuous law above it, for tails of weighted sums; None without one
    scale         in grid steps, and `formula`, as EXPLAIN shows where it comes from
    variance      in squared grid steps, to weigh independent values by
    quantile      of the size of one noise, or of the sum of several
    has_levels    whether a finer draw can start from it, as `noise.refinement` does
    is_gradual    whether noise of its kind can fall in steps until an answer is accurate
    is_inverse    whether its scale is sensitivity / ε, so that a noise index can set it

The other sets are by what is released, and so by what is asked about its accuracy:

    ValueSelection     a value of a grid or a list; `nearness`, in words
    VectorNoise        a vector with noise that is one draw: `coordinates`, each of which answers
                       what `Additive` noise does
    SecretNoise        a value with noise whose scale is read off the rows; `nearness`
    IntervalSelection  a half-width among `widths` around a value that was released before, which
                       holds at a `confidence` and has about `target` ranks to spare
    GridSelection      a rung beyond which few rows lie, `steps_below` and `rows_above` at any
                       confidence, with `threshold` and `rows_needed` for who reads EXPLAIN
    BoundsSelection    a lower and an upper bound, of values or of what units add: how many of what
                       is `counted` are `rows_needed`, and how many are `left_out`
    KeySelection       the keys that are `shown`, in words; likelier than not `shown_from` so many
                       units. `CountedKeys` tell the noisy number of units of each: `surely_from`,
                       and the `noise` before the cut
    TopSelection       the largest `number` of so many `candidates`
    LimitSelection     a limit on what a unit adds, with noisy numbers at it: its `noise` at each
                       of the `steps_up` that may be found

To add one, write it beside these, add it to a set here, and let mypy say where it is missing. A
selection that releases one of these is read, explained and has its ± as they have. A new set is
for new ways to read what is released.
"""

from __future__ import annotations

import math
from typing import assert_never, get_args

from dpdb.errors import InternalError
from dpdb.privacy.mechanisms.box import Box, Coordinate
from dpdb.privacy.mechanisms.gaussian import Gaussian
from dpdb.privacy.mechanisms.kinds import NoiseKind
from dpdb.privacy.mechanisms.laplace import Laplace
from dpdb.privacy.mechanisms.selections.bracket import Bracket
from dpdb.privacy.mechanisms.selections.caps import FoundCaps
from dpdb.privacy.mechanisms.selections.ends import FoundEnds
from dpdb.privacy.mechanisms.selections.exponential import Exponential
from dpdb.privacy.mechanisms.selections.found_limit import FoundLimit
from dpdb.privacy.mechanisms.selections.found_room import FoundRoom
from dpdb.privacy.mechanisms.selections.halves import Halves, nodes
from dpdb.privacy.mechanisms.selections.peeling import Peeling
from dpdb.privacy.mechanisms.selections.threshold import Threshold
from dpdb.privacy.mechanisms.selections.walk import Walk
from dpdb.privacy.mechanisms.selections.weighted_keys import WeightedKeys
from dpdb.privacy.mechanisms.smooth import Smooth
from dpdb.privacy.mechanisms.staircase import Staircase

Additive = Laplace | Gaussian | Staircase
"""Noise of a public law that is added to each number by itself."""
StrategyNoise = Laplace
"""Noise on weighted sums of counts, scaled by the largest sum of a count's weights."""
ValueSelection = Exponential | Halves
IntervalSelection = Bracket
GridSelection = Walk
BoundsSelection = FoundEnds | FoundCaps | FoundRoom
TopSelection = Peeling
CountedKeys = Threshold
KeySelection = CountedKeys | WeightedKeys
SecretNoise = Smooth
VectorNoise = Box
"""Noise on the parts of a vector, each of which has a public law of its own."""
PublicNoise = Additive | Coordinate
"""The noise on a number of an answer."""
LimitSelection = FoundLimit
Selection = ValueSelection | IntervalSelection | GridSelection | BoundsSelection | LimitSelection
Mechanism = Additive | Selection | SecretNoise | KeySelection | TopSelection | VectorNoise
MECHANISMS: tuple[type[Mechanism], ...] = get_args(Mechanism)
_OF_KIND: dict[NoiseKind, type[Additive]] = {each.kind: each for each in get_args(Additive)}
if _OF_KIND.keys() != set(NoiseKind):
    raise InternalError(f"kinds of noise without a mechanism: {set(NoiseKind) - _OF_KIND.keys()}")
for _kind in NoiseKind:
    if _OF_KIND[_kind.of_ratios].law is None:
        raise InternalError(f"{_kind.of_ratios} noise is on ratios, and has no law for their ±")


def public_noise(mechanism: Mechanism, part: int = 0) -> PublicNoise | None:
    """The noise on a part of each value, if its law is public: for keys that before the cut."""
    if isinstance(mechanism, KeySelection):
        return mechanism.noise
    if isinstance(mechanism, VectorNoise):
        return mechanism.coordinates[part]
    return mechanism if isinstance(mechanism, Additive) else None


def rank_reach(mechanism: Mechanism) -> int | None:
    """The number of ranks on either side of its target that it reads; None if it reads all."""
    match mechanism:
        case Exponential():
            return mechanism.reach
        case Bracket():
            return mechanism.rank_reach
        case Halves() | Walk() | FoundEnds() | FoundCaps() | FoundRoom() | FoundLimit() | Smooth():
            return None
        case Threshold() | WeightedKeys():
            return None
        case Laplace() | Gaussian() | Staircase() | Box() | Peeling():
            return None
        case other:
            assert_never(other)


_EACH = 200
"""The fixed work of one selection, as a number of candidates."""
_SWEPT = 10
"""The number of windows of a smooth sensitivity that take as long as one candidate."""
_WIDEST = 82
"""β times the width of the widest window, at most: see `noise.smooth`."""


def candidate_count(mechanism: Mechanism, values: int, *, listed: bool = False) -> int:
    """The most candidates that it weighs among so many values, whatever the rows are.

    Values that are `listed` are weighed themselves; on a grid, those within reach of the target on
    either side, and the gaps between them.
    """
    match mechanism:
        case Exponential():
            among = values if listed else 2 * min(2 * mechanism.reach + 1, values) + 1
            return _EACH + among
        case Halves():
            reaches = (mechanism.selection(node).reach for node in nodes(mechanism.root))
            return sum(_EACH + 4 * reach + 3 for reach in reaches)
        case Bracket():
            return _EACH + len(mechanism.widths)
        case Walk():
            return _EACH + values
        case FoundEnds():
            return 3 * _EACH + 4 * mechanism.selections[0].reach
        case FoundCaps():
            return 3 * _EACH
        case Smooth():
            if not mechanism.beta:
                return _EACH
            widest = math.ceil(_WIDEST / mechanism.beta)
            return _EACH + 2 * mechanism.rows_per_unit * widest // _SWEPT
        case Laplace() | Gaussian() | Staircase() | Box() | Threshold() | WeightedKeys():
            return 0
        case FoundLimit() | FoundRoom():
            return _EACH
        case Peeling():
            return mechanism.number * (_EACH + mechanism.candidates)
        case other:
            assert_never(other)
