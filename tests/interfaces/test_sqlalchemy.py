"""SQLAlchemy on dpdb, as far as reading goes: URLs, reflection, queries, one budget for an engine."""

from __future__ import annotations

import datetime
import tomllib
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import pandas as pd
import pytest

import dpdb
from tests.support.served import served

sa = pytest.importorskip("sqlalchemy")

ROOT = Path(__file__).parents[2]
PEOPLE = ROOT / "sample_data" / "people.csv"
DIALECT = "dpdb.interfaces.sqlalchemy_dialect"
COUNT = sa.text("SELECT COUNT(*) AS n FROM people WHERE age > :age")


@pytest.fixture(autouse=True)
def registered() -> None:
    """Where dpdb was installed before it had the dialect, its entry point is not there yet."""
    sa.dialects.registry.register("dpdb", DIALECT, "DpdbDialect")


def engine_on(path: Path = PEOPLE, options: str = "epsilon=1&queries=10", **arguments: Any) -> Any:
    return sa.create_engine(f"dpdb:///{path}?{options}", **arguments)


def balance(engine: Any) -> Any:
    with engine.connect() as connection:
        return connection.connection.dbapi_connection.session.balance


@pytest.fixture
def engine() -> Any:
    return engine_on()


@pytest.fixture
def people(engine: Any) -> Any:
    return sa.Table("people", sa.MetaData(), autoload_with=engine)


def test_the_entry_point_names_the_dialect() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, name = project["entry-points"]["sqlalchemy.dialects"]["dpdb"].split(":")
    assert getattr(import_module(module), name).name == "dpdb"


def test_arguments_of_a_url(tmp_path: Path) -> None:
    made = balance(engine_on(options="epsilon=0.5&queries=4&delta=1e-6&composition=zcdp"))
    assert (made.budget.epsilon, made.budget.queries, made.budget.composition) == (
        dpdb.connect(PEOPLE, epsilon="0.5").balance.budget.epsilon, 4, "zcdp",
    )  # fmt: skip
    with pytest.raises(dpdb.UsageError, match="epsilom is no argument"):
        engine_on(options="epsilom=1").connect()
    with pytest.raises(dpdb.UsageError, match="epsilon is given twice"):
        engine_on(options="epsilon=1&epsilon=2").connect()
    with pytest.raises(dpdb.UsageError, match="has no host"):
        sa.create_engine("dpdb://people.csv").connect()
    for options in ("queries=many", "epsilon=much", "seed=1", "teach=maybe"):
        with pytest.raises(sa.exc.DBAPIError):
            engine_on(options=options).connect()
    with pytest.raises(sa.exc.OperationalError):
        engine_on(tmp_path / "nobody.csv").connect()


def test_tables_and_columns_are_those_of_the_policy(engine: Any, people: Any) -> None:
    inspector = sa.inspect(engine)
    assert inspector.get_table_names() == ["people"]
    assert inspector.has_table("people")
    assert not inspector.has_table("nobody")
    kinds = {column.name: type(column.type).__name__ for column in people.columns}
    assert kinds == {
        "name": "String", "age": "BigInteger", "income": "Float", "zip": "BigInteger",
        "net_worth": "BigInteger",
    }  # fmt: skip
    with pytest.raises(sa.exc.NoSuchTableError):
        sa.Table("nobody", sa.MetaData(), autoload_with=engine)
    for nothing in (
        inspector.get_view_names(), inspector.get_schema_names(), inspector.get_indexes("people"),
        inspector.get_foreign_keys("people"), inspector.get_unique_constraints("people"),
        inspector.get_check_constraints("people"), inspector.get_table_comment("people")["text"],
        inspector.get_pk_constraint("people")["constrained_columns"],
        inspector.get_temp_table_names(), inspector.get_sequence_names(),
        inspector.get_table_options("people"),
    ):  # fmt: skip
        assert not nothing
    assert balance(engine).queries_left == 10


def test_a_query_that_is_built(engine: Any, people: Any) -> None:
    query = (
        sa.select(people.c.zip, sa.func.count().label("n"), sa.func.avg(people.c.age))
        .where(people.c.age.between(30, 60), people.c.name.startswith("A"))
        .where(people.c.zip.in_([10025, 11215]), people.c.income > 0.5)
        .group_by(people.c.zip)
        .having(sa.func.count() > -1_000)
        .order_by(sa.desc("n"))
        .limit(2)
    )
    with engine.connect() as connection:
        rows = connection.execute(query).all()
        assert connection.execute(query).all() == rows
    assert {row.zip for row in rows} == {10025, 11215}
    written = dpdb.connect(PEOPLE, queries=10).explain(
        "SELECT zip, COUNT(*) AS n, AVG(age) FROM people WHERE age BETWEEN 30 AND 60 AND "
        "name LIKE 'A%' AND zip IN (10025, 11215) AND income > 0.5 GROUP BY zip"
    )
    assert balance(engine).epsilon_left == 1 - written.cost.epsilon


