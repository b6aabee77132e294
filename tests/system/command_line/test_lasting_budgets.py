"""Budgets that last, through the command line: the data owner's commands and the analyst's."""

from __future__ import annotations

import csv
import json
import time
from pathlib import Path

import pytest

from dpdb.ledger.book import plan_text
from dpdb.ledger.book.plan_text import RegionText
from dpdb.plan.relations.regions import Region
from dpdb.policy.catalog import Table
from tests.support.command_line import Make, Run
from tests.support.terminal import Terminal

POLICY = """
[budget]
name = "shop-2026"
epsilon = 1.0
queries = 4

[tables.t.columns]
a = { type = "integer", bounds = [0, 9] }
g = { type = "text", values = ["x", "y"] }
"""
ROWS = "a,g\n" + "5,x\n3,y\n" * 50
COUNT = "SELECT COUNT(*) FROM t"
PAID = f"SET repeats = 'fresh'; {COUNT}"


@pytest.fixture
def shop(make: Make, run: Run) -> Path:
    """A policy whose budget is open."""
    path = make(ROWS, POLICY).with_suffix(".toml")
    assert run("budget", "open", path).code == 0
    return path


def left(run: Run, policy: Path) -> float:
    [answer] = run(policy, "--json", "-c", "SHOW BUDGET").answers
    return float(answer["budget"]["epsilon_left"])


def test_queries_are_counted_by_session_and_in_all(make: Make, run: Run) -> None:
    policy = make(ROWS, POLICY.replace("queries = 4", "queries = 4\nqueries_in_all = 9"))
    run("budget", "open", policy.with_suffix(".toml"))
    for _ in range(2):
        run(policy, "-c", PAID)
    [_, _, budget] = run(policy, "--json", "-c", f"{PAID}; SHOW BUDGET").answers
    counts = [row for row in budget["rows"] if row[0].startswith("queries")]
    assert counts == [["queries of this session", 4, 1, 3], ["queries in all", 9, 3, 6]]


def test_a_ledger_is_opened_once(make: Make, run: Run) -> None:
    path = make(ROWS, POLICY)
    refused = run(path, "-c", COUNT)
    assert (refused.code, refused.out) == (2, "")
    assert "there is no ledger" in refused.err
    assert "dpdb budget open" in refused.err
    opened = run("budget", "open", path)
    assert opened.code == 0
    assert opened.out.startswith(
        "opened shop-2026: ε 1 for good\nnote: people who can write t.ledger or read the data"
    )
    assert path.with_suffix(".ledger").stat().st_mode & 0o777 == 0o600
    assert run(path, "-c", COUNT).code == 0
    again = run("budget", "open", path)
    assert again.code == 2
    assert "stays as it is" in again.err


def test_runs_share_one_budget(shop: Path, run: Run) -> None:
    """By its name and its place, whichever of the two files is named."""
    for spent in range(1, 5):
        assert run(shop if spent % 2 else shop.with_suffix(".csv"), "-c", PAID).code == 0
        assert left(run, shop) == 1 - spent / 4
    refused = run(shop, "-c", PAID)
    assert refused.code == 3
    assert "0 left" in refused.err


def test_no_answer_overwrites_the_ledger(shop: Path, run: Run) -> None:
    ran = run(shop, "-o", shop.with_suffix(".ledger"), "-c", COUNT)
    assert (ran.code, "is not overwritten" in ran.err) == (2, True)
    assert left(run, shop) == 1


def test_the_ledger_can_be_elsewhere(shop: Path, run: Run) -> None:
    elsewhere = shop.with_name("moved.ledger")
    shop.with_suffix(".ledger").rename(elsewhere)
    assert run(shop, "-c", COUNT).code == 2
    assert run(shop, "--ledger", elsewhere, "-c", COUNT).code == 0
    shop.write_text(shop.read_text().replace("[budget]", '[budget]\nledger = "moved.ledger"'))
    assert left(run, shop) == 0.75


