"""The sample data: what the lessons and transcripts rely on, computed from the committed files."""

import csv
import subprocess
import sys
import tomllib
from collections import Counter
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from statistics import median
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAMPLE_DATA = ROOT / "sample_data"
TABLES = ("people", "students", "ce")

Row = dict[str, str]


def read_rows(table: str) -> list[Row]:
    with (SAMPLE_DATA / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_policy(table: str) -> dict[str, Any]:
    return tomllib.loads((SAMPLE_DATA / f"{table}.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def people() -> list[Row]:
    return read_rows("people")


@pytest.fixture(scope="module")
def ce() -> list[Row]:
    return read_rows("ce")


@pytest.fixture(scope="module")
def regenerated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("sample_data") / "new"
    script = ROOT / "scripts" / "make_sample_data.py"
    subprocess.run([sys.executable, str(script), str(directory)], check=True, timeout=60)
    return directory


def test_the_script_writes_every_csv_and_nothing_else(regenerated: Path) -> None:
    assert sorted(path.name for path in regenerated.iterdir()) == sorted(
        path.name for path in SAMPLE_DATA.glob("*.csv")
    )


@pytest.mark.parametrize("table", TABLES)
def test_the_committed_file_is_what_the_script_writes(table: str, regenerated: Path) -> None:
    name = f"{table}.csv"
    # Not `==` in the assert: pytest would spend minutes on the difference of two large files.
    same = (regenerated / name).read_bytes() == (SAMPLE_DATA / name).read_bytes()
    assert same, f"{name} is stale: run scripts/make_sample_data.py"


def test_people_has_the_columns_and_rows_of_the_paper(people: list[Row]) -> None:
    assert len(people) == 10_000
    assert list(people[0]) == ["name", "age", "income", "zip", "net_worth"]


def test_ages_are_uniform_from_18_to_65(people: list[Row]) -> None:
    counts = Counter(int(row["age"]) for row in people)
    assert sorted(counts) == list(range(18, 66))
    # 10,000 / 48 is 208; four standard deviations are 57.
    assert all(150 < count < 266 for count in counts.values())


def test_there_are_40_zips(people: list[Row]) -> None:
    zips = {row["zip"] for row in people}
    assert len(zips) == 40
    assert {"31643", "80127"} <= zips
    assert all(len(zip_code) == 5 and zip_code[0] != "0" for zip_code in zips)


def test_incomes_are_crowded_around_the_median(people: list[Row]) -> None:
    incomes = [Decimal(row["income"]) for row in people]
    assert all(income.as_tuple().exponent == -2 for income in incomes)
    assert all(0 < income < 1_000_000 for income in incomes)
    middle = median(incomes)
    assert 41_000 < middle < 43_000
    # A private median is only near the true one where there are many incomes near it.
    assert sum(abs(income - middle) <= 500 for income in incomes) > 100


def test_some_people_owe_more_than_they_own(people: list[Row]) -> None:
    worths = [int(row["net_worth"]) for row in people]
    assert -500_000 <= min(worths) < 0
    assert 0.02 < sum(worth < 0 for worth in worths) / len(worths) < 0.3


def test_rows_are_in_no_particular_order(people: list[Row]) -> None:
    places = [place for place, row in enumerate(people) if row["zip"] == "31643"]
    assert places[0] < 500
    assert places[-1] > 9_500


def test_query_set_1_gives_away_the_age_of_abel_woods(people: list[Row]) -> None:
    in_zip = [row for row in people if row["zip"] == "31643"]
    ages = [int(row["age"]) for row in in_zip]
    others = [int(row["age"]) for row in in_zip if row["name"] != "Abel Woods"]
    assert len(ages) == 251
    assert sum(ages) == 10412
    assert sum(others) == 10379
    assert max(ages) == 65
    named = [row for row in people if row["name"] == "Abel Woods"]
    assert [(row["age"], row["zip"]) for row in named] == [("33", "31643")]


def test_query_set_2_gives_away_the_richest_person(people: list[Row]) -> None:
    richest, second, third = sorted(people, key=lambda row: -int(row["net_worth"]))[:3]
    assert richest["net_worth"] == "5246937"
    assert richest["income"] == "304322.00"
    assert richest["age"] == "65"
    assert second["net_worth"] == "3914506"
    assert second["income"] == "247653.00"
    assert second["age"] == "61"
    assert int(third["net_worth"]) <= 3_500_000


def test_query_set_2_has_the_local_sensitivities_of_the_paper(people: list[Row]) -> None:
    worths = sorted(int(row["net_worth"]) for row in people)
    assert worths[-1] - worths[-2] == 1332431

    matched = [row for row in people if int(row["net_worth"]) > 3900194]
    assert len(matched) == 2
    incomes = [Decimal(row["income"]) for row in matched]
    mean_income = sum(incomes, Decimal()) / 2
    assert mean_income == Decimal("275987.50")
    assert round(mean_income) == 275988
    # Without one of the two, the mean is the other's income.
    assert {abs(income - mean_income) for income in incomes} == {Decimal("28334.50")}
    assert Decimal("28334.50").quantize(Decimal(1), ROUND_HALF_UP) == 28335

    ages = [int(row["age"]) for row in matched]
    assert sum(ages) / 2 == 63
    assert {abs(age - 63) for age in ages} == {2}


def test_query_set_3_has_peter_gist_once_and_no_foo_bar(people: list[Row]) -> None:
    names = Counter(row["name"] for row in people)
    assert names["Peter Gist"] == 1
    assert names["Foo Bar"] == 0
    # Neither half of a looked-for name gives its bearer away.
    assert sum(name.startswith("Peter ") for name in names) > 10
    assert sum(name.endswith(" Gist") for name in names) > 10


def test_students_is_table_1() -> None:
    cells = [tuple(row.values()) for row in read_rows("students")]
    assert list(read_rows("students")[0]) == ["name", "school_year", "absence_days"]
    assert cells == [
        ("Chris", "1", "1"),
        ("Kelly", "2", "2"),
        ("Pat", "3", "3"),
        ("Terry", "4", "10"),
    ]


def test_ce_has_the_counts_of_the_sample(ce: list[Row]) -> None:
    assert list(ce[0]) == ["UrbanRural", "Income", "Race", "Expenditure"]
    assert Counter(row["UrbanRural"] for row in ce) == {"1": 943, "2": 51}
    races = Counter(row["Race"] for row in ce)
    assert set(races) == {"1", "2", "3", "4", "5", "6"}
    assert races["1"] > len(ce) / 2


def test_ce_has_the_mean_income_of_the_sample(ce: list[Row]) -> None:
    incomes = [Decimal(row["Income"]) for row in ce]
    assert all(income.as_tuple().exponent == -2 for income in incomes)
    assert sum(incomes) / len(incomes) == Decimal("67593.00")
    assert median(incomes) < 60_000  # skewed to the right, as incomes are


def test_ce_expenditure_follows_income(ce: list[Row]) -> None:
    assert all(Decimal(row["Expenditure"]).as_tuple().exponent == -2 for row in ce)
    by_income = sorted(ce, key=lambda row: Decimal(row["Income"]))
    spent = [Decimal(row["Expenditure"]) for row in by_income]
    assert 1.5 * float(sum(spent[:497])) < float(sum(spent[497:]))


@pytest.mark.parametrize("table", TABLES)
def test_the_policy_describes_its_file(table: str) -> None:
    declared = read_policy(table)["tables"][table]
    assert declared["path"] == f"{table}.csv"
    assert declared["unit"] == "row"
    assert list(declared["columns"]) == list(read_rows(table)[0])


@pytest.mark.parametrize("table", TABLES)
def test_every_value_is_within_its_policy(table: str) -> None:
    rows = read_rows(table)
    for name, column in read_policy(table)["tables"][table]["columns"].items():
        cells = [row[name] for row in rows]
        assert all(cells), f"{name} has an empty cell"
        if column["type"] == "text":
            assert set(column) == {"type"}
            continue
        numbers = [Decimal(cell) for cell in cells]
        if column["type"] == "integer":
            assert all(number == int(number) for number in numbers)
        if "values" in column:
            assert set(numbers) == set(column["values"])
        else:
            low, high = column["bounds"]
            assert low <= min(numbers)
            assert max(numbers) <= high


@pytest.mark.parametrize(
    ("table", "neighbors"),
    [("people", "add-remove"), ("students", "add-remove"), ("ce", "replace")],
)
def test_the_budget_and_neighbours_of_each_policy(table: str, neighbors: str) -> None:
    policy = read_policy(table)
    assert policy["budget"] == {"epsilon": 1.0, "delta": 0.0, "queries": 10}
    assert policy["privacy"] == {"neighbors": neighbors}


def test_the_zips_of_the_policy_are_sorted() -> None:
    zips = read_policy("people")["tables"]["people"]["columns"]["zip"]["values"]
    assert zips == sorted(zips)


def test_ce_promises_that_no_cell_is_empty() -> None:
    columns = read_policy("ce")["tables"]["ce"]["columns"]
    assert all(column["nullable"] is False for column in columns.values())
