"""The pages of the site and README: the site builds strictly, and what they show runs
(.github/CONTRIBUTING.md has the rules)."""

from __future__ import annotations

import ast
import contextlib
import doctest
import importlib
import inspect
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from syntax import nodes_of

import spark_mlfs
import spark_mlfs.sklearn
from spark_mlfs import cli, states
from spark_mlfs import read as read_
from spark_mlfs.cli.command import parser
from spark_mlfs.frames.frame import LocalSession

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "notebooks"
DATA = PAGES / "how-to" / "index.md"
WRITTEN = [
    path for path in sorted(PAGES.rglob("*.md")) if path.parent.name not in ("papers", "methods")
]
METHODS = sorted((PAGES / "methods").glob("*.md"))
BLOCK = re.compile(r"^(<!-- not run: .+ -->\n)?```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PASSED_OVER = ("pip install ", "python3 -m venv ")  # tests/runtimes and .ci/run install
ELSEWHERE = {
    "how-to/every-night.md": "tests/jobs/test_examples.py",
    "papers/msfs.md": "half an hour",
}
REGISTERS = "how-to/add-a-method.md"
LONG = {"how-to/compare-for-a-paper.md", "how-to/score-a-corpus.md"}
SPARK = {
    "README.md",
    "start/spark.md",
    "how-to/score-a-corpus.md",
}  # pages whose blocks take Spark


def blocks(path: Path) -> list[tuple[str, str]]:
    """The kind and the text of the blocks that run."""
    found = BLOCK.findall(path.read_text(encoding="utf-8"))
    return [(kind, text) for passed, kind, text in found if not passed]


def named(path: Path) -> str:
    return str(path.relative_to(PAGES)) if path.is_relative_to(PAGES) else path.name


@pytest.fixture(scope="session")
def data(tmp_path_factory) -> Path:
    """A folder with the data of the examples, and the configurations that ship."""
    folder = tmp_path_factory.mktemp("pages")
    with contextlib.chdir(folder) if sys.version_info >= (3, 11) else _chdir(folder):
        exec(next(text for kind, text in blocks(DATA) if kind == "python"), {"__name__": "page"})
    (folder / "conf").symlink_to(ROOT / "conf")
    return folder


@contextlib.contextmanager
def _chdir(folder):
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def commands(text: str) -> list[list[str]]:
    """The arguments of each spark-mlfs line of a block; other lines must be known ones."""
    out = []
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words and not any(start in line for start in PASSED_OVER):
            assert words[0] == "spark-mlfs", f"what is this line? {line}"
            out.append(words[1:])
    return out


def on_this_machine(words: list[str]) -> list[str]:
    """A command without Spark, where it can be: a session of other tests works in another
    folder."""
    known = parser()._subparsers._group_actions[0].choices[words[0]]._option_string_actions
    more = [flag for flag in ("--quiet", "--engine=local") if flag.partition("=")[0] in known]
    words = ["." if word == "/data/tmp" else word for word in words]  # a folder of the reader's
    if "--rows" in words:  # a sample's
        words[words.index("--rows") + 1] = "60"
    return [*words, *more]


def run(path: Path) -> None:
    """Run the blocks of a page in the working folder."""
    names: dict = {"__name__": "page", "LocalSession": LocalSession}
    said = ""
    found = blocks(path)
    for kind, text in found:
        if kind == "python":
            out = io.StringIO()
            text = text.replace(
                'save("model")', f'save("{Path.cwd()}/model")'
            )  # Spark's own folder is where it was started
            # the notebooks compare on Spark
            text = text.replace("compare(spark_mlfs.local_session(),", "compare(LocalSession(),")
            with contextlib.redirect_stdout(out):
                exec(compile(text, str(path), "exec"), names)
            said = out.getvalue()
        elif kind == "text" and said:
            assert said == text
            said = ""
        elif kind == "sh" and named(path) not in ELSEWHERE:
            for words in commands(text):
                assert cli.main(on_this_machine(words)) == 0, words
        elif kind == "toml":
            read(text)
        else:
            assert kind in ("", "text", "sh", "python"), f"what is a block of {kind}?"


def read(text: str) -> None:
    """A block of TOML; of a comparison it is checked, and stored, of fewer rows, where the page
    says."""
    from spark_mlfs.evaluate.plan import comparison
    from spark_mlfs.sections import read_toml

    fewer = text.replace("num_rows = 500", "num_rows = 120")
    Path("eleven.toml").write_text(fewer, encoding="utf-8")
    found = read_toml("eleven.toml")
    if "protocol" in found:
        comparison(found, "eleven.toml")


SHOWN = [
    p
    for p in [ROOT / "README.md", *WRITTEN]
    if blocks(p) and named(p) not in ("how-to/index.md", REGISTERS)
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(p, id=named(p), marks=[pytest.mark.slow] if named(p) in LONG else [])
        for p in SHOWN
    ],
)
def test_what_a_page_shows_runs(path, data, monkeypatch, request):
    if named(path) in SPARK:
        request.getfixturevalue("spark")
    monkeypatch.chdir(data)
    run(path)


