"""Write the sample data: people.csv, students.csv and ce.csv, all invented, from fixed seeds.

    python scripts/make_sample_data.py [DIRECTORY]

The files are committed, so a run must give the same bytes on every Python from 3.11 on. Only
Random.random() promises the same sequence across versions; every other draw is built on it here.
Money is counted in cents, in integers, and becomes dollars when it is written.
"""

import argparse
import csv
import math
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple, TypeVar

T = TypeVar("T")

DEFAULT_DIRECTORY = Path(__file__).resolve().parent.parent / "sample_data"

FIRST_NAMES_TEXT = """
Aaron Abel Adam Alan Albert Alice Amanda Amber Amy Andrea Andrew Angela Ann Anna Anthony Arthur
Barbara Benjamin Betty Beverly Brandon Brenda Brian Bruce Carl Carol Carolyn Catherine Charles
Cheryl Christina Christopher Cynthia Daniel Danielle David Deborah Debra Denise Dennis Diana
Diane Donald Donna Doris Dorothy Douglas Dylan Edward Elizabeth Emily Emma Eric Ethan Eugene
Evelyn Frances Frank Gabriel Gary George Gerald Gloria Grace Gregory Hannah Harold Heather Helen
Henry Jack Jacob Jacqueline James Janet Janice Jason Jean Jeffrey Jennifer Jeremy Jerry Jesse
Jessica Joan John Jonathan Jordan Joseph Joshua Joyce Juan Judith Julia Justin Karen Kathryn
Keith Kenneth Kevin Kimberly Larry Laura Lawrence Linda Lisa Margaret Maria Mark Matthew Megan
Michael Nancy Nicole Olivia Pamela Patrick Paul Peter Rachel
"""

LAST_NAMES_TEXT = """
Adams Alexander Allen Anderson Andrews Armstrong Arnold Austin Bailey Baker Barnes Bell Bennett
Berry Black Boyd Bradley Brooks Brown Bryant Burns Butler Campbell Carpenter Carroll Carter
Castillo Chavez Clark Cole Coleman Collins Cook Cooper Cox Crawford Cruz Cunningham Daniels Davis
Diaz Dixon Duncan Dunn Edwards Elliott Ellis Evans Ferguson Fisher Flores Ford Foster Fox Freeman
Garcia Gardner Gibson Gist Gomez Gonzalez Gordon Graham Grant Gray Green Greene Griffin Hall
Hamilton Harper Harris Harrison Hart Hawkins Hayes Henderson Henry Hernandez Hicks Hill Holmes
Howard Hudson Hughes Hunt Hunter Jackson James Jenkins Johnson Jones Jordan Kelley Kelly Kennedy
King Knight Lane Lawrence Lee Lewis Long Lopez Marshall Martin Martinez Mason Matthews McDonald
Mendoza Miller Mitchell Moore Morales Morgan Morris Murphy Murray Myers Nelson Nguyen Nichols
Olson Ortiz Owens Palmer Parker Patterson Payne Perez Perkins Perry Peters Peterson Phillips
Pierce Porter Powell Price Ramirez Ramos Reed Reyes Reynolds Rice Richardson Rivera Roberts
Robertson Robinson Rodriguez Rogers Rose Ross Ruiz Russell Ryan Sanchez Sanders Woods
"""

FIRST_NAMES = FIRST_NAMES_TEXT.split()
LAST_NAMES = LAST_NAMES_TEXT.split()

# No leading zeros: readers of CSV files take these columns for integers.
ZIPS = (
    *(10025, 11215, 14607, 15217, 19104, 21218, 22903, 27514, 29403, 30309),
    *(31643, 32608, 33130, 35205, 37206, 38104, 40205, 43202, 44106, 46220),
    *(48104, 50312, 53703, 55408, 58102, 60614, 63108, 64111, 66044, 68502),
    *(70115, 73106, 75206, 78704, 80127, 83702, 85281, 87106, 94110, 98103),
)

PEOPLE = 10_000
YOUNGEST, OLDEST = 18, 65
# The lessons compare two sums of ages in one zip: with and without one person.
LESSON_ZIP, LESSON_PEOPLE, LESSON_AGES = 31643, 251, 10412
LESSON_NAME, LESSON_AGE = "Abel Woods", 33
PRESENT_NAME = "Peter Gist"
# Age, income in cents, net worth: the two whose wealth stands out, hence what an attack finds.
RICHEST = ((65, 304_322_00, 5_246_937), (61, 247_653_00, 3_914_506))

STUDENTS = (("Chris", 1, 1), ("Kelly", 2, 2), ("Pat", 3, 3), ("Terry", 4, 10))

CE_UNITS, CE_RURAL = 994, 51
CE_TOTAL_INCOME = CE_UNITS * 67_593_00
# Chances of the race codes 1 to 6: roughly the make-up of US households.
CE_RACES = (0.80, 0.115, 0.008, 0.055, 0.006, 0.016)


class Person(NamedTuple):
    """One row of people.csv, its income in cents."""

    name: str
    age: int
    income: int
    zip_code: int
    net_worth: int


def pick(rng: random.Random, items: Sequence[T]) -> T:
    """Return one of the items, each equally likely."""
    return items[int(rng.random() * len(items))]


def shuffled(rng: random.Random, items: Iterable[T]) -> list[T]:
    """Return the items in random order."""
    keyed = [(rng.random(), item) for item in items]
    return [item for _, item in sorted(keyed, key=lambda pair: pair[0])]


