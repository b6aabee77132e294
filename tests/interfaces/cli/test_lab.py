"""`dpdb lab` from the words after it to what it prints and writes."""

from __future__ import annotations

import json
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest
from wcwidth import wcswidth

from dpdb.errors import DataFileError, UsageError
from dpdb.interfaces.commands.lab import attacks as lab
from dpdb.interfaces.commands.lab.attacks import main
from dpdb.lab.attack import Attack
from dpdb.lab.catalogue import catalogue, find

SAMPLES = Path(__file__).parents[3] / "sample_data"
QUICK = ["--trials", "2"]


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) == 0
    return capsys.readouterr().out


def test_without_a_name_it_lists(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys).splitlines()
    assert lines[0].startswith("  differencing ")
    assert len([line for line in lines if line.startswith("  ")]) == len(catalogue())
    listed = json.loads(printed(capsys, "--json"))
    assert [set(entry) for entry in listed] == [{"name", "title", "source"}] * len(catalogue())


def test_the_page_tells_the_whole_story(capsys: pytest.CaptureFixture[str]) -> None:
    page = printed(capsys, "membership", *QUICK)
    headings = [
        "THE SECRET", "THE IDEA", "── Without privacy", "── With privacy, ε = 0.1",
        "── With privacy, ε = 1", "── With privacy, ε = 5", "HOW OFTEN IT SUCCEEDS",
        "WHAT STOPPED IT", "WHAT TO TRY NEXT",
    ]  # fmt: skip
    places = [page.index(heading) for heading in headings]
    assert places == sorted(places)
    assert "> SELECT COUNT(*) FROM people WHERE name = 'Peter Gist'" in page
    assert "█" in page
    assert "◆" in page
    assert max(map(len, page.splitlines())) <= 100


@pytest.mark.parametrize("name", ["averaging", "noise-scale", "many-means"])
def test_the_page_fits_a_window_of_eighty_columns(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = printed(capsys, name, *QUICK).splitlines()
    assert max(map(wcswidth, lines)) == 80
    monkeypatch.setenv("COLUMNS", "300")
    assert max(map(wcswidth, printed(capsys, name, *QUICK).splitlines())) == 92


def test_json_has_the_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(printed(capsys, "membership", "--epsilon", "0.5", "--json", *QUICK))
    assert [act["side"] for act in told["acts"]] == ["off", "private"]
    exact, private = told["successes"]
    assert (exact["hits"], exact["tries"], exact["ceiling"]) == (2, 2, None)
    assert private["epsilon"] == 0.5
    assert private["ceiling"] == pytest.approx(0.6225, abs=1e-4)
    assert private["low"] <= private["rate"] <= private["high"]
    assert told["baseline"] == 0.5
    assert told["acts"][0]["lines"][0]["sql"].startswith("SELECT COUNT(*)")


def test_the_seed_decides(capsys: pytest.CaptureFixture[str]) -> None:
    def run(seed: str) -> str:
        return printed(capsys, "membership", "--seed", seed, "--epsilon", "0.01", *QUICK)

    assert run("7") == run("7") != run("8")


def test_a_wrong_name_is_helped_along() -> None:
    with pytest.raises(UsageError, match="no attack is called recontruction") as caught:
        find("recontruction")
    assert caught.value.hint == "did you mean reconstruction?"
    assert find("Individual_Tracker").name == "individual-tracker"


@pytest.mark.parametrize(
    "words",
    [
        ["membership", "--epsilon", "0"],
        ["membership", "--epsilon", "nan"],
        ["membership", "--trials", "0"],
        ["membership", "--seed", "-1"],
        ["--frobnicate"],
    ],
)
def test_bad_words_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert "dpdb lab" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["--all"], ["--html", "x.html"], ["--all", "--html", "x", "--json"]]
)
def test_what_does_not_fit_together(words: list[str]) -> None:
    with pytest.raises(UsageError):
        main(words)


