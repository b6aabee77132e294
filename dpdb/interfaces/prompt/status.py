"""The lines above the first prompt, and the line below it: the budget and a price.

The price is what EXPLAIN would show, and so nothing in it comes from rows.
"""

from __future__ import annotations

from prompt_toolkit.formatted_text import StyleAndTextTuples

from dpdb.answers.answer import Answer
from dpdb.answers.formats.footer import TRIAL
from dpdb.answers.formats.summaries import margins
from dpdb.answers.release_reports import EXACT
from dpdb.errors import DpdbError, InvalidOption, MissingBounds, TooLarge, display_width, printable
from dpdb.interfaces.console.terminal import cut
from dpdb.interfaces.prompt.completion import declaration
from dpdb.ledger.protocol import FREE, Balance
from dpdb.policy.budget import Budget, Composition
from dpdb.policy.catalog import Policy, Table
from dpdb.policy.numbers import decimal

TEACHING = (
    "teaching mode, no answer is private (.help teaching)",
    "it allows SET dp = off, SET sensitivity = 'local' and SET reveal = on",
)


def greeting(policy: Policy, width: int, *, teach: bool = False) -> str:
    """Two lines of `width` columns: the tables, and the budget with a query's share of it.

    In teaching mode, what it allows follows; in a trial, that there are no data.
    """
    budget = policy.budget
    epsilon, queries = decimal(budget.epsilon), budget.queries
    limits = f"ε {epsilon}, k {queries} for this session"
    if policy.lasting is not None:
        limits = f"ε {epsilon} {policy.lasting.duration}, k {queries} a session"
    each = f"{limits}: {_share(budget)} a query"
    known = (
        f"{each} · .help explains, .ask builds a query, .quit leaves",
        f"{each} · .help, .ask, .quit",
        each,
    )
    second = next((text for text in known if display_width(text) <= width), limits)
    lines = [cut(_tables(policy.tables, width), width), second]
    if policy.is_trial:
        lines.append(cut(TRIAL, width))
    return "\n".join(lines + [cut(line, width) for line in TEACHING if teach])


def _share(budget: Budget) -> str:
    """The ε of one query that counts: an even part, or as much as zCDP allows."""
    share = Balance.after(budget).share
    if share.concentrated:
        return f"by zcdp at δ {decimal(budget.delta)}, ε {decimal(share.epsilon, 3)}"
    by = "" if budget.composition is Composition.PURE else "by the sum of ε, "
    return f"{by}ε/k = {decimal(share.epsilon)}"


def _tables(tables: tuple[Table, ...], width: int) -> str:
    """The tables with as many of their columns as there is room for."""
    room = width // len(tables) - len(tables)
    return " ".join(_table(table, room) for table in tables)


def _table(table: Table, room: int) -> str:
    items = [f"{printable(column.name)} {declaration(column)}" for column in table.columns]
    for number in range(len(items), -1, -1):
        left = len(items) - number
        listed = [*items[:number], *([f"{left} more: .schema"] if left else [])]
        text = f"{printable(table.name)}({', '.join(listed)})"
        if display_width(text) <= room:
            break
    return text


BAR = 10
"""The width of the budget's bar, in columns."""
REFUSED = "class:refused"
TRIAL_STYLE = "class:trial"

Quote = Answer | DpdbError | None


def toolbar(balance: Balance, quote: Quote, width: int) -> StyleAndTextTuples:
    """The budget and the price, as much of both as fits."""
    wide = _budget(balance, bar=True)
    price, style = _price(quote)
    budget = (
        wide if display_width(wide) + display_width(price) <= width else _budget(balance, bar=False)
    )
    if display_width(budget) + display_width(price) > width and price:
        # There is no room for both: the price goes first, as SHOW BUDGET shows the rest.
        budget = f" ε {decimal(balance.epsilon_left)} left "
    return [("", cut(budget, width)), (style, cut(price, max(width - display_width(budget), 1)))]


def _budget(balance: Balance, *, bar: bool) -> str:
    budget = balance.budget
    epsilon = f"ε {decimal(balance.epsilon_left)} of {decimal(budget.epsilon)}"
    queries = f"{balance.queries_left} of {budget.queries} queries left"
    return f" {epsilon} {_bar(balance)} {queries} " if bar else f" {epsilon}, {queries} "


def _bar(balance: Balance) -> str:
    # Of a server's balance nobody knows whether it is possible.
    left = min(max(round(BAR * balance.epsilon_left / (balance.budget.epsilon or 1)), 0), BAR)
    return "█" * left + "░" * (BAR - left)


def _price(quote: Quote) -> tuple[str, str]:
    """The statement's price or refusal and its style; empty while the statement is unfinished."""
    match quote:
        case MissingBounds() | TooLarge() | InvalidOption():
            return f" refused: {printable(quote.message)} ", REFUSED
        case Answer(trial=True):
            return f"{price_text(quote)} ", TRIAL_STYLE
        case Answer(cost=cost, balance=balance):
            text = f"{price_text(quote)} "
            short = (
                cost.epsilon > balance.epsilon_left
                or cost.delta > balance.delta_left
                or cost.queries > balance.queries_left
            )
            return (f" refused:{text}", REFUSED) if short else (text, "")
    return "", ""


def price_text(quote: Answer) -> str:
    """The price, and the 95 % margin of each release that adds noise."""
    if quote.would_cost:
        return f" trial: would cost ε {decimal(quote.would_cost.epsilon)}{_errors(quote)}"
    if quote.cost == FREE:
        if any(report.mechanism == EXACT for report in quote.releases):
            return " costs nothing: dp is off"
        return " costs nothing: answered before" if quote.repeat else " costs nothing"
    return f" costs ε {decimal(quote.cost.epsilon)}{_errors(quote)}"


def _errors(quote: Answer) -> str:
    """The ± of the first columns, each once; without releases nothing is known."""
    known = [(printable(label), error) for label, error in margins(quote)] if quote.releases else []
    if len(known) == 1:
        return f", {known[0][1]}"
    return "".join(f", {label} {error}" for label, error in known[:3])
