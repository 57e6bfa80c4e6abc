"""The site, from notebooks/: see .github/CONTRIBUTING.md for the command. Sphinx reads this
file."""

from __future__ import annotations

import inspect
import json
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT), str(HERE.parent), str(HERE)]

import commands  # noqa: E402
import docstrings  # noqa: E402
import formulas  # noqa: E402
import written  # noqa: E402

import spark_mlfs  # noqa: E402

project = "spark_mlfs"
release = version = spark_mlfs.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
copybutton_selector = "div.highlight-sh pre, div.highlight-python pre, div.highlight-toml pre"
root_doc = "index"
exclude_patterns = ["figures/*.py"]
default_role = "literal"
highlight_language = "none"
smartquotes = False  # "--flag" stays as it is
pygments_style, pygments_dark_style = "friendly", "native"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
suppress_warnings = [
    "myst.header"
]  # the pages of methods begin their sections where the docstring does

autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
# types in signatures: of other packages, and of the inside of this one; pages name what is public
# by the role obj
nitpick_ignore_regex = [(r"py:(class|obj|data)", r"(?!spark_mlfs\.[A-Z]).*|spark_mlfs\.Entry")]

html_theme = "furo"
html_title = f"spark_mlfs {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = html_show_sourcelink = html_show_sphinx = html_show_copyright = False
html_theme_options = {"top_of_page_buttons": []}

WRITTEN = re.compile(r"^<!-- written: (.+?) -->$", re.MULTILINE)


def read(app: Any, name: str, source: list[str]) -> None:
    """A page as Markdown: a notebook's cells, what the code knows, and files beside the pages by
    their names."""
    text = source[0]
    if str(app.env.doc2path(name)).endswith(".ipynb"):
        text = notebook(json.loads(text))
    if name == "methods/README":
        text += (
            "\n```{toctree}\n:hidden:\n\n"
            + "\n".join(f"{name} <{name}>" for name in written.pages.own_methods())
            + "\n```\n"
        )
    text = WRITTEN.sub(lambda match: written.TEXTS[match[1]](), text)
    text = commands.broken_commands(text)
    source[0] = re.sub(
        r"\[([^\]]*)\]\(((?:\.\./)+(?:conf|spark_mlfs|jobs|tests)/[^)]*)\)", _outside, text
    )


def _outside(match: re.Match[str]) -> str:
    path = re.sub(r"^(\.\./)+", "", match[2])
    if not (ROOT / path).exists():
        raise FileNotFoundError(f"a page links to {path}, which is not there")
    return match[1] if match[1].strip("`") == path else f"{match[1]} (`{path}`)"


def notebook(book: dict[str, Any]) -> str:
    """A notebook's cells and what they gave."""
    out = []
    for cell in book["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] != "code":
            out.append(text)
            continue
        out.append(f"```python\n{text}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/png" in data:
                title = "".join(data["text/plain"]).strip("<>")
                out.append(f"![{title}](data:image/png;base64,{data['image/png'].strip()})")
                continue
            printed = "".join(output.get("text", data.get("text/plain", ""))).rstrip()
            if printed:
                out.append(f"```text\n{printed}\n```")
    return "\n\n".join(out) + "\n"


def keep_words(app: Any, name: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if "body" in context:
        context["body"] = commands.whole_words(context["body"])


def linked(name: str) -> str | None:
    """The public name in full that a docstring means."""
    return LINKS.get(name.removesuffix("()"))


LINKS = {full.rpartition(".")[2]: full for full in reversed(written.public())}
LINKS |= {full: full for full in written.public()}


def entry_of(value: Any) -> Any:
    """The method, extractor or classifier that a class is the estimator of."""
    return getattr(value, "entry", None) if inspect.isclass(value) else None


def docstring(app: Any, kind: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text; of an estimator's class the parameters that all have are left out:
    they stand once above."""
    text = list(lines)
    entry = entry_of(value)
    if entry is not None and hasattr(value, "_common") and "Parameters" in text:
        parameters = written_docstring(value, entry)
        text = parameters.splitlines()
    if kind != "module" and not any(line.strip() for line in text):
        undocumented(name)
    lines[:] = docstrings.as_rest(text, linked)


def written_docstring(value: Any, entry: Any) -> str:
    """The docstring of an estimator's class with the parameters of its own."""
    from spark_mlfs.adapters.docstrings import docstring as compose

    return inspect.cleandoc(compose(value, entry.parameters))


def signature(
    app: Any,
    kind: str,
    name: str,
    value: Any,
    options: Any,
    arguments: str | None,
    returns: str | None,
) -> Any:
    """The signature of an estimator's class, with the parameters of its own."""
    entry = entry_of(value)
    if entry is None or not hasattr(value, "_common"):
        return None
    parameters = [f"{value._spelled(p)}={p.default!r}" for p in entry.parameters]
    return f"({', '.join([*(['*'] if parameters else []), *parameters, '**common'])})", None


def undocumented(name: str) -> None:
    """A warning, which a strict build takes for an error."""
    from sphinx.util import logging

    logging.getLogger(__name__).warning("public name without a docstring: %s", name)


def complete(app: Any, env: Any) -> None:
    """Every public name is on a page, and has a docstring of its own."""
    from sphinx.util import logging

    on_pages = set(env.get_domain("py").objects)
    for name in written.public():
        home, _, last = name.rpartition(".")
        if name not in on_pages:
            logging.getLogger(__name__).warning("public name on no page: %s", name)
        elif callable(value := getattr(import_module(home), last)) and not inspect.getdoc(value):
            undocumented(name)


def setup(app: Any) -> None:
    app.add_source_suffix(".ipynb", "markdown")
    app.connect("source-read", read)
    app.connect("doctree-read", formulas.typeset)
    app.connect("html-page-context", keep_words)
    app.connect("autodoc-process-docstring", docstring)
    app.connect("autodoc-process-signature", signature)
    app.connect("env-check-consistency", complete)