@pytest.mark.parametrize("name", ["differencing", "membership"])
def test_on_a_file_of_ones_own(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "my staff.csv"
    rows = [f"O'Neil {i},{20 + i},{1000 + i}" for i in range(30)]
    file.write_text("\n".join(["full name,age,pay", *rows, ",50,2000"]), encoding="utf-8")
    file.with_suffix(".toml").write_text(
        '[tables."my staff"]\n[tables."my staff".columns]\n'
        '"full name" = { type = "text" }\nage = { type = "integer", bounds = [18, 65] }\n'
        'pay = { type = "integer", bounds = [0, 5000] }\n',
        encoding="utf-8",
    )
    told = json.loads(printed(capsys, name, "--data", str(file), "--json", *QUICK))
    assert told["successes"][0]["rate"] == 1
    # Its story is of the people of the file, and says that it is not for everybody.
    assert told["notice"].startswith("For the data owner's eyes, not to be published")
    for text in (told["title"], told["secret"]):
        assert "\"full name\" = 'O''Neil 0'" in text
        assert "my staff" in text
    told_of_all = " ".join(str(told[key]) for key in ("title", "secret", "idea", "remedy"))
    assert "Abel Woods" not in told_of_all
    assert "Peter Gist" not in told_of_all
    assert '"full name"' in told["acts"][0]["lines"][-1]["sql"]
    assert "'O''Neil 0'" in told["acts"][0]["lines"][-1]["sql"]
    assert told["successes"][1]["rate"] < 1


def test_on_a_column_whose_name_is_a_word_of_sql(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "t.csv"
    file.write_text("all,case\nAnn,3\nBob,4\n", encoding="utf-8")
    file.with_suffix(".toml").write_text(
        '[tables.t.columns]\nall = { type = "text" }\ncase = { type = "integer", bounds = [0, 9] }\n',
        encoding="utf-8",
    )
    told = json.loads(printed(capsys, "differencing", "--data", str(file), "--json", *QUICK))
    assert told["successes"][0]["rate"] == 1


def test_on_the_sample_of_the_paper(capsys: pytest.CaptureFixture[str]) -> None:
    data = str(SAMPLES / "people.csv")
    told = json.loads(
        printed(capsys, "membership", "--data", data, "--trials", "2", "--epsilon", "1", "--json")
    )
    assert told["successes"][0]["rate"] == 1


def test_a_file_that_does_not_suit(tmp_path: Path) -> None:
    file = tmp_path / "plain.csv"
    file.write_text("a\nx\nx\n", encoding="utf-8")
    with pytest.raises(UsageError, match="makes its own data"):
        main(["reconstruction", "--data", str(file)])
    with pytest.raises(DataFileError, match="singles out"):
        main(["membership", "--data", str(file)])
    file.write_text("a\nx\ny\n", encoding="utf-8")
    with pytest.raises(DataFileError, match="no numeric column with bounds"):
        main(["differencing", "--data", str(file)])


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        main(["membership", "--html", str(tmp_path / "no" / "where.html"), *QUICK])


def test_a_picture(tmp_path: Path) -> None:
    path = tmp_path / "chart.png"
    assert main(["membership", "--png", str(path), *QUICK]) == 0
    assert path.read_bytes().startswith(b"\x89PNG")


def test_listing_loads_neither_numpy_nor_pandas() -> None:
    script = (
        "import sys; from dpdb.interfaces.commands.lab.attacks import main; main([]);"
        "sys.exit(any(m in sys.modules for m in ('numpy', 'pandas')))"
    )
    subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)


def room(words: list[str]) -> int:
    """Instead of the room, whose page takes hundreds of queries."""
    Path(words[words.index("--html") + 1]).write_text("the room")
    return 0


def test_a_page_is_written_when_it_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    some = {name: find(name) for name in ("membership", "noise-scale")}
    monkeypatch.setattr(lab, "catalogue", lambda: some)
    attempt = lab._try_attack

    def second_fails(attack: Attack, options: Namespace) -> object:
        if attack.name == "noise-scale":
            raise KeyboardInterrupt
        return attempt(attack, options)

    monkeypatch.setattr(lab, "_try_attack", second_fails)
    with pytest.raises(KeyboardInterrupt):
        main(["--all", "--html", str(tmp_path)])
    assert [path.name for path in tmp_path.iterdir()] == ["membership.html"]
    assert capsys.readouterr().err == f"wrote {tmp_path / 'membership.html'}\n"


def test_rates_are_worked_out_unless_runs_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """At seed 1 forty runs of 300 give 44 % for the astronaut, where 52.5 % is true."""
    told = json.loads(printed(capsys, "group-keys", "--epsilon", "0.1", "--json"))
    *_, private = told["successes"]
    assert private["rate"] == pytest.approx(0.52498, abs=1e-5)
    assert (private["known"], private["hits"], private["tries"]) == ("exact", None, None)
    assert told["trials"] is None
    assert told["curve"][3]["epsilon"] == 0.1
    assert told["curve"][3]["rate"] == private["rate"]
    page = printed(capsys, "group-keys", "--epsilon", "0.1")
    assert "worked out from the noise" in page
    told = json.loads(printed(capsys, "group-keys", "--epsilon", "0.1", "--json", *QUICK))
    assert {success["tries"] for success in told["successes"]} == {2}
    assert told["curve"] == []


def test_all_writes_one_linked_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some = {name: find(name) for name in ("differencing", "membership", "noise-scale")}
    monkeypatch.setattr(lab, "catalogue", lambda: some)
    monkeypatch.setattr(lab, "room", room)
    folder = tmp_path / "reports"
    assert main(["--all", "--html", str(folder), *QUICK]) == 0
    pages = {"index.html", "room.html", *(f"{name}.html" for name in some)}
    assert {path.name for path in folder.iterdir()} == pages
    for path in folder.iterdir():
        if path.name == "room.html":
            continue
        links = path.read_text(encoding="utf-8").split('<a href="')[1:]
        targets = [link.partition('"')[0] for link in links]
        assert targets
        assert all((folder / target).is_file() for target in targets)
