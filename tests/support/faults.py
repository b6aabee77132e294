"""The known faults of systems of this kind, each put back into dpdb, and the test that says no.

A fault is described by what is wrong; `attack` is the beginning of the attack's row in the manual.
"""

from __future__ import annotations

from tests.support.budget_faults import BUDGETS
from tests.support.mutants import Change, Mutant

_EXECUTOR = "session.purchases.executor:"
_NOISE = f"{_EXECUTOR}_with_noise"
_SUM = "numbers.ravel() + drawn"

NOISE = (
    Mutant(
        "counts and sums without noise",
        "linkage",
        [Change(_NOISE, _SUM, "numbers.ravel()")],
        "audit/test_noise_comes_first.py::test_a21_noise_cannot_be_predicted",
    ),
    Mutant(
        "a public table makes answers about private ones exact",
        "linkage",
        [Change("plan.logical.query:Query.public", "table.public and all(", "table.public or any(")],
        "system/test_public_tables.py::test_what_reads_a_private_table_is_private",
    ),
    Mutant(
        "less noise where fewer rows are counted",
        "trackers",
        [Change(_NOISE, "noise.laplace(scale, numbers.size)",
                "noise.laplace(min(scale, 1 + abs(int(np.max(numbers)))), numbers.size)")],
        "audit/test_charged_loss.py::test_what_ran_costs_what_is_charged",
    ),
    Mutant(
        "a scale read off the data: the largest sum that there is",
        "reading the noise",
        [Change(_NOISE, "noise.laplace(scale, numbers.size)",
                "noise.laplace(abs(int(np.max(numbers))) * scale * 10 + scale / scale,"
                " numbers.size)")],
        "audit/test_charged_loss.py::test_what_ran_costs_what_is_charged",
    ),
    Mutant(
        "noise of half the scale that is charged for",
        "differencing",
        [Change("privacy.noise.system:SystemNoise.laplace", "as_word_fraction(scale)",
                "as_word_fraction(scale / 2)")],
        "privacy/noise/test_system.py::test_draws_fit_the_discrete_laplace",
    ),
    Mutant(
        "staircase noise for one number on each of several that a unit changes",
        "differencing",
        [Change("plan.physical.mechanism_choice:MechanismChoice._noise",
                "change_of(each), share.epsilon, number)", "change_of(each), share.epsilon)")],
        "privacy/test_staircase_loss.py::test_a_row_loses_all_of_it_at_most",
        slow=True,
    ),
    Mutant(
        "staircase noise that is zero twice as often as it should be",
        "differencing",
        [Change("privacy.noise.staircase:draws",
                " & ~(minus & (periods == 0) & (place == 0))", "")],
        "privacy/noise/test_staircase.py::test_draws_fit_the_law",
        slow=True,
    ),
    Mutant(
        "a limit found at the rate for a unit that enters, where one is replaced",
        "differencing",
        [Change("plan.physical.mechanism_choice:MechanismChoice.for_limited_distinct",
                "2 if contribution.neighbors is Neighbors.REPLACE else 1", "1")],
        "plan/test_mechanism_choice.py::test_a_limit_is_found_where_units_have_many_rows",
        slow=True,
    ),
    Mutant(
        "noise for the limit before the step up",
        "differencing",
        [Change("privacy.mechanisms.selections.found_limit:FoundLimit.noise", "limit * noise.sensitivity",
                "limit // 2 * noise.sensitivity")],
        "privacy/test_found_limit.py::test_noise_grows_with_the_limit_and_costs_the_same",
        slow=True,
    ),
    Mutant(
        "doubles as noise",
        "floating point",
        [Change("privacy.noise.system:SystemNoise.laplace", "t, s =",
                "import numpy; return numpy.random.default_rng(1).laplace(0, float(scale), size);"
                " t, s =")],
        "audit/test_exact_arithmetic.py::test_a01_outputs_lie_on_the_grid_whatever_the_exact_result",
    ),
    Mutant(
        "noise on groups that have rows alone",
        "group keys",
        [Change(_NOISE, _SUM, f"{_SUM} * (numbers.ravel() != 0)")],
        "audit/test_noise_comes_first.py::test_a23_rows_are_chosen_and_ordered_after_noise",
    ),
    Mutant(
        "one draw for all groups",
        "differencing",
        [Change(_NOISE, _SUM, "numbers.ravel() + drawn[:1]")],
        "audit/test_group_loss.py::"
        "test_each_part_of_a_vector_has_discrete_laplace_noise_of_its_own",
    ),
    Mutant(
        "the true value rounded, and then the noise",
        "rounding before",
        [Change(_NOISE, "numbers.ravel() +", "numbers.ravel() // 10 * 10 +")],
        "audit/test_noise_comes_first.py::test_a22_noise_comes_before_rounding",
    ),
    Mutant(
        "groups chosen by HAVING before the noise",
        "choosing rows",
        [Change(f"{_EXECUTOR}Executor._execute", "draws: list[npt.NDArray[Any]] = [*known]",
                "type(plan).exact = tuple(each.cells for each in exact); draws = [*known]"),
         Change("answers.tables.rows:_having", "order = group_order(plan)",
                "from dpdb.answers.estimates import points\n    order = group_order(plan)\n"
                "    frame = replace(frame, slots={**frame.slots, **points(plan, plan.exact)})")],
        "audit/test_noise_comes_first.py::test_a23_rows_are_chosen_and_ordered_after_noise",
    ),
    Mutant(
        "intervals around the exact value",
        "intervals computed from the data",
        [Change(f"{_EXECUTOR}Executor._execute", "draws: list[npt.NDArray[Any]] = [*known]",
                "type(plan).exact = tuple(each.cells for each in exact); draws = [*known]"),
         Change("answers.intervals.confidence_intervals:_around", "values = read(combination, draws)",
                "values = read(combination, plan.exact)")],
        "audit/test_interval_coverage.py::test_a20_intervals_are_around_the_noisy_value",
    ),
    Mutant(
        "noise from a generator with a seed",
        "predictable noise",
        [Change("privacy.noise.system:SystemNoise.__init__", "self._entropy = entropy",
                "import random; self._entropy = random.Random(1).randbytes")],
        "audit/test_noise_comes_first.py::test_a21_noise_cannot_be_predicted",
    ),
    Mutant(
        "noise from a generator that forks share",
        "predictable noise",
        [Change("privacy.noise.system:SystemNoise.__init__", "self._entropy = entropy",
                "import os, random; self._entropy = random.Random(os.urandom(9)).randbytes")],
        "privacy/noise/test_prediction.py::test_forks_draw_different_noise",
    ),
    Mutant(
        "a sampler that tries again until it has the draw",
        "guessing from the time",
        [Change("privacy.noise.system:SystemNoise.laplace", "return draw_exactly(",
                "for _ in range(abs(int(self._block(99, t, s)[0]))): self._entropy(8)\n"
                "        return draw_exactly(")],
        "privacy/noise/test_prediction.py::test_the_work_of_a_draw_does_not_tell_its_size",
    ),
    Mutant(
        "the greatest value without noise on how many rows are beyond",
        "isolating an extreme",
        [Change("privacy.noise.thresholds:_stops", "looks = geometric(",
                "looks = 0 * geometric(")],
        "privacy/noise/test_walk.py::test_stops_fit_the_law",
    ),
    Mutant(
        "totals of a block without noise",
        "a census block",
        [Change(_NOISE, _SUM, "numbers.ravel()")],
        "lab/test_attacks.py::test_attack[census]",
        slow=True,
    ),
    Mutant(
        "a rate that asking cannot reach is not marked",
        "a student's attack",
        [Change("lab.classroom.scores:Row.note", "if self.beyond", "if False")],
        "lab/test_scores.py::test_ranks_are_shared_where_intervals_overlap",
        slow=True,
    ),
    Mutant(
        "a search whose threshold has no noise",
        "a search that tells only yes or no",
        [Change("privacy.noise.thresholds:_stops", "threshold = geometric(",
                "threshold = 0 * geometric(")],
        "privacy/noise/test_walk.py::test_stops_fit_the_law",
        slow=True,
    ),
    Mutant(
        "a better answer to the same question with noise of its own, at the difference in price",
        "two views",
        [Change("privacy.noise.refinement:GradualNoise._next", "if not step:", "if True:"),
         Change("privacy.noise.refinement:GradualNoise._next", "self._unit, self._size",
                "self._unit / self._rates[step], self._size")],
        "privacy/noise/test_gradual.py::test_the_steps_fit_their_joint_distribution",
        slow=True,
    ),
)  # fmt: skip