def test_an_option_names_a_budget_after_its_file(make: Make, run: Run) -> None:
    path = make(ROWS)
    ledger = path.with_name("ours.ledger")
    assert "opened ours" in run("budget", "open", path, "--ledger", ledger).out
    assert run(path, "--ledger", ledger, "-c", COUNT).code == 0
    assert "ε 0.1 spent" in run("budget", "verify", path, "--ledger", ledger).out


def test_teaching_mode_has_no_budget_that_lasts(shop: Path, run: Run) -> None:
    refused = run(shop, "--teach", "-c", "SET dp = off; SELECT SUM(a) FROM t")
    assert (refused.code, refused.out) == (2, "")
    assert "teaching mode" in refused.err


@pytest.mark.parametrize("words", [["--epsilon", "2"], ["--queries", "5"], ["--delta", "1e-6"],
                                   ["--neighbors", "replace"], ["--bounds", "a=0:8"]])  # fmt: skip
def test_options_cannot_ask_for_more(shop: Path, run: Run, words: list[str]) -> None:
    refused = run(shop, *words, "-c", COUNT)
    assert (refused.code, refused.out) == (2, "")
    assert "there" in refused.err
    assert left(run, shop) == 1


def test_options_can_ask_for_less(shop: Path, run: Run) -> None:
    assert run(shop, "--epsilon", "0.5", "--queries", "1", "-c", COUNT).code == 0
    assert left(run, shop) == 0.5


def test_the_prompt_shows_what_others_leave(shop: Path, run: Run, tmp_path: Path) -> None:
    with Terminal(str(shop), home=tmp_path) as terminal:
        terminal.wait_for_prompt()
        assert "ε 1 for good, k 4 a session" in terminal.text
        terminal.run(COUNT + ";")
        terminal.wait(lambda t: "ε 0.75 of 1" in t.toolbar)
        run(shop, "-c", PAID)
        terminal.send("S")
        terminal.wait(lambda t: "ε 0.5 of 1" in t.toolbar)
        run("budget", "accept", shop, "--why", "other data")
        terminal.send("E")
        terminal.wait(lambda t: "the data owner has accepted other data" in t.toolbar)
        terminal.send("\x08\x08" + COUNT + " WHERE a > 2;\r")
        assert "error: the data owner has accepted other data" in terminal.end()
    assert terminal.process.exitstatus == 2


def test_the_prompt_does_not_begin_without_a_ledger(make: Make, tmp_path: Path) -> None:
    with Terminal(str(make(ROWS, POLICY)), home=tmp_path) as terminal:
        shown = terminal.end()
    assert "there is no ledger" in shown
    assert "dpdb>" not in shown
    assert terminal.process.exitstatus == 2


# ------------------------------------------------------------------------ filters that are kept

MADE_UP = [
    "SELECT SUM(DISTINCT a) FROM t",
    "SELECT AVG(DISTINCT a) FROM t WHERE g = 'x'",
    "SELECT SUM(DISTINCT a) FILTER (WHERE a > 3) FROM t",
    "SELECT g, SUM(DISTINCT a) FROM t WHERE a < 9 GROUP BY g",
    "SELECT COUNT(*), SUM(DISTINCT a) FROM t WHERE a > 1",
]
"""Statements on columns that they make up: no table has any."""


def with_all_columns(region: Region | None, _: object) -> tuple[RegionText | None, Region | None]:
    """What earlier versions wrote of a region: limits on columns that are made up, too."""
    if region is None or not isinstance(region.table, Table):
        return None, None
    limits = {
        name: [limit.span.below, list(limit.span.turns), limit.null]
        for name, limit in region.limits.items()
    }
    return {"table": region.table.name, "limits": limits}, region