def test_every_command_of_a_page_has_flags_that_there_are():
    """Those that do not run here, too."""
    known = parser()
    count = 0
    for path in [ROOT / "README.md", *WRITTEN]:
        for _, kind, text in BLOCK.findall(path.read_text(encoding="utf-8")):
            lines = text.replace("\\\n", " ").splitlines() if kind == "sh" else []
            for line in lines:
                words = shlex.split(line, comments=True)
                if words[:1] == ["spark-mlfs"]:
                    shell = (i for i, word in enumerate(words) if word[0] in "<>|&")
                    known.parse_args(words[1 : next(shell, None)])
                    count += 1
    assert count > 50, count


@pytest.mark.slow
def test_the_method_of_a_page_works(data):
    """In a process of its own, where it is registered."""
    found = blocks(PAGES / REGISTERS)
    program = "\n".join(text for kind, text in found if kind == "python")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=data,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and done.stdout == "".join(
        text for kind, text in found if kind == "text"
    ), done.stderr
    assert "spark_mlfs.methods" in next(text for kind, text in found if kind == "toml")


@pytest.mark.slow
@pytest.mark.parametrize("path", METHODS, ids=lambda p: p.stem)
def test_what_the_page_of_a_method_shows_runs(path, data, monkeypatch):
    """The command; tests/ml/test_pages.py and, of slow tests, this one run the lines of Python."""
    monkeypatch.chdir(data)
    for kind, text in blocks(path):
        for words in commands(text) if kind == "sh" else ():
            assert cli.main([*on_this_machine(words), "--no-report", "--overwrite"]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("path", METHODS, ids=lambda p: p.stem)
def test_the_lines_of_python_of_a_method_give_what_stands_there(path):
    for kind, text in blocks(path):
        if kind == "python":
            tree, told = ast.parse(text), text.rpartition("  # ")[2].strip()
            last, names = ast.Expression(tree.body.pop().value), {}
            exec(compile(tree, "page", "exec"), names)
            assert ", ".join(eval(compile(last, "page", "eval"), names)) == told


def test_commands_that_are_not_run_are_there_and_take_what_is_given():
    """Every command line of every page and configuration: its flags are known."""
    for path in [ROOT / "README.md", *WRITTEN, *METHODS]:
        text = path.read_text(encoding="utf-8")
        for script in re.findall(r"```sh\n(.*?)```", text, re.DOTALL):
            for line in script.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True)
                job = next((w for w in words if re.fullmatch(r"jobs/\w+\.py", w)), None)
                if "spark-submit" in words and job:
                    parser().parse_args([Path(job).stem, *words[words.index(job) + 1 :]])


