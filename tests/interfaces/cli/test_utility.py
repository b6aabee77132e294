"""`dpdb utility` from the words after it to what it prints and writes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dpdb.interfaces.cli.main import main

EXAMPLE_2 = ["--epsilon", "0.01", "--sensitivity", "1,1", "--answer", "3000,30000"]
EXAMPLE_3 = [*EXAMPLE_2, "--noise-index", "1,10"]


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["utility", *words]) == 0
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["utility", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    return err


def values(page: str, symbol: str) -> list[str]:
    """The numbers beside a symbol, query by query."""
    return [line.split()[1] for line in page.splitlines() if line.startswith(f"  {symbol} ")]


def test_example_1(capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "--epsilon",
        "0.01",
        "--sensitivity",
        "1",
        "--probability",
        "0.1",
        "--relative-error",
        "0.1",
    ]
    page = printed(capsys, *words)
    assert values(page, "λ") == ["100"]
    assert "10 % of the time the noise is at least 230.3" in page
    assert values(page, "MTA") == ["2302.6"]
    assert "off by at most 10 %, 90 % of the time" in page
    # A count's sensitivity and the example's probability and threshold are the defaults.
    assert printed(capsys, "--epsilon", "0.01") == page


def test_example_2(capsys: pytest.CaptureFixture[str]) -> None:
    page = printed(capsys, *EXAMPLE_2)
    assert values(page, "λ") == ["200", "200"]
    assert values(page, "z") == ["460.5", "460.5"]
    small, big = (line for line in page.splitlines() if line.startswith("  RE"))
    assert "0.1535 " in small
    assert "of 3000 by that noise: more than 10 %" in small
    assert "0.01535 " in big
    assert "of 30000 by that noise: within 10 %" in big


def test_example_3(capsys: pytest.CaptureFixture[str]) -> None:
    page = printed(capsys, *EXAMPLE_3)
    assert "α = 110" in page
    assert values(page, "λ") == ["110", "1100"]
    assert values(page, "z") == ["253.3", "2532.8"]
    assert values(page, "MTA") == ["2532.8", "25328.4"]
    assert page.count("within 10 %") == 2


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(printed(capsys, *EXAMPLE_3, "--relative-error", "0.05,0.1", "--json"))
    assert (told["epsilon"], told["probability"], told["alpha"]) == (0.01, 0.1, 110)
    small, big = told["queries"]
    assert (small["scale"], big["scale"]) == (110, 1100)
    assert (small["noise_index"], big["noise_index"]) == (1, 10)
    assert small["epsilon"] + big["epsilon"] == pytest.approx(0.01)
    assert (small["relative_error"], big["relative_error"]) == (0.05, 0.1)
    assert small["minimum_true_answer"] == pytest.approx(5065.69, abs=0.01)
    assert big["minimum_true_answer"] == pytest.approx(25328.44, abs=0.01)
    assert [answer["satisfied"] for answer in small["answers"] + big["answers"]] == [False, True]


def test_gaussian_noise(capsys: pytest.CaptureFixture[str]) -> None:
    """4.844805 by the formula, as worked by hand in tests/privacy/test_gaussian.py."""
    page = printed(capsys, "--epsilon", "0.5", "--sensitivity", "2", "--delta", "1e-5")
    formula, least = map(float, values(page, "σ"))
    assert formula == pytest.approx(4 * 4.844805, abs=5e-3)
    assert least < formula
    # Above ε = 1 the formula is not proven.
    [told] = printed(capsys, "--epsilon", "1.5", "--delta", "1e-5", "--json").splitlines()
    assert json.loads(told)["gaussian"]["classic"] is None
    assert len(values(printed(capsys, "--epsilon", "1.5", "--delta", "1e-5"), "σ")) == 1


def test_lists_and_repetition_are_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    repeated = ["--epsilon", "0.01", *["--sensitivity", "1"] * 2]
    repeated += ["--answer", "3000", "--answer", "30000"]
    assert printed(capsys, *repeated) == printed(capsys, *EXAMPLE_2)


def test_many_answers_to_one_query(capsys: pytest.CaptureFixture[str]) -> None:
    page = printed(capsys, "--epsilon", "0.01", "--answer", "2302,2303")
    (below, above) = (line for line in page.splitlines() if line.startswith("  RE"))
    assert "more than 10 %" in below
    assert "within 10 %" in above


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "--epsilon is missing"),
        ("--epsilon 0", "epsilon must be between"),
        ("--epsilon 0.1,1", "--epsilon needs one number"),
        ("--epsilon 1 --probability 0", "a probability must be above 0 and below 1"),
        ("--epsilon 1 --probability 1", "a probability must be above 0 and below 1"),
        ("--epsilon 1 --relative-error 0", "a relative error must be above 0"),
        ("--epsilon 1 --relative-error 1,2", "--relative-error needs one number, or one for each"),
        ("--epsilon 1 --sensitivity 0", "a sensitivity must be above 0"),
        ("--epsilon 1 --sensitivity 1e999", "a sensitivity must be above 0"),
        ("--epsilon 1 --answer 0", "an answer must be above 0"),
        (
            "--epsilon 1 --sensitivity 1,1 --answer 1,2,3",
            "--answer needs one number for each query",
        ),
        ("--epsilon 1 --sensitivity 1,1 --noise-index 1", "one number for each query"),
        ("--epsilon 1 --noise-index -1", "a noise index must be above 0"),
        ("--epsilon 1 --delta 0", "delta must be above 0"),
        ("--epsilon 1 --delta 1", "below 1"),
        ("--epsilon 1 --delta 0.99999999999999999999", "below 1"),
        ("--epsilon 1 --delta 1e-5,1e-6", "--delta needs one number"),
        ("--epsilon 1 --delta 1e-5 --sensitivity 1,1", "for one query"),
        ("--figure 1 --delta 1e-5", "--delta does not go with --figure 1"),
        ("--epsilon 1 --plot f.svg", "which figure?"),
        ("--epsilon 1 --against epsilon", "which figure?"),
        ("--density --against epsilon", "--against goes with --figure 2"),
        ("--figure 1 --probability 0.1", "--probability does not go with --figure 1"),
        ("--figure 2 --noise-index 1", "--noise-index does not go with --figure 2"),
        ("--figure 2 --json", "--json does not go with --figure 2"),
        ("--density normal --epsilon 1", "--epsilon does not go with --density normal"),
        ("--figure 1 --epsilon 1,2,3,4,5,6,7", "at most 6 curves"),
        ("--figure 1 --plot f.pdf", "cannot draw into f.pdf"),
    ],
)
def test_what_does_not_fit(words: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert message in refused(capsys, *words.split())


@pytest.mark.parametrize(
    "words", ["--epsilon x", "--epsilon 1,", "--figure 3", "--figure 1 --density", "--colour"]
)
def test_bad_words_are_refused(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["utility", *words.split()])
    assert caught.value.code == 2
    assert "dpdb utility" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "title", "legend"),
    [
        ("--figure 1", "Noise against probability, Δ = 1", ["ε = 0.01", "ε = 0.05", "ε = 0.1"]),
        ("--figure 2", "Minimum true answer against ε", ["pr = 0.1", "pr = 0.3", "pr = 0.5"]),
        ("--figure 2 --against relative-error --epsilon 0.5 --probability 0.2",
         "Minimum true answer against relative error, ε = 0.5", ["pr = 0.2"]),
        ("--density", "Densities of four Laplace", ["Laplace(0, 0.1)", "Laplace(-5, 1)"]),
        ("--density normal", "A Laplace and a normal", ["Laplace(0, sqrt(1/2))", "Normal(0, 1)"]),
        ("--density --epsilon 0.1 --sensitivity 3", "Density of the noise, Δ = 3",
         ["ε = 0.1: Laplace(0, 30)"]),
    ],
)  # fmt: skip
def test_figures_in_the_terminal(
    words: str, title: str, legend: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    page = printed(capsys, *words.split())
    lines = page.splitlines()
    assert lines[0].startswith(title)
    for label in legend:
        assert any(line.startswith("  ") and line.endswith(f"  {label}") for line in lines)
    assert any("⠀" < character <= "⣿" for character in page)


def test_density_alone_gives_both_figures(capsys: pytest.CaptureFixture[str]) -> None:
    both = printed(capsys, "--density")
    one, other = printed(capsys, "--density", "laplace"), printed(capsys, "--density", "normal")
    assert both == f"{one}\n{other}"


def test_figures_fit_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "44")
    page = printed(capsys, "--density", "normal").split("\n\n", 1)[1]
    assert 40 < max(map(len, page.splitlines())) <= 44


def test_figures_as_svg(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "--figure", "2", "--plot", str(tmp_path / "two.svg")) == ""
    printed(capsys, "--density", "--plot", str(tmp_path / "density.svg"))
    curves = {
        path.name: len(re.findall(r'clip-path="[^"]*" class="stroke-s\d"', path.read_text("utf-8")))
        for path in tmp_path.iterdir()
    }
    assert curves == {"two.svg": 3, "density-7.1.svg": 4, "density-7.2.svg": 2}


def test_a_figure_as_png(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "one.png"
    printed(capsys, "--figure", "1", "--plot", str(path))
    assert path.read_bytes().startswith(b"\x89PNG")


def test_the_numbers_load_nothing_large() -> None:
    script = (
        "import sys; from dpdb.interfaces.cli.main import main; main(['utility', '--epsilon', '1']);"
        "sys.exit(any(m in sys.modules for m in ('numpy', 'pandas', 'dpdb.lab.pages.characters')))"
    )
    subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)


def test_the_examples_in_the_help_work(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as caught:
        main(["utility", "--help"])
    assert caught.value.code == 0
    examples = capsys.readouterr().out.partition("examples")[2].splitlines()
    commands = [line.strip().split("  ")[0].split() for line in examples if "dpdb utility" in line]
    assert len(commands) == 9
    for command in commands:
        assert main(command[1:]) == 0


def test_many_queries_need_a_delta_and_a_whole_number(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        "--queries 100",
        "--queries 1.5 --delta 1e-5",
        "--queries 0 --delta 1e-5",
        "--queries 100 --delta 1",
        "--queries 100 --delta 1e-5 --figure 1",
    ):
        assert main(["utility", "--epsilon", "0.1", *words.split()]) == 2
        assert "error: " in capsys.readouterr().err
