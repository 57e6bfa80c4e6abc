"""Draws the six pages that commands write, from real corpora: ``python notebooks/figures/pages.py
DATA``, where DATA is the folder of Reuters and of Mulan's sets (MLFS_DATA of the tests).

It runs the commands in a folder of its own and photographs the pages with Chromium."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from spark_mlfs import cli

HERE = Path(__file__).resolve().parent
WINDOW, SHOWN = (1000, 1250), (560, 700)  # pixels of a page, and of its picture
BY_PATH = ["--text", "body", "--id", "doc_id", "--format", "csv"]
LABELS = ["--labels-col", "topics", "--option", "label_delimiter=;"]
SETS = {"emotions": "emotions", "flags": "flags", "birds": "birds-train", "scene": "scene-train"}
PLAN = """
protocol = {{folds = "3-fold", sizes = [5, 10, 20, 40]}}
method = [{{name = "mim"}}, {{name = "jmi"}}, {{name = "f-statistic"}}, {{name = "ridge"}}, {{name = "forward"}}]
classifier = [{{name = "mlknn"}}]
run = {{output = "compare"}}
{data}"""
DATA_SET = """
[[data]]
name = "{name}"
format = "arff"
path = "{folder}/{name}/{file}.arff.gz"
options = {{labels = "{folder}/{name}/{name}.xml"}}
"""
PAGES = {  # a picture, and the page it shows
    "selection": "reuters/report.html",
    "pictures": "images/report.html",
    "scoring": "scored/_report.html",
    "check": "checked/report.html",
    "drift": "drift/report.html",
    "comparison": "compare/comparison.html",
}


def main(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        for command in commands(folder):
            assert cli.main([*command, "--quiet"]) == 0, command
        for name, page in PAGES.items():
            photograph(Path(place, page), HERE / f"page-{name}.jpg")


def commands(folder: Path) -> list[list[str]]:
    """The commands that write the pages, one after the other."""
    train, test = (str(folder / "reuters" / f"{name}.csv.gz") for name in ("train", "test"))
    data = "".join(
        DATA_SET.format(name=name, folder=folder, file=file) for name, file in SETS.items()
    )
    Path("plan.toml").write_text(PLAN.format(data=data), encoding="utf-8")
    return [
        ["select", "--data", train, *BY_PATH, *LABELS, "--method", "f-statistic",
         "--num-top-features", "1000", "--classifier", "br-svm", "--classifier-set",
         "scores=calibrated", "--output", "reuters"],
        ["score", "--model", "reuters", "--data", test, *BY_PATH, "--threshold", "0.5",
         "--explain", "3", "--output", "scored"],
        ["check", "--model", "reuters", "--data", test, *BY_PATH, *LABELS, "--output", "checked"],
        ["drift", "--before", train, "--after", test, *BY_PATH, *LABELS, "--option",
         "vocab_size=2000", "--output", "drift"],
        ["sample", "images", "--rows", "300", "--output", "pictures"],
        ["select", "--data", "pictures/labels.csv", "--format", "files", *LABELS[:1], "tags",
         *LABELS[2:], "--method", "f-statistic", "--num-top-features", "64", "--classifier",
         "mlknn", "--output", "images"],
        ["compare", "--config", "plan.toml"],
    ]  # fmt: skip


def photograph(page: Path, picture: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or "google-chrome"
    with tempfile.TemporaryDirectory() as place:
        shot = Path(place, "shot.png")
        command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                   "--disable-background-networking", "--hide-scrollbars",
                   f"--user-data-dir={place}", f"--window-size={WINDOW[0]},{WINDOW[1]}",
                   f"--screenshot={shot}", page.as_uri()]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True)
        with Image.open(shot) as image:
            small = image.convert("RGB").resize(SHOWN, Image.Resampling.LANCZOS)
    small.save(picture, quality=64, optimize=True, progressive=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
