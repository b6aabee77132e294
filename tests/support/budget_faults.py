"""The known faults in what is charged for answers, what is left of the budget, and what is kept."""

from __future__ import annotations

from tests.support.mutants import Change, Mutant

_EXECUTOR = "session.purchases.executor:"

BUDGETS = (
    Mutant(
        "rows are looked at before the debit",
        "crashing before the charge",
        [Change("session.purchases.purchases:purchases", "(plan,) = plans",
                "(plan,) = plans; open_executor().engine.exact(plan, {})")],
        "audit/test_failing_queries.py::test_a07_the_debit_comes_before_the_rows",
    ),
    Mutant(
        "a refund where a query fails",
        "crashing before the charge",
        [Change("session.session:Session.execute", "given = self._gate.answer(",
                "before = dict(vars(self._ledger))\n"
                "        try:\n            return self._gate.answer(text, answer)\n"
                "        except BaseException:\n            vars(self._ledger).update(before)\n"
                "            raise\n        given = self._gate.answer(")],
        "audit/test_failing_queries.py::test_a07_the_debit_comes_before_the_rows",
    ),
    Mutant(
        "more is drawn than was charged for",
        "crashing before the charge",
        [Change(f"{_EXECUTOR}_check_receipt", "if not receipt", "if False and not receipt")],
        "session/test_executor.py::test_a_smaller_charge_is_refused",
    ),
    Mutant(
        "a price for each group that is seen",
        "costs, refusals",
        [Change("session.query_answers:QueryAnswers._answer", "return bought(",
                "seen = sum(map(bool, purchase.result.noisy.draws[0].tolist()))\n"
                "        price = replace(purchase.price, epsilon=purchase.price.epsilon * seen)\n"
                "        purchase = replace(purchase, price=price)\n        return bought(")],
        "audit/test_prices.py::test_a18_the_price_is_a_function_of_the_text",
    ),
    Mutant(
        "a budget that is never used up",
        "reconstruction",
        [Change("ledger.spending:covered_price", "price = price_between", "return price_between")],
        "ledger/conformance/test_ledger.py::test_epsilon_is_a_limit",
    ),
    Mutant(
        "fresh noise for nothing",
        "averaging",
        [Change("session.query_answers:QueryAnswers._select", "return free\n        ledger = self._ledger.recording(text)\n",
                "return free\n        from dpdb.ledger.spending import MemoryLedger\n"
                "        ledger = MemoryLedger(self.policy.budget)\n")],
        "audit/test_repeated_questions.py::test_a13_fresh_noise_is_paid_for",
    ),
    Mutant(
        "a level that is refined twice",
        "several analysts",
        [Change("session.purchases.shared_levels:AllSeries.shared",
                "step is not None and all(each is not series for each, _ in steps.values())",
                "step is not None")],
        "session/test_one_answer.py::test_a_statistic_twice_in_a_statement_is_refined_once",
    ),
    Mutant(
        "filters in other words are taken to exclude each other",
        "noise that sticks",
        [Change("plan.relations.regions:Region.excludes", "return any(",
                "return self.key != other.key\n        return any(")],
        "ledger/conformance/test_ledger.py::test_rows_must_exclude_all_others_to_share",
    ),
    Mutant(
        "a row that leaves a filter and enters another pays once",
        "differencing",
        [Change("ledger.spending:Spent._rows", "2 if", "1 if")],
        "ledger/conformance/test_ledger.py::test_rows_that_exclude_each_other_share_a_price",
    ),
    Mutant(
        "filters over another version of the data exclude each other",
        "another session",
        [Change("ledger.book.state:_is_same_budget", "return (", "return True or ("),
         Change("ledger.custodian:decided", "elif decision.version == number:", "elif False:"),
         Change("ledger.lasting:LastingLedger._read", "decision.version != self._session.opened.version",
                "False")],
        "ledger/test_lasting.py::test_other_data_end_the_sessions_on_the_old_ones",
    ),
    Mutant(
        "EXPLAIN tells a query's price alone, though it was planned with others",
        "costs, refusals",
        [Change("session.query_answers:QueryAnswers._explained", "if planned is not None:",
                "if planned is not None and False:")],
        "system/command_line/test_batches.py::test_explain_tells_price_and_noise_as_planned",
    ),
    Mutant(
        "an exact count takes a part of what is drawn together",
        "costs, refusals",
        [Change("session.purchases.batches:Batches.plan", "plan.composed_loss != NO_LOSS and ", "")],
        "system/command_line/test_batches.py::test_exact_counts_have_no_part_of_what_is_drawn",
    ),
    Mutant(
        "an analyst's price is what the whole budget pays",
        "several analysts",
        [Change("session.purchases.shared_levels:Shared.ledger", "ledger.showing(self.own_loss)", "ledger")],
        "session/test_one_answer.py::test_what_is_told_is_what_a_limit_pays",
    ),
    Mutant(
        "two processes look at the balance, and then each takes its price",
        "another session",
        [Change("ledger.lasting:LastingLedger.charge", "made: list[Change] = []",
                "made = []; seen = self._account(self.book.last()); time.sleep(0.01)"),
         Change("ledger.lasting:LastingLedger.charge", "change.check_covered()",
                "self._spender.change(seen, loss, region, queries).check_covered()")],
        "ledger/test_trials.py::test_processes_at_once_are_granted_exactly_the_limit",
    ),
    Mutant(
        "two machines read the last entry of a ledger, and then each charges",
        "another session",
        [Change("ledger.book.server_book:ServerBook._writing", "(_LOCK,)",
                "(_LOCK.removesuffix('FOR UPDATE'),)")],
        "ledger/test_trials.py::test_processes_at_once_are_granted_exactly_the_limit[server]",
        slow=True,
    ),
    Mutant(
        "threads look at the balance, and then each takes its price",
        "another session",
        [Change("ledger.spending:MemoryLedger.charge", "with self._lock:",
                "import time\n        if True:"),
         Change("ledger.spending:MemoryLedger.charge", "            self._spent, self._left =",
                "            time.sleep(0.001)\n            self._spent, self._left =")],
        "system/test_charges_at_once.py::test_two_charges_at_once_never_overspend",
    ),
    Mutant(
        "a charge that is not yet on the disk",
        "crashing before the charge",
        [Change("ledger.book.file_book:FileBook._open", "self._files = self._identities()",
                "self._connection.execute('PRAGMA synchronous = OFF'); "
                "self._files = self._identities()")],
        "ledger/test_book.py::test_a_commit_is_on_the_disk",
    ),
    Mutant(
        "a new ledger where there is none",
        "a ledger that is deleted",
        [Change("ledger.lasting:OpenBook.of", "book = open_book(policy.lasting)",
                "from dpdb.ledger.custodian import open_budget\n"
                "        if not policy.lasting.ledger.exists():\n"
                '            open_budget(policy, "", "00", {})\n'
                "        book = open_book(policy.lasting)")],
        "ledger/test_book.py::test_it_is_never_made_by_asking",
    ),
    Mutant(
        "seals that nobody looks at",
        "a ledger that is deleted",
        [Change("ledger.book.book:Book._sealed", "if seal(before, number, text) == kept:", "if True:")],
        "ledger/test_book.py::test_an_entry_that_was_changed",
    ),
    Mutant(
        "an anchor that nobody looks at",
        "a ledger that is deleted",
        [Change("ledger.book.book:Book.check_anchor", "raise LedgerError(",
                "return number\n            raise LedgerError(")],
        "ledger/test_anchor.py::test_an_anchor_of_another_ledger",
    ),
    Mutant(
        "data that were edited",
        "another session",
        [Change("ledger.protocol:PinnedData.check", "if self.digests.get(table) != digest:",
                "if False:")],
        "system/command_line/test_lasting_budgets.py::test_data_that_changed_are_not_asked",
    ),
    Mutant(
        "options that ask for more than the data owner gave",
        "another session",
        [Change("ledger.lasting:LastingLedger._read", "check_session(decision.terms, self.policy)",
                "pass")],
        "system/command_line/test_lasting_budgets.py::test_options_cannot_ask_for_more",
    ),
    Mutant(
        "a clock that is set back begins another period",
        "another session",
        [Change("ledger.book.state:is_due", "now >= began + days * _DAY",
                "abs(now - began) >= days * _DAY")],
        "ledger/test_periods.py::test_a_clock_that_is_set_back_renews_nothing",
    ),
    Mutant(
        "whoever $USER says",
        "asking in",
        [Change("ledger.accounts:user", "number = os.getuid()",
                "return os.environ['USER']\n    number = os.getuid()")],
        "ledger/test_lasting.py::test_environment_variables_say_not_who_asks",
    ),
    Mutant(
        "any number as ε",
        "ε = -10",
        [Change("policy.budget:valid_epsilon", "if not", "if False and not")],
        "audit/test_prices.py::test_a17_no_such_epsilon",
    ),
    Mutant(
        "a balance in doubles",
        "ε = -10",
        [Change("ledger.spending:Spent.after",
                "return replace(self, sums=(self.sums + loss).shortened(),",
                "sums = self.sums + loss; return replace(self, sums=replace(sums, "
                "epsilon=Fraction(float(sums.epsilon))),")],
        "ledger/conformance/test_ledger.py::test_equal_parts_spend_all_of_epsilon",
    ),
    Mutant(
        "teaching mode for whoever asks",
        "predictable noise",
        [Change("session.free_statements:Settings.changed", "if teaching_only and not teach:", "if False:")],
        "audit/test_noise_comes_first.py::test_a21_noise_cannot_be_predicted",
    ),
)  # fmt: skip
