"""`.help`: a page on each of the things that one has to know."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from wcwidth import wcswidth

from dpdb.errors import UnknownName, did_you_mean
from dpdb.shell.settings import SETTINGS, Settings

TOPICS = {
    "epsilon": """\
        ε, the privacy budget
        =====================
        Every answer carries noise, so that nobody can tell from it whether any one
        row is in the file. ε says how well: with or without that row, no outcome
        is more than e^ε times as likely.

            ε = 0.1   e^ε = 1.11   hardly anything can be told
            ε = 1     e^ε = 2.72   a usual total for a session
            ε = 5     e^ε = 148    good for a demonstration

        What answers tell adds up, and so does their ε. A session has a total and
        a limit of k queries; when either is used up, no more are answered. A query
        is paid for before a row is read, and asking the same again is free.

            SHOW BUDGET;            what is spent and left
            EXPLAIN SELECT …;       what a query would cost, free
            SET epsilon = 0.2;      what each query from now on may spend

        Queries about different rows (WHERE zip = 1, then WHERE zip = 2) are paid
        for once: no row has a part in both.""",
    "composition": """\
        Composition: how queries add up
        ===============================
        By the policy's composition, or --composition:

            pure       the sum of their ε: the guarantee has no exceptions
            advanced   about √k of them instead of k, for many small queries
            zcdp       their ρ add up: as advanced, and tighter

        The last two need δ > 0, a probability of exceptions far below 1 / the
        number of rows. Half of it is the theorem's own. What a query may spend is
        the most that k of them can have; SHOW BUDGET has what each theorem says of
        the session so far.""",
    "accuracy": """\
        Accuracy: asking for the error instead of ε
        ===========================================
        After SELECT, WITH DIFFERENTIAL_PRIVACY OPTIONS(…) may have:

            error = 100              the least ε that keeps the noise within ±100
            relative_error = 0.1     paid in steps until the noise is within 10 %
            confidence = 0.99        of either; 0.95 unless given
            noise_index = [1, 10]    ten times the noise on the second aggregate
            mechanism = 'gaussian'   instead of Laplace noise; needs δ > 0
            sensitivity = 'smooth'   of MIN, MAX, MEDIAN, quantiles; needs δ > 0

        The last two can also be SET for all queries. How much relative_error takes
        follows from the noisy answers (ex-post privacy), and is never more than
        the query's ε. It and error are for COUNT and SUM.""",
    "sensitivity": """\
        Sensitivity, Δf
        ===============
        How far one row can move an exact answer, at most. That is what noise has
        to hide.

            COUNT(*)      1: a row more or less
            SUM(age)      65, if no age is above 65
            SUM(income)   1000000, if incomes are between 0 and 1000000

        It comes from declared bounds, never from the rows: the largest income in
        the file belongs to somebody. Values outside the bounds are clamped to
        them. A column without bounds can be counted, not summed; give it some:

            in the policy          income = { type = "number", bounds = [0, 1000000] }
            when starting          dpdb people.csv --bounds income=0:1000000
            in a query             SUM(CLAMP(income, 0, 200000))
            or by a condition      WHERE income BETWEEN 0 AND 200000

        The narrower they are, the less noise there is.""",
    "noise": """\
        Noise: k·Δf/ε
        =============
        To each exact result dpdb adds a random number from the Laplace
        distribution. Its scale is Δf/ε for a query that has ε to spend. One of k
        queries has ε/k, and so the scale is k·Δf/ε: more privacy (a smaller ε),
        more queries or wider bounds mean more noise.

            a COUNT(*) with ε = 1, k = 10:   10 · 1/1 = 10
            half of the answers are off by less than 7, 95 of 100 by less than 30

        How many rows there are does not matter to the noise, and so the more rows
        a question is about, the less the noise matters. EXPLAIN gives the smallest
        true answer (MTA) for which it is within 10 %, in 50, 90 and 95 of 100 cases.

        MIN, MAX, MEDIAN and quantiles add nothing: they choose a value within the
        bounds, the better its rank the likelier (the exponential mechanism).""",
    "intervals": """\
        Intervals: what ± means
        =======================
            COUNT(*)
            251 ± 30

        The exact count is between 221 and 281 in 95 of 100 such answers. The noise
        is known but for chance, so that the interval needs no data; and it is of
        the noise alone: how well the file stands for anything larger than itself
        is for you to judge.

        Shown are as many digits as mean something; CSV and JSON have all of them
        (.mode csv, .mode json). An average is a noisy sum over a noisy count, and
        its interval is worked out from both. Where noise decides which groups are
        shown (HAVING, ORDER BY with LIMIT), ± is wider and holds for all of them at
        once. MIN, MAX, MEDIAN, quantiles and MODE have none: they are chosen by rank,
        and how far that is from the exact value depends on the rows.

        A value marked "only noise" has an interval as wide as its bounds allow: it
        says nothing that the policy does not say. A count can come out negative:
        that is noise, and to hide it would bias what is computed from such answers.""",
    "keys": """\
        Keys
        ====
            Enter           runs what ends in ; and otherwise goes on to the next line
            Tab             completes; what to type next comes up while you type
            →, Ctrl-E       takes the suggestion shown in grey, from your history
            ↑ ↓             moves through lines, and then through history
            Ctrl-R          searches the history
            Ctrl-X Ctrl-E   opens the text in $VISUAL or $EDITOR (in vi mode: v)
            Alt-Enter       runs what is there, with or without ;
            Ctrl-C          cancels; what was debited stays debited
            Ctrl-D          leaves""",
    "sql": """\
        SQL
        ===
            SELECT COUNT(*) FROM people WHERE age >= 40;
            SELECT zip, COUNT(*), AVG(income) FROM people GROUP BY zip;
            SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.2) AVG(age) FROM t;
            EXPLAIN SELECT …;      its noise and its price, free
            SHOW BUDGET;           what is spent and left
            SHOW TABLES;  DESCRIBE people;
            SET epsilon = 0.2;     what each query may spend; 'default' is ε/k
            SET repeats = 'fresh'; pay for new noise when a query is repeated

        Every query is about many rows: it has an aggregate (COUNT, SUM, AVG, MIN,
        MAX, MEDIAN, QUANTILE_CONT, VARIANCE, STDDEV, MODE). Groups are of columns
        whose values the policy lists. Press Tab anywhere to see what fits.""",
}
ALIASES = {"ε": "epsilon", "budget": "epsilon", "Δf": "sensitivity", "bounds": "sensitivity",
           "k": "noise", "k·Δf/ε": "noise", "laplace": "noise", "±": "intervals"}  # fmt: skip