@pytest.mark.parametrize("earlier", [False, True])
def test_no_statement_locks_others_out(
    make: Make, run: Run, monkeypatch: pytest.MonkeyPatch, earlier: bool
) -> None:
    """Nor did one of an earlier version, whose ledger nobody could read."""
    policy = make(ROWS, POLICY.replace("epsilon = 1.0", "epsilon = 100").replace("= 4", "= 40"))
    shop = policy.with_suffix(".toml")
    assert run("budget", "open", shop).code == 0
    with monkeypatch.context() as before:
        if earlier:
            before.setattr(plan_text, "kept_region", with_all_columns)
        for text in MADE_UP:
            asked = run(shop, "--json", "-c", f"SELECT COUNT(*) FROM t WHERE a = 7; {text}")
            assert asked.code == 0 or earlier
    for text in (*MADE_UP, "SELECT SUM(a) FROM t WHERE a > 5", "SELECT COUNT(*) FROM t"):
        asked = run(shop, "-c", f"SET repeats = 'fresh'; {text}")
        assert (asked.code, asked.err) == (0, "")
    for command in ("show", "verify", "export"):
        assert run("budget", command, shop).code == 0


def test_a_filter_that_cannot_be_read_is_named(
    shop: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit on a column that the table lacks can exclude others in a way that nobody knows."""
    unknown = {"table": "t", "limits": {"z": [True, [3], False]}}
    with monkeypatch.context() as before:
        before.setattr(plan_text, "kept_region", lambda region, _: (unknown, region))
        assert run(shop, "-c", f"{COUNT} WHERE a > 3").code == 0
    for words in ([shop, "-c", COUNT], ["budget", "verify", shop]):
        refused = run(*words)
        assert refused.code == 2
        assert "error: entry 1 of" in refused.err
        assert "has a filter that cannot be read" in refused.err


# -------------------------------------------------------------------------------- the data


def test_data_that_changed_are_not_asked(shop: Path, run: Run) -> None:
    """What was asked of them stays paid; a copy under another name is the same data."""
    data = shop.with_suffix(".csv")
    data.write_text(ROWS + "1,x\n")
    refused = run(shop, "-c", COUNT)
    assert (refused.code, refused.out) == (2, "")
    assert "the data of table t have changed" in refused.err
    data.write_text(ROWS)
    assert run(shop, "-c", COUNT).code == 0
    assert left(run, shop) == 0.5


def test_a_repeat_says_of_which_day_its_data_are(
    shop: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is answered whatever the file has become since; anything new is not."""
    since = time.strftime("%Y-%m-%d", time.gmtime())
    first = run(shop, "-c", COUNT)
    assert "repeated" not in first.out
    shop.with_suffix(".csv").write_text(ROWS + "1,x\n")
    again = run(shop, "-c", COUNT)
    assert again.code == 0
    assert f"\nrepeated, of the data as of {since}\nrepeated: free" in again.out
    assert again.out.splitlines()[2] == first.out.splitlines()[2]
    refused = run(shop, "-c", f"{COUNT} WHERE a > 3")
    assert "hint: its cost stays spent; nothing new is answered until" in refused.err
    monkeypatch.setattr(time, "time", lambda: 400_000_000_000)
    run("budget", "accept", shop, "--why", "a new row")
    run(shop, "-c", COUNT)
    assert "of the data as of 14645-06-30\n" in run(shop, "-c", COUNT).out


def test_a_ledger_of_a_far_year_is_exported(
    shop: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that is wrong can be in any year."""
    monkeypatch.setattr(time, "time", lambda: 253_402_300_800)
    assert run(shop, "-c", COUNT).code == 0
    for command in ("export", "show"):
        told = run("budget", command, shop)
        assert told.code == 0
        assert "10000-01-01" in told.out


def test_a_renamed_file_finds_the_same_budget(shop: Path, run: Run) -> None:
    shop.with_suffix(".csv").rename(shop.with_name("moved.csv"))
    shop.write_text(f"{POLICY}\n[tables.t]\npath = 'moved.csv'\n")
    assert run(shop, "-c", COUNT).code == 0
    assert left(run, shop) == 0.75


def test_the_number_of_rows_is_of_the_same_data(make: Make, run: Run) -> None:
    """Under `replace` it is public, and read before a charge."""
    path = make(ROWS, POLICY + '[privacy]\nneighbors = "replace"\n')
    run("budget", "open", path)
    path.write_text(ROWS + "1,x\n")
    assert "have changed" in run(path, "-c", "SELECT AVG(a) FROM t").err


def test_the_custodian_accepts_changes(shop: Path, run: Run) -> None:
    run(shop, "-c", COUNT)
    shop.with_suffix(".csv").write_text(ROWS + "1,x\n")
    assert "needs a reason" in run("budget", "accept", shop).err
    accepted = run("budget", "accept", shop, "--why", "a new customer")
    assert accepted.out == "accepted; what was spent stays spent\n"
    assert run(shop, "-c", COUNT).code == 0
    assert left(run, shop) == 0.5
    shop.write_text(POLICY.replace("[0, 9]", "[0, 99]"))
    assert run(shop, "-c", COUNT).code == 2
    run("budget", "accept", shop, "--why", "wider bounds")
    assert run(shop, "-c", COUNT).code == 0
    assert "a new customer" in run("budget", "show", shop).out


def test_other_people_s_data_begin_anew(shop: Path, run: Run) -> None:
    run(shop, "-c", COUNT)
    accepted = run("budget", "accept", shop, "--why", "the next year", "--fresh-data")
    assert accepted.out == "accepted; the budget begins anew\n"
    assert left(run, shop) == 1


# ------------------------------------------------------------------------- the data owner's


def test_what_became_of_it_is_shown(shop: Path, run: Run) -> None:
    run(shop, "--analyst", "alice", "-c", f"{COUNT}; {COUNT} WHERE a > 2")
    run(shop, "--analyst", "bob", "-c", "SELECT SUM(a) FROM t")
    shown = run("budget", "show", shop).out
    cells = [[cell.strip() for cell in line.split("|")] for line in shown.splitlines()]
    assert ["epsilon", "1", "0.75", "0.25"] in cells
    assert ["queries in all", "NULL", "3", "NULL"] in cells
    assert ["alice", "NULL", "2", "0.5"] in cells
    assert ["bob", "NULL", "1", "0.25"] in cells
    assert any(row[2:5] == ["bob", "charge", "SELECT SUM(a) FROM t"] for row in cells)


def test_periods_add_up(make: Make, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    periods = 'queries = 4\nperiod = "30 days"\nacknowledge_renewal = true'
    policy = make(ROWS, POLICY.replace("queries = 4", periods)).with_suffix(".toml")
    assert "ε 1 every 30 days" in run("budget", "open", policy).out
    now = time.time()
    for days in (0, 30, 60):
        monkeypatch.setattr(time, "time", lambda days=days: now + days * 86_400 + 1)
        for code in (0, 0, 3):
            texts = f"SET epsilon = 0.5; SET repeats = 'fresh'; {COUNT}"
            assert run(policy, "-c", texts).code == code
    shown = run("budget", "show", policy).out
    assert [line.split()[-3:-2] for line in shown.splitlines() if "of all periods" in line] == [
        ["3"], ["0"]
    ]  # fmt: skip
    assert run("budget", "verify", policy).code == 0


def test_analysts_have_limits(shop: Path, run: Run) -> None:
    assert "alice may spend ε 0.3" in run("budget", "grant", shop, "alice", "0.3").out
    dear = f"SET epsilon = 0.2; {PAID}"
    assert run(shop, "--analyst", "alice", "-c", dear).code == 0
    refused = run(shop, "--analyst", "alice", "-c", dear)
    assert refused.code == 3
    assert "0.2 requested, 0.1 left" in refused.err
    assert "not among the analysts" in run(shop, "-c", COUNT).err
    assert run("budget", "revoke", shop, "alice").code == 0
    assert "not among the analysts" in run(shop, "--analyst", "alice", "-c", COUNT).err
    assert "not among" in run("budget", "revoke", shop, "bob").err


@pytest.mark.parametrize("name", ["", "a\nb", "\x1b[2J", "a" * 101])
def test_analysts_have_names(shop: Path, run: Run, name: str) -> None:
    refused = run(shop, "--analyst", name, "-c", COUNT)
    assert (refused.code, refused.out) == (2, "")
    assert "the name of an analyst" in refused.err


def test_an_analyst_is_named_where_a_budget_lasts(make: Make, run: Run) -> None:
    assert "matters only where a budget lasts" in run(make(ROWS), "--analyst", "a", "-c", COUNT).err


def test_analysts_see_their_own_history(shop: Path, run: Run) -> None:
    for name in ("alice", "bob", "alice"):
        run(shop, "--analyst", name, "-c", PAID.replace("(*)", f"(*) AS {name}"))
    shown = run(shop, "--analyst", "alice", "--csv", "-c", "SHOW HISTORY").out.splitlines()
    assert shown[0] == "time,statement,epsilon,delta"
    told = [line.split(",", 1)[1] for line in shown[1:]]
    assert told == ["SELECT COUNT(*) AS alice FROM t,0.25,0.0"] * 2


def test_a_session_keeps_no_history(make: Make, run: Run) -> None:
    assert "keeps no history" in run(make(ROWS), "-c", "SHOW HISTORY").err


def test_analysts_can_be_in_the_policy(make: Make, run: Run) -> None:
    limits = "[budget.analysts.alice]\nepsilon = 0.3\n"
    path = make(ROWS, POLICY + limits).with_suffix(".toml")
    run("budget", "open", path)
    [answer] = run(path, "--analyst", "alice", "--json", "-c", "SHOW BUDGET").answers
    assert answer["budget"]["epsilon"] == 0.3
    path.write_text(POLICY + limits.replace("0.3", "0.9"))
    assert "analysts.alice is 3/10 there, 9/10 here" in run(path, "-c", COUNT).err


def test_all_of_it_can_be_exported(shop: Path, run: Run) -> None:
    run(shop, "-c", COUNT)
    rows = list(csv.DictReader(run("budget", "export", shop).out.splitlines()))
    told = run("budget", "export", shop, "--format", "json").out.splitlines()
    assert [row["action"] for row in rows] == ["open", "charge"]
    assert [json.loads(line)["statement"] for line in told] == ["", COUNT]
    assert rows[1]["epsilon_in_all"] == "0.25"
    # Neither the key of the digests nor a digest leaves the ledger.
    assert not any(len(value) == 64 for row in rows for key, value in row.items() if key != "seal")


@pytest.mark.parametrize("words", [["show"], ["export"], ["export", "--format", "json"]])
def test_what_analysts_wrote_moves_no_cursor(shop: Path, run: Run, words: list[str]) -> None:
    """A statement is recorded as it was written, and the data owner's terminal shows it."""
    run(shop, "-c", f"{COUNT} WHERE a > 3 /* \x9b2J \u202e \x1b]0;x\x07 */")
    command, *options = words
    shown = run("budget", command, shop, *options).out
    assert "2J" in shown
    assert not set("\x1b\x07\x9b\u202e") & set(shown)


def test_an_older_ledger_is_noticed(shop: Path, run: Run, tmp_path: Path) -> None:
    anchor, ledger = tmp_path / "anchor", shop.with_suffix(".ledger")
    before = ledger.read_bytes()
    run(shop, "-c", COUNT)
    verified = run("budget", "verify", shop, "--anchor", anchor)
    assert verified.code == 0
    assert "2 entries agree, ε 0.25 spent" in verified.out
    run(shop, "-c", COUNT)
    assert "leads on from entry 1" in run("budget", "verify", shop, "--anchor", anchor).out
    ledger.write_bytes(before)
    assert run("budget", "verify", shop).code == 0  # it is whole, and was so once
    older = run("budget", "verify", shop, "--anchor", anchor)
    assert older.code == 2
    assert "is older than" in older.err


def test_an_anchor_in_the_policy_is_asked_each_time(make: Make, run: Run, tmp_path: Path) -> None:
    anchor, anchored = (
        tmp_path / "anchor",
        POLICY.replace("[budget]", "[budget]\nanchor = 'anchor'"),
    )
    path = make(ROWS, anchored).with_suffix(".toml")
    ledger = path.with_suffix(".ledger")
    run("budget", "open", path)
    opened = ledger.read_bytes()
    run(path, "-c", COUNT)
    assert anchor.read_text().split()[::2] == ["0", "1"]
    ledger.write_bytes(opened)
    refused = run(path, "-c", COUNT)
    assert (refused.code, "is older than" in refused.err) == (2, True)
    ledger.unlink()
    again = run("budget", "open", path)  # nor does it begin anew
    assert (again.code, "cannot use the anchor" in again.err) == (2, True)


def test_an_anchor_is_part_of_the_custodian_s_word(shop: Path, run: Run, tmp_path: Path) -> None:
    run(shop, "-c", COUNT)
    shop.write_text(POLICY.replace("[budget]", "[budget]\nanchor = 'anchor'"))
    assert "cannot use the anchor" in run(shop, "-c", COUNT).err
    assert run("budget", "accept", shop, "--why", "an anchor").code == 0
    assert run(shop, "-c", COUNT).code == 0
    assert len((tmp_path / "anchor").read_text().split("\n\n")) == 3
    (tmp_path / "anchor").unlink()
    assert "cannot use the anchor" in run(shop, "-c", COUNT).err
    shop.write_text(POLICY)
    assert "anchored is True there, False here" in run(shop, "-c", COUNT).err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["grant", "alice"], "followed by other words"),
        (["show", "alice"], "followed by other words"),
        (["grant", "alice", "much"], "ε is a number"),
        (["grant", "alice", "0"], "epsilon must be between"),
        (["show", "--why", "so"], "--why is of dpdb budget accept"),
        (["show", "--anchor", "file"], "--anchor is of dpdb budget verify"),
        (["show", "--fresh-data"], "--fresh-data is of dpdb budget accept"),
    ],
)
def test_mistaken_commands(shop: Path, run: Run, words: list[str], message: str) -> None:
    command, *more = words
    ran = run("budget", command, shop, *more)
    assert ran.code == 2
    assert message in ran.err


