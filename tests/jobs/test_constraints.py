"""What a selection is held to, from flags, files and the folder of an earlier selection; one line
for what is wrong."""

from __future__ import annotations

import json

import pandas as pd
import pytest

PLANTED = [
    "select",
    "--format",
    "planted",
    "--option",
    "num_rows=300",
    "--option",
    "num_features=20",
]
PLANTED += ["--option", "num_labels=3", "--method", "jmi"]


@pytest.mark.local
def test_include_and_exclude_from_flags_and_files(run, refused, tmp_path):
    names = tmp_path / "must.txt"
    names.write_text("noise_3\n")
    first = tmp_path / "first"
    code, out, err = run(
        *PLANTED,
        "--num-top-features",
        4,
        "--exclude",
        "redundant_*",
        "noise_4",
        "--include-from",
        names,
        "--output",
        first,
    )
    assert code == 0, err
    assert out.splitlines()[2].endswith("noise_3")
    constraints = json.loads((first / "manifest.json").read_text())["constraints"]
    assert constraints["include"] == ["noise_3"] and {"noise_4"} < {*constraints["exclude"]}
    ranking = pd.read_csv(first / "ranking.csv")
    assert (
        ranking["name"][0] == "noise_3" and not ranking["name"].isin(constraints["exclude"]).any()
    )
    assert len(ranking) == 20 - len(constraints["exclude"]) and ranking["gain"].notna().all()
    page = (first / "report.html").read_text()
    assert "What each of the other features adds" in page and "redundant_" in page

    config = tmp_path / "run.toml"
    config.write_text(
        f'[constraints]\ninclude_from = "{first}"\n[selection]\nnum_top_features = 6\n[data]\nformat = "planted"\n'
        "[data.options]\nnum_rows = 300\nnum_features = 20\nnum_labels = 3\n"
    )
    second = tmp_path / "second"
    assert run("select", "--config", config, "--output", second, "--no-report")[0] == 0
    assert list(pd.read_csv(second / "ranking.csv")["name"][:4]) == list(ranking["name"][:4])

    said = refused(*PLANTED, "--include", "relevent_0", "--output", tmp_path / "never")
    assert "include: the data have no feature 'relevent_0'; did you mean 'relevant_0'?" in said
    table = tmp_path / "table.csv"
    table.write_text("feature\nnoise_3\n")
    assert "needs the column 'name'" in refused(
        *PLANTED, "--exclude-from", table, "--output", tmp_path / "never"
    )
    assert "is not there" in refused(
        *PLANTED, "--include-from", tmp_path / "absent", "--output", tmp_path / "never"
    )
    config.write_text('[constraints]\ninclude = [true]\n[data]\nformat = "planted"\n')
    assert "[constraints] include.0" in refused(
        "select", "--config", config, "--output", tmp_path / "never"
    )


@pytest.mark.local
def test_groups_and_costs_from_files(run, refused, tmp_path):
    groups, costs = tmp_path / "groups.toml", tmp_path / "costs.csv"
    groups.write_text('relevant = ["relevant_[01]"]\nnoise = ["noise_2", "noise_3", "noise_4"]\n')
    folder = tmp_path / "run"
    said = refused(*PLANTED, "--costs", costs, "--output", folder)
    assert "costs_from" in said and "cannot be read" in said
    costs.write_text("feature,price\nrelevant_0,1\n")
    assert "needs the columns 'name' and 'cost'" in refused(
        *PLANTED, "--costs", costs, "--output", folder
    )
    costs.write_text("name,cost\na,1\na,2\n")
    assert "names 'a' twice: leave one" in refused(*PLANTED, "--costs", costs, "--output", folder)
    assert "no.toml cannot be read: No such file" in refused(
        *PLANTED, "--costs", "no.toml", "--output", folder
    )
    costs.write_text("name,cost\n*,2\nrelevant_2,0.5\n")
    code, _out, err = run(
        *PLANTED, "--groups", groups, "--costs", costs, "--budget", 7, "--output", folder
    )
    assert code == 0, err
    ranking, manifest = (
        pd.read_csv(folder / "ranking.csv"),
        json.loads((folder / "manifest.json").read_text()),
    )
    kept = ranking.head(manifest["selection"]["kept"])
    assert 0 < kept["cost"].sum() == manifest["constraints"]["cost"] <= 7 and len(ranking) == 20
    assert (
        ranking.loc[ranking["name"] == "relevant_2", "cost"].item() == 0.5
        and ranking["cost"].max() == 2
    )
    assert (kept["group"] == "relevant").sum() in (0, 2)
    assert {*manifest["constraints"]["groups"]["noise"]} == {"noise_2", "noise_3", "noise_4"}
    page = (folder / "report.html").read_text()
    assert (
        "sum of the gains" in page and "group noise" in page and "Picked by gain per cost" in page
    )


@pytest.mark.local
def test_penalties_from_flags_and_files_are_those_of_rank(run, refused, tmp_path):
    planted = [*PLANTED[:-1], "lasso", "--set", "alpha=0.05"]
    numbers, config, rankings = (
        {"noise_3": 0, "redundant_*": 4.0, "*": 0.5},
        tmp_path / "run.toml",
        [],
    )
    table = "\n".join(f'"{name}" = {number}' for name, number in numbers.items())
    (tmp_path / "p.toml").write_text(table)
    (tmp_path / "p.csv").write_text(
        "name,penalty\n" + "\n".join(f"{name},{number}" for name, number in numbers.items())
    )
    config.write_text(f"[constraints.penalties]\n{table}\n")
    for at, flags in enumerate(
        [
            ("--penalties", tmp_path / "p.toml"),
            ("--penalties", tmp_path / "p.csv"),
            ("--config", config),
        ]
    ):
        code, _, err = run(*planted, *flags, "--no-report", "--output", tmp_path / f"run{at}")
        assert code == 0, err
        rankings.append(pd.read_csv(tmp_path / f"run{at}" / "ranking.csv"))
        pd.testing.assert_frame_equal(rankings[-1], rankings[0])
    first = rankings[0].set_index("name")
    assert (
        first["score"]["noise_3"] > 0
        and first["penalty"]["noise_3"] == 0
        and first["penalty"].max() == 4
    )
    said = refused(*PLANTED, "--penalties", tmp_path / "p.csv", "--output", tmp_path / "never")
    assert "jmi has no penalty of each feature" in said
    (tmp_path / "p.csv").write_text("name,penalty\n*,-1\n")
    assert "penalties" in refused(
        *planted, "--penalties", tmp_path / "p.csv", "--output", tmp_path / "never"
    )