def normal(rng: random.Random) -> float:
    """Draw from the standard normal by inversion, cut off at 3.9 standard deviations.

    The cut keeps inv_cdf away from 0 and 1, and so bounds everything that is computed from it:
    no value needs clamping to stay within what the policies declare.
    """
    return NormalDist().inv_cdf(0.5 + 0.9999 * (rng.random() - 0.5))


def lognormal_cents(rng: random.Random, median: int, sigma: float) -> int:
    """Draw an amount of money around a median given in dollars."""
    return round(100 * median * math.exp(sigma * normal(rng)))


def dollars(cents: int) -> str:
    """Write cents as dollars with two decimals."""
    return f"{cents // 100}.{cents % 100:02d}"


def draw_age(rng: random.Random) -> int:
    """Draw an age, uniform over both ends."""
    return YOUNGEST + int(rng.random() * (OLDEST - YOUNGEST + 1))


def draw_ages(rng: random.Random, count: int, total: int) -> list[int]:
    """Draw ages that add up to the total and include the oldest possible.

    Whole lists are redrawn until one fits, as mending a list would bend its distribution.
    """
    while True:
        ages = [draw_age(rng) for _ in range(count)]
        if sum(ages) == total and OLDEST in ages:
            return ages


def draw_name(rng: random.Random) -> str:
    """Draw a full name other than those that the lessons look for."""
    while True:
        name = f"{pick(rng, FIRST_NAMES)} {pick(rng, LAST_NAMES)}"
        if name not in (LESSON_NAME, PRESENT_NAME):
            return name


def draw_person(rng: random.Random, name: str, age: int, zip_code: int) -> Person:
    """Draw income and net worth of a person with this name, age and zip."""
    income = lognormal_cents(rng, median=42_000, sigma=0.6)
    # Savings for every adult year, plus luck or debt; far below RICHEST even at the extremes.
    net_worth = 0.15 * (age - YOUNGEST) * income / 100 + 60_000 * normal(rng)
    return Person(name, age, income, zip_code, round(net_worth))


def make_people(rng: random.Random) -> list[Person]:
    """Make everybody in people.csv, in random order."""
    people = [draw_person(rng, LESSON_NAME, LESSON_AGE, LESSON_ZIP)]
    people += [
        draw_person(rng, draw_name(rng), age, LESSON_ZIP)
        for age in draw_ages(rng, LESSON_PEOPLE - 1, LESSON_AGES - LESSON_AGE)
    ]
    elsewhere = [zip_code for zip_code in ZIPS if zip_code != LESSON_ZIP]
    for age, income, net_worth in RICHEST:
        people.append(Person(draw_name(rng), age, income, pick(rng, elsewhere), net_worth))
    people.append(draw_person(rng, PRESENT_NAME, draw_age(rng), pick(rng, elsewhere)))
    while len(people) < PEOPLE:
        people.append(draw_person(rng, draw_name(rng), draw_age(rng), pick(rng, elsewhere)))
    return shuffled(rng, people)


def scale_to_total(amounts: Sequence[int], total: int) -> list[int]:
    """Scale whole amounts so that they add up to exactly the total."""
    drawn_total = sum(amounts)
    scaled = [amount * total // drawn_total for amount in amounts]
    # Rounding down lost less than one for each amount: hand it back one by one.
    for place in range(total - sum(scaled)):
        scaled[place] += 1
    return scaled


def draw_race(rng: random.Random) -> int:
    """Draw a race code with the chances of CE_RACES."""
    point = rng.random()
    for code, chance in enumerate(CE_RACES, start=1):
        point -= chance
        if point < 0:
            return code
    return len(CE_RACES)  # where the chances, being floats, add up to a hair less than 1


def draw_expenditure(rng: random.Random, income: int) -> int:
    """Draw a quarter's expenditure in cents, growing more slowly than the year's income."""
    typical = 9_000 * math.sqrt(income / 51_000_00)
    return round(100 * typical * math.exp(0.4 * normal(rng)))


def make_ce(rng: random.Random) -> list[tuple[int, str, int, str]]:
    """Make the rows of ce.csv: UrbanRural, Income, Race, Expenditure."""
    areas = shuffled(rng, [2] * CE_RURAL + [1] * (CE_UNITS - CE_RURAL))
    drawn = [lognormal_cents(rng, median=51_000, sigma=0.75) for _ in areas]
    incomes = scale_to_total(drawn, CE_TOTAL_INCOME)
    return [
        (area, dollars(income), draw_race(rng), dollars(draw_expenditure(rng, income)))
        for area, income in zip(areas, incomes, strict=True)
    ]


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write one CSV file, with the same line ends on every system."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def write_all(directory: Path) -> None:
    """Write every CSV file, each from its own seed so that changing one leaves the others be."""
    directory.mkdir(parents=True, exist_ok=True)
    people = make_people(random.Random(20171))
    write_csv(
        directory / "people.csv",
        ("name", "age", "income", "zip", "net_worth"),
        [(p.name, p.age, dollars(p.income), p.zip_code, p.net_worth) for p in people],
    )
    write_csv(directory / "students.csv", ("name", "school_year", "absence_days"), STUDENTS)
    write_csv(
        directory / "ce.csv",
        ("UrbanRural", "Income", "Race", "Expenditure"),
        make_ce(random.Random(20172)),
    )


def main() -> None:
    """Read the command line and write the files."""
    parser = argparse.ArgumentParser(description="Write the sample CSV files.")
    parser.add_argument("directory", nargs="?", type=Path, default=DEFAULT_DIRECTORY)
    write_all(parser.parse_args().directory)


if __name__ == "__main__":
    main()