@pytest.mark.parametrize("command", ["open", "show", "verify", "export"])
def test_a_policy_without_a_name_has_no_ledger(make: Make, run: Run, command: str) -> None:
    path = make(ROWS, POLICY.replace('name = "shop-2026"', ""))
    assert "names no budget" in run("budget", command, path).err


# ------------------------------------------------------------------------------ the policy


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("name = 7", "budget.name: a name has"),
        ("name = ''", "budget.name: a name has"),
        ('name = "a\\u0007"', "budget.name: a name has"),
        ("ledger = 'x'", "budget.ledger: ledger goes with a name"),
        ("anchor = 'x'", "anchor goes with a name"),
        ("name = 'n'\nanchor = true", "anchor is the name of a file"),
        ("queries_in_all = 3", "queries_in_all goes with a name"),
        ("name = 'n'\nqueries_in_all = 0", "queries_in_all is a whole number"),
        ("period = '30 days'", "period goes with a name"),
        ("name = 'n'\nperiod = 30", "a period is a number of days"),
        ("name = 'n'\nperiod = '0 days'", "a period is a number of days"),
        ("name = 'n'\nperiod = '30 days'", "adds up without end; acknowledge_renewal = true says"),
        ("name = 'n'\nperiod = '30 days'\nacknowledge_renewal = false", "adds up without end"),
        ("name = 'n'\nacknowledge_renewal = 'yes'", "acknowledge_renewal is true or false"),
        ("name = 'n'\nledger = 3", "ledger is the name of a file"),
        ("analysts = 3\nname = 'n'", "analysts is a section"),
        ("name = 'n'\n[budget.analysts.alice]", "an analyst has epsilon"),
        ("name = 'n'\n[budget.analysts.alice]\nepsilon = -1", "epsilon must be between"),
        ("name = 'n'\n[budget.analysts.alice]\ndelta = 0", "unknown key delta"),
        ("scope = 'session'", "unknown key scope"),
    ],
)
def test_mistakes_in_a_policy(make: Make, run: Run, line: str, message: str) -> None:
    tables = POLICY[POLICY.index("[tables") :]
    path = make(ROWS, f"[budget]\n{line}\n{tables}")
    ran = run(path, "-c", COUNT)
    assert ran.code == 2
    assert message in ran.err