def test_error_messages_are_those_of_the_code():
    """What is searched for: of each heading of the page of error messages the longest piece between
    names and numbers."""
    nodes = [node for p in (ROOT / "spark_mlfs").rglob("*.py") for node in nodes_of(p)]
    texts = [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    headings = re.findall(
        r"^### `(.*)`$", (PAGES / "faq.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(headings) > 20
    code = "\n".join(texts)
    lost = [
        heading
        for heading in headings
        if max(heading.split("…"), key=len).strip(" ,;:()") not in code
    ]
    assert not lost, f"notebooks/faq.md has messages that the code no longer says: {lost}"


def test_readme_is_short_and_its_links_lead_somewhere():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    assert all(len(line) <= 160 for line in text.splitlines() if not line.startswith("|"))
    for path in [ROOT / "README.md", *(ROOT / ".github").glob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            assert (path.parent / link).exists(), f"{path.name}: {link}"


@pytest.mark.slow
def test_the_site_builds_strictly(tmp_path):
    """As CONTRIBUTING says; no page takes anything from elsewhere."""
    line = re.search(
        r"`sphinx-build (.*) notebooks build/site`",
        (ROOT / ".github" / "CONTRIBUTING.md").read_text(),
    )[1]
    command = [
        sys.executable,
        "-m",
        "sphinx",
        *shlex.split(line),
        "-q",
        "notebooks",
        str(tmp_path / "site"),
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    pages = [page.read_text(encoding="utf-8") for page in (tmp_path / "site").rglob("*.html")]
    assert len(pages) > 70 and not any(
        re.search(r'(src|<link[^>]*href)="(https?:)?//', page) for page in pages
    )
    assert (tmp_path / "site" / "searchindex.js").stat().st_size > 100_000


sys.path[:0] = [str(ROOT / "conf" / "developers"), str(ROOT / "conf" / "developers" / "site")]


def example(name: str) -> doctest.DocTest:
    """The example in the docstring of a public name, which sees what its module does."""
    home, _, last = name.rpartition(".")
    value = getattr(importlib.import_module(home), last)
    names = vars(
        value
        if inspect.ismodule(value)
        else sys.modules.get(getattr(value, "__module__", None), spark_mlfs)
    )
    return doctest.DocTestParser().get_doctest(
        value.__doc__ or "", {**names, "__name__": "example"}, name, None, 0
    )


def given(case: doctest.DocTest) -> None:
    assert case.examples, f"{case.name} has no example"
    assert not doctest.DocTestRunner().run(case).failed


NAMED = [
    f"{face.__name__}.{name}"
    for face in (spark_mlfs, spark_mlfs.sklearn, states)
    for name in face.__all__
]
NAMED += [
    f"spark_mlfs.read.{name}" for name in read_.__all__ if name not in ("DataNotice", "READERS")
]
NAMED = [name for name in NAMED if not name.endswith((".ADDITIVE", ".FORS"))]  # which are texts
TAKES_SPARK = r"spark_mlfs\.(?!\w+Error|register)\w+(or|er|Features|Model|session)|spark_mlfs\.read(\.(?!planted_truth|Plan)\w+)?"
ON_SPARK = [name for name in NAMED if re.fullmatch(TAKES_SPARK, name)]
DAILY = [
    f"spark_mlfs.{name}"
    for name in ("JMISelector", "MDDMExtractor", "MLkNNClassifier", "SoundFeatures")
]  # of each kind


def test_public_names_have_an_example_that_gives_what_it_says(tmp_path, monkeypatch):
    import written

    monkeypatch.chdir(tmp_path)
    try:
        for name in {*NAMED, *written.public()}.difference(ON_SPARK):
            case = example(name)
            if case.examples or name in NAMED:
                given(case)
    finally:
        spark_mlfs.METHODS.forget("mine")


def template(name: str) -> str:
    """The lines of an example, whichever class it is of."""
    lines = "".join(line.source for line in example(name).examples)
    return lines.replace(name.rpartition(".")[2], "Class")


FIRST = {template(name): name for name in [*reversed(ON_SPARK), *DAILY]}  # of a template


@pytest.mark.parametrize(
    "name",
    [n if n in DAILY else pytest.param(n, marks=pytest.mark.slow) for n in FIRST.values()],
)
def test_examples_on_spark_give_what_they_say(name, spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given(example(name))


def test_examples_of_one_template_say_what_that_of_arrays_says():
    """Which runs; that Spark gives the same is a law of `tests/conformance`."""
    others = set(ON_SPARK) - set(FIRST.values())
    assert len(others) > 30
    for name in others:
        arrays = f"spark_mlfs.sklearn.{name.rpartition('.')[2]}"
        other = arrays if name.endswith("Selector") else FIRST[template(name)]
        assert example(name).examples[-1].want == example(other).examples[-1].want, name


OF_METHODS = [  # page, where a list of methods begins and ends, what they have in common
    ("weights-and-grades", "Weights go with", "compare rows", lambda m: m.weighted),
    ("weights-and-grades", "| method | what it does", "| all others", lambda m: m.graded),
    (
        "weights-and-grades",
        "`mim`, `jmi`, `d2f`, `mdmr`, `scls`\nand",
        "## Labels that are wrong",
        lambda m: has(m, "label_weights"),
    ),
    ("weights-and-grades", "It works with", "of the n rows", lambda m: has(m, "label_noise")),
    ("constraints", "Methods that pick one by one (", ") condition", lambda m: m.conditions),
    ("constraints", "1 by default, in", "0: the feature", lambda m: m.penalised),
    (
        "large-data",
        "`ridge`, `csfs`, `mssl`, `msfs`",
        "take a random sign",
        lambda m: has(m, "label_sketch"),
    ),
]


def has(method, parameter: str) -> bool:
    return parameter in {p.name for p in method.parameters}


@pytest.mark.parametrize(
    ("page", "begin", "end", "holds"),
    OF_METHODS,
    ids=[f"{line[0]}-{line[1]}" for line in OF_METHODS],
)
def test_lists_of_methods_are_those_of_the_code(page, begin, end, holds):
    from spark_mlfs.methods import METHODS as REGISTERED

    text = (PAGES / "how-to" / f"{page}.md").read_text(encoding="utf-8")
    start = text.index(begin)
    said = set(re.findall(r"`([\w-]+)`", text[start : text.index(end, start)])) & set(REGISTERED)
    own = {name for name in REGISTERED if REGISTERED[name].__module__.startswith("spark_mlfs.")}
    assert said == {name for name in own if holds(REGISTERED[name])}