def help_on(topic: str, settings: Settings, commands: Mapping[str, str]) -> str:
    """A topic's page; without a topic, the list of `commands` and topics."""
    name = ALIASES.get(topic, topic.lower())
    if not name:
        return _overview(commands)
    if name == "settings":
        return _settings(settings)
    if name not in TOPICS:
        names = [*TOPICS, "settings"]
        hint = did_you_mean(name, names) or f"topics are {', '.join(names)}"
        raise UnknownName(f"no help on {topic}", hint=hint)
    return textwrap.dedent(TOPICS[name])


def _overview(commands: Mapping[str, str]) -> str:
    return "\n".join(
        [
            "Type SQL and end it with ; or a dot command:",
            "",
            *_listed(commands),
            "",
            textwrap.fill(f"Topics: {', '.join([*TOPICS, 'settings'])}.", 78),
        ]
    )


def _settings(settings: Settings) -> str:
    rows: list[str] = []
    for setting in SETTINGS.values():
        rows.append(f"  .{setting.name:<9}{'|'.join(setting.values)}")
        rows.append(f"{'':12}{setting.help} (now {settings[setting.name]})")
    return "\n".join(
        [
            "The first value is the default. From config.toml in $XDG_CONFIG_HOME/dpdb",
            "(~/.config/dpdb), then --config FILE, then DPDB_MODE, DPDB_CONFIRM, …, then",
            "--format and --no-color, then the commands themselves:",
            "",
            *rows,
            "",
            "What touches data or budget is SQL: SET epsilon, SET repeats (.help sql).",
        ]
    )


def _listed(rows: Mapping[str, str]) -> list[str]:
    width = max(map(wcswidth, rows)) + 2
    return [f"  {name}{' ' * (width - wcswidth(name))}{meaning}" for name, meaning in rows.items()]