ROWS = (
    Mutant(
        "as many rows of one person as there are",
        "one person, many rows",
        [Change("engines.units.caps:Units.capped",
                "kept[rows] = stays", "pass")],
        "audit/test_bounded_influence.py::test_a11_one_person_with_many_rows_counts_as_declared",
    ),
    Mutant(
        "the orders of a customer are taken for as many customers",
        "one person, many rows",
        [Change("engines.units.keys:TableOwners.named_by", "owner.chain is not None", "False")],
        "engines/conformance/test_chains.py::test_a_row_is_its_order_s_customer_s",
    ),
    Mutant(
        "different orders have the noise of different customers",
        "one person, many rows",
        [Change("plan.relations.privacy_ids:unit_columns", "Table(unit=str(unit), chain=None)",
                "Table(unit=str(unit))")],
        "system/test_several_tables.py::test_different_customers_and_different_orders",
    ),
    Mutant(
        "a person who is replaced is one change of what a cap is found from",
        "one person, many rows",
        [Change("plan.physical.mechanism_choice:MechanismChoice.for_caps",
                "2 if self.contribution.neighbors is Neighbors.REPLACE else 1", "1")],
        "system/test_found_caps.py::test_a_unit_counts_once_however_many_rows_it_has",
    ),
    Mutant(
        "the cap is found, and not charged for",
        "one person, many rows",
        [Change("plan.planner:_with_bounds_sought", "share.part(1 - part)", "share")],
        "system/test_found_caps.py::test_a_total_drops_no_row_and_has_the_noise_of_its_cap",
    ),
    Mutant(
        "of one person's rows the smallest are kept",
        "a cap that selects",
        [Change("engines.units.caps:Units.hashes", "return row_hashes(",
                "return self.columns[-2].column.units[rows].astype(np.uint64); return row_hashes(")],
        "engines/memory/test_contribution_bounds.py::test_the_mean_of_what_is_kept_is_the_mean",
    ),
    Mutant(
        "people whose names are spoilt are one person",
        "people merged",
        [Change("engines.sources.cells.builders:_TextBuilder._text", "self._exact", "False")],
        "engines/sources/test_csv_locality.py::test_a_cell_that_loses_anything_names_no_unit",
    ),
    Mutant(
        "as many rows of one person are held as there are",
        "work that one person",
        [Change("engines.units.held_rows:held_units", "units.capped(None, table.rows_held)",
                "owners.numbers != NONE")],
        "engines/memory/test_held_rows.py::test_made_tables_have_the_held_rows_alone",
    ),
    Mutant(
        "all texts of one person are held",
        "work that one person",
        [Change("engines.units.held_rows:within_budget", "ends - before > budget",
                "ends < 0")],
        "engines/memory/test_held_rows.py::test_texts_beyond_the_budget_of_their_unit_are_null",
    ),
    Mutant(
        "all people are worked on at once",
        "work that one person",
        [Change("engines.relations.unit_rows:unit_partitions", "size = whole.units_of(table), units",
                "size = whole.units_of(table), 10**9 + units")],
        "engines/memory/test_unit_rows.py::test_no_more_units_are_worked_on_at_once_than_a_piece_has",
    ),
    Mutant(
        "groups are the values that rows have",
        "group keys",
        [Change("plan.ranges.group_keys:_declared", "raise Unsupported(",
                "return ('Ann0',)\n    raise Unsupported(")],
        "audit/test_bounded_influence.py::test_a10_group_keys_are_declared",
    ),
    Mutant(
        "values that are not clamped",
        "isolating an extreme",
        [Change("engines.sources.cells.grids:Grid.units", "np.clip(numbers, *self.bounds)",
                "np.clip(numbers, -1e15, 1e15)"),
         Change("engines.sources.cells.grids:Grid.units",
                "np.clip(steps, self.lowest, self.highest).astype(self.dtype)",
                "steps.astype(np.int64)")],
        "audit/test_bounded_influence.py::test_a12_no_row_adds_more_than_is_claimed",
    ),
    Mutant(
        "the largest value as sensitivity where the smallest is farther from 0",
        "differencing",
        [Change("privacy.sensitivity:total", "max(abs(lower), abs(upper))", "abs(upper)")],
        "privacy/test_sensitivity_formulas.py::test_the_formula_of_totals_is_the_largest_change",
    ),
    Mutant(
        "a row that changes its group counts once",
        "differencing",
        [Change("privacy.sensitivity:total", "2 * largest", "largest")],
        "privacy/test_sensitivity_formulas.py::test_the_formula_of_totals_is_the_largest_change",
    ),
    Mutant(
        "the largest weight as sensitivity where the smallest is farther from 0",
        "differencing",
        [Change("privacy.sensitivity:tally", "max(abs(lower), abs(upper), 1)", "max(upper, 1)")],
        "privacy/test_sensitivity_formulas.py::test_the_formula_of_tallies_is_the_largest_change",
    ),
    Mutant(
        "weights of both signs change against each other by the largest",
        "differencing",
        [Change("privacy.sensitivity:tally", " or lower < 0 < upper", "")],
        "privacy/test_sensitivity_formulas.py::test_the_formula_of_tallies_is_the_largest_change",
    ),
    Mutant(
        "a vector's sensitivity is that of its first part",
        "differencing",
        [Change("privacy.sensitivity:joint", "return max(", "return next(")],
        "privacy/test_sensitivity.py::test_planned_is_the_largest_change",
        slow=True,
    ),
    Mutant(
        "what a person comes to is clamped, and counts once for all groups",
        "one person, many rows",
        [Change("privacy.sensitivity:_of_groups", "return each * alone", "return alone")],
        "privacy/test_sensitivity_formulas.py::"
        "test_the_formula_of_what_units_come_to_is_the_largest_change",
    ),
    Mutant(
        "a person's rows are clamped one by one where their sum should be",
        "one person, many rows",
        [Change("engines.statistics.groups:CellRows._of_units", "self.owners[passed]",
                "passed")],
        "engines/conformance/test_statements.py::"
        "test_what_each_unit_comes_to_in_a_group_is_clamped",
    ),
    Mutant(
        "a person is in one group, whatever the keys are",
        "one person, many rows",
        [Change("plan.logical.query:Query.groups_per_unit", "columns_of(key).keys() <= owned", "True")],
        "engines/memory/test_groups_of_units.py::test_a_customer_is_in_so_many_groups",
    ),
    Mutant(
        "a person is in one group, though a column that names persons can be NULL",
        "one person, many rows",
        [Change("plan.logical.per_unit:PerUnit.names_every_unit", "naming <= ", "True or naming <= ")],
        "engines/memory/test_groups_of_units.py::"
        "test_a_customer_has_two_rows_where_the_column_that_names_customers_can_be_null",
    ),
    Mutant(
        "a person has one different value in a group, however many rows",
        "one person, many rows",
        [Change("plan.physical.lowering:contribution_of", "isinstance(value, UnitValue)",
                "value is not None")],
        "privacy/test_unit_sensitivity.py::test_a_unit_of_several_rows",
        slow=True,
    ),
    Mutant(
        "sums of doubles",
        "sums that rounding",
        [Change("engines.values.exact_sums:_sum", "if largest * _CACHED < 2**31:",
                "return int(float(terms.astype(float).cumsum()[-1]) if len(terms) else 0)\n"
                "    if largest * _CACHED < 2**31:")],
        "audit/test_exact_arithmetic.py::"
        "test_a02_a_row_moves_a_sum_of_large_values_no_further_than_claimed",
    ),
    Mutant(
        "sums that wrap around",
        "overflow",
        [Change("engines.values.exact_sums:_sum", "high = int(",
                "return int(terms.astype('int64').sum(dtype='int32'))\n    high = int(")],
        "audit/test_exact_arithmetic.py::test_a03_sums_past_64_bits_do_not_wrap",
    ),
    Mutant(
        "cells are read as Python reads numbers",
        "overflow",
        [Change("vectors.grammar:number", "if _NUMBER.fullmatch(text) is None:\n        return None\n"
                "    value = float(text)",
                "try:\n        value = float(text)\n    except ValueError:\n        return None")],
        "vectors/test_grammar.py::test_what_is_no_number",
    ),
    Mutant(
        "a fault's message with what it stumbled over",
        "errors that only one row",
        [Change("errors:reportable", '"dpdb failed to answer this statement"', "str(error)")],
        "audit/test_nothing_shows_rows.py::test_a24_a_fault_of_ours_shows_no_cell",
    ),
    Mutant(
        "exact results that say what they are",
        "logs and",
        [Change("engines.protocol:Exact.__repr__", '"<exact results>"', "repr(self.cells)")],
        "audit/test_nothing_shows_rows.py::test_a24_nothing_that_holds_rows_shows_them",
    ),
    Mutant(
        "the type of an exact sum follows the sum",
        "the type, length or order",
        [Change("engines.statistics.statistics:Statistics._total", "astype(held)",
                "astype(WORD if all(abs(int(v)) < 2**62 for v in result) else object)")],
        "audit/test_coupled.py::test_no_byte_hangs_on_how_a_result_is_held",
        slow=True,
    ),
    Mutant(
        "zero keeps its sign",
        "an expression whose value",
        [Change("vectors.vector:one_zero", "np.add(fresh, 0.0, out=fresh)", "fresh"),
         Change("vectors.vector:finite", "lost = ~np.isfinite(values)",
                "lost = ~np.isfinite(values)\n    if not lost.any():\n"
                "        return Vector(values, null)")],
        "vectors/test_locality.py::test_representations_follow_from_the_policy",
    ),
    Mutant(
        "no mask where no row of a block needs one",
        "guessing from the time",
        [Change("vectors.columns:Numbers.within", "self.null[rows]",
                "(self.null[rows] if self.null.any() else None)")],
        "engines/memory/test_counted_work.py::test_work_is_the_same_whatever_rows_hold",
        slow=True,
    ),
    Mutant(
        "the number of rows in SHOW TABLES",
        "costs, refusals",
        [Change("session.free_statements:table_rows", "return ",
                "return tuple((len(t.path.read_bytes()), 1, t.name) for t in policy.tables) or ")],
        "audit/test_prices.py::test_a19_metadata_comes_from_the_policy",
    ),
    Mutant(
        "answers leave when they are ready",
        "guessing from the time",
        [Change("session.timing.gate:Gate.opens_on_tick", "self._timed", "False")],
        "session/test_gate.py::test_answers_from_rows_leave_a_session_on_a_tick",
    ),
    Mutant(
        "ticks without a secret delay",
        "guessing from the time",
        [Change("session.timing.tick:_secret", "secrets.randbelow(_SECRETS) / _SECRETS", "0.0")],
        "session/test_tick.py::test_the_moment_is_a_function_of_the_time_and_a_secret",
    ),
    Mutant(
        "an answer is kept when the work is done, before its tick",
        "interrupts at a chosen moment",
        [Change("session.timing.gate:Gate.reading", "self._wait()", "pass")],
        "session/test_interrupts.py::test_an_interrupt_at_every_step_leaves_the_same_state",
    ),
)  # fmt: skip

