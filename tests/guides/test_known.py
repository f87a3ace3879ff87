"""data/known.tsv says what data/coverage/history.txt says, and speaks of what the guides name."""

import csv
import pathlib
import re

import guide_text
import pytest

DATA = pathlib.Path(__file__).parents[2] / "data"


def read_history() -> tuple[list[str], dict[str, str]]:
    lines = [line.split() for line in (DATA / "coverage" / "history.txt").read_text().splitlines()]
    releases = next(words[1:] for words in lines if words[0] == "releases")
    return releases, {words[0]: words[1] for words in lines if words[0] not in ("#", "releases", "commits")}


RELEASES, HISTORY = read_history()
LINES = (DATA / "known.tsv").read_text().splitlines()
ROWS = list(csv.DictReader((line for line in LINES if not line.startswith("#")), delimiter="\t"))


def by_name(function):
    return pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])(function)


def test_it_is_about_the_same_releases():
    assert "# releases " + " ".join(RELEASES) in LINES
    assert len({row["name"] for row in ROWS}) == len(ROWS) >= 20


@by_name
def test_the_routes_are_those_of_the_wheels(row):
    assert row["kind"] in {"operator", "layer", "architecture", "dtype"}
    operators = row["operators"].split()
    assert operators or row["kind"] in {"dtype", "architecture"}
    assert dict(zip(operators, row["routes"].split(), strict=True)) == {name: HISTORY.get(name) for name in operators}


@by_name
def test_the_verdict_names_releases_where_something_changes(row):
    """By "since" the first release on a new route, by "until" the last one on the old."""
    changes = {
        place
        for routes in row["routes"].split()
        for place in range(1, len(RELEASES))
        if routes[place] != routes[place - 1]
    }
    named = re.findall(r"(since|until) (\d+\.\d+\.\d+)", row["verdict"])
    assert len(named) == len(re.findall(r"\d+\.\d+", row["verdict"])), "a release without since or until"
    assert {RELEASES.index(release) + (word == "until") for word, release in named} == changes


@by_name
def test_in_every_release_is_meant(row):
    verdict, refusals = row["verdict"], [routes for routes in row["routes"].split() if "-" in routes]
    if "refused in every release" in verdict:
        assert set(row["routes"]) == {"-", " "}
    elif "in every release" in verdict and not re.search("refused|since", verdict):
        assert refusals == []
    still = any(routes.endswith("-") for routes in refusals)
    assert still == ("refused still" in verdict or "refused in every release" in verdict)


@by_name
def test_the_guides_have_the_name(row, request):
    texts = guide_text.read(request.config.getoption("guides"))
    guides = [int(guide) for guide in row["guides"].split()]
    assert guides and set(guides) <= set(guide_text.COUNTS)
    if not texts:
        pytest.skip("the guides are not there; --guides DIR says where they are")
    # A name, not a part of one: sgn is no designer.
    name = re.compile(rf"(?<![A-Za-z_]){re.escape(row['name'])}(?![a-z_])", re.IGNORECASE)
    assert [guide for guide in guides if not name.search(texts[guide])] == []