def test_odd_names_and_whole_division(tmp_path: Path) -> None:
    """Names are those of the file, and `//` is the floor of a quotient."""
    names = ["Order", 'a "b"', "p%c", "x:y"]
    lines = ['Order,"a ""b""",p%c,x:y', *(f"{at},{at % 2},{at % 3},{at}" for at in range(8))]
    (tmp_path / "odd t.csv").write_text("\n".join(lines), encoding="utf-8")
    keys = "".join(f'"{name}" = {{ type = "integer" }}\n' for name in ("Order", "p%c", "x:y"))
    (tmp_path / "odd t.toml").write_text(
        f'[tables."odd t"]\npublic = true\n[tables."odd t".columns]\n{keys}'
        '\'a "b"\' = { type = "integer" }\n',
        encoding="utf-8",
    )
    engine = engine_on(tmp_path / "odd t.toml", "")
    table = sa.Table("odd t", sa.MetaData(), autoload_with=engine)
    assert sorted(table.c.keys()) == sorted(names)
    query = sa.select(table.c[names[1]], table.c["p%c"], table.c.Order // 2).where(
        table.c["x:y"] == 7
    )
    with engine.connect() as connection:
        assert connection.execute(query).all() == [(1, 1, 3)]
        text = sa.text('SELECT t."a ""b""", "p%c" FROM "odd t" AS t WHERE t."x\\:y" = :x')
        assert dict(connection.execute(text, {"x": 7}).mappings().one()) == {names[1]: 1, "p%c": 1}
        bare = sa.text('SELECT t."Order", COUNT(*) FROM "odd t" AS t GROUP BY 1')
        assert [*connection.execute(bare).keys()] == ["Order", "COUNT(*)"]


def test_values_are_never_read_as_sql(engine: Any) -> None:
    query = sa.text("SELECT COUNT(*) AS n, :who AS who FROM people WHERE name = :who")
    who = "x' OR TRUE --"
    with engine.connect() as connection:
        assert connection.execute(query, {"who": who}).one().who == who


def test_dates_are_dates(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("day,at\n2001-02-03,2001-02-03 04:05:06\n", encoding="utf-8")
    (tmp_path / "t.toml").write_text(
        '[tables.t]\npublic = true\n[tables.t.columns]\nday = { type = "date" }\n'
        'at = { type = "timestamp" }\n',
        encoding="utf-8",
    )
    engine = engine_on(tmp_path / "t.toml", "")
    table = sa.Table("t", sa.MetaData(), autoload_with=engine)
    day, at = datetime.date(2001, 2, 3), datetime.datetime(2001, 2, 3, 4, 5, 6)
    query = sa.select(table).where(table.c.day == day, table.c.at <= at)
    with engine.connect() as connection:
        assert connection.execute(query).all() == [(day, at)]


def test_pandas_reads(engine: Any, people: Any) -> None:
    query = sa.select(people.c.zip, sa.func.count().label("n")).group_by(people.c.zip)
    frame = pd.read_sql(query, engine)
    chunks = list(pd.read_sql(query, engine, chunksize=4))
    assert pd.concat(chunks, ignore_index=True).equals(frame)
    assert {len(chunk) for chunk in chunks[:-1]} == {4}
    like = sa.text("SELECT COUNT(*) AS n FROM people WHERE name LIKE :start || '%'")
    assert len(pd.read_sql(like, engine, params={"start": "A"})) == 1
    assert balance(engine).queries_left == 10 - 2
    with pytest.raises(pd.errors.DatabaseError, match="inside an aggregate"):
        pd.read_sql_table("people", engine)
    assert balance(engine).queries_left == 10 - 2


@pytest.mark.parametrize("pool", [None, sa.pool.NullPool, sa.pool.StaticPool])
def test_an_engine_has_one_budget_whatever_its_pool_does(pool: Any) -> None:
    engine = engine_on(poolclass=pool)

    def ask(age: int) -> None:
        with engine.connect() as connection:
            connection.execute(COUNT, {"age": age})

    threads = [Thread(target=ask, args=[20 + number % 4]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert balance(engine).queries_left == 10 - 4
    with engine.connect() as connection:
        connection.invalidate()
    engine.dispose()
    ask(20)
    with engine.begin() as connection:
        connection.execute(COUNT, {"age": 24})
        connection.rollback()
    assert balance(engine).queries_left == 10 - 5
    assert balance(engine_on(poolclass=pool)).queries_left == 10


def test_what_is_refused_is_an_error_of_sqlalchemy(engine: Any, people: Any) -> None:
    with engine.connect() as connection:
        with pytest.raises(sa.exc.NotSupportedError):
            connection.execute(sa.insert(people).values(age=3))
        with pytest.raises(sa.exc.ProgrammingError, match="no column nope"):
            connection.execute(sa.text("SELECT COUNT(nope) FROM people"))
        with pytest.raises(sa.exc.OperationalError, match="not enough epsilon"):
            connection.execute(
                sa.text(
                    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 2) COUNT(*) FROM people"
                )
            )
        assert connection.execute(COUNT, {"age": 30}).scalar() is not None


def test_an_engine_on_a_server() -> None:
    with served({"token": dpdb.connect(PEOPLE, epsilon=1, queries=4)}.get) as address:
        engine = sa.create_engine(f"dpdb:///{address}", connect_args={"token": "token"})
        table = sa.Table("people", sa.MetaData(), autoload_with=engine)
        query = sa.select(table.c.zip, sa.func.count()).where(table.c.age > 30)
        with engine.connect() as connection:
            assert len(connection.execute(query.group_by(table.c.zip)).fetchall()) == 40
        assert balance(engine).queries_left == 3
        engine.dispose()