STATEMENTS = (
    Mutant(
        "arguments that nobody has heard of are left out",
        "text that two lexers",
        [Change("sql.syntax.trees:only", "if value and name not in allowed:", "if False:")],
        "audit/test_injection.py::test_a25_what_is_not_on_the_list_is_refused",
    ),
    Mutant(
        "each part of a file that is read is told",
        "around the statements",
        [Change("interfaces.cli.main:_session", "and not options.restricted", "")],
        "system/command_line/test_restricted.py::"
        "test_how_much_of_the_file_is_read_is_not_shown",
    ),
    Mutant(
        "names of files in the folder of another user",
        "around the statements",
        [Change("interfaces.console.commands:commands_of", "each.leads_out and", "False and")],
        "system/command_line/test_restricted.py::test_names_of_files_are_not_completed",
    ),
    Mutant(
        "names are printed as they are",
        "terminal escapes",
        [Change("errors:printable", "if text.isprintable():", "if True:")],
        "audit/test_injection.py::test_a26_nothing_printed_moves_the_cursor_or_computes",
    ),
    Mutant(
        "formulas are written as they are",
        "terminal escapes",
        [Change("answers.formats.render:spreadsheet", "if text.startswith(_FORMULA)", "if False")],
        "audit/test_injection.py::test_a26_nothing_printed_moves_the_cursor_or_computes",
    ),
    Mutant(
        "patterns of any length",
        "queries too large",
        [Change("sql.syntax.trees:Effort.spend_pattern", "if self.wildcards > MAX_WILDCARDS:", "if False:")],
        "sql/test_limits.py::test_patterns_that_take_long_on_long_texts_have_a_limit_in_all",
    ),
    Mutant(
        "statements of any length",
        "queries too large",
        [Change("sql.text.tokens:read_tokens", "> MAX_TOKENS", "> 10**9")],
        "sql/test_limits.py::test_tokens_and_selects_are_counted",
    ),
    Mutant(
        "the rows of a unit multiply without a limit",
        "work that one person",
        [Change("plan.unit_work:check_rows", "node.made > MAX_UNIT_ROWS", "False")],
        "system/test_unit_work.py::test_refused_before_it_is_paid_whoever_is_there",
    ),
    Mutant(
        "a join counts public rows once",
        "work that one person",
        [Change("plan.relations.stability:_Shapes._beside_public", "fan_out = max(1, ", "fan_out = min(1, ")],
        "long/test_rows_of_a_unit.py::test_no_node_has_more_rows_of_a_unit",
        slow=True,
    ),
)  # fmt: skip

FAULTS = (*NOISE, *ROWS, *BUDGETS, *STATEMENTS)
