"""Configuration of the documentation site: `make docs`.

Pages that are made from the code (gallery, API reference) and from texts of the repository (theory
by subject, benchmarks) go to docs/pages, which is not under version control.
"""

import shutil
import sys
from importlib.metadata import files, version as version_of
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from docs.making import api, gallery, links, texts  # noqa: E402

project = "accion"
author = "The accion developers"
copyright = author
release = version = version_of("accion")
language = "en"
html_title = f"accion {release}"

extensions = [
    "myst_nb",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
]
root_doc = "index"
# Sources of generated pages, and what is no page.
exclude_patterns = ["_build", "theory.md", "making", "Thumbs.db"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
# docs/audit.md, which `make audit` writes, has heads of the third level right away.
suppress_warnings = ["myst.header"]

# Notebooks are executed when the site is built; those whose code is the same (the two languages)
# once.
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 180
nb_merge_streams = True

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
python_maximum_signature_line_length = 72
add_module_names = False
copybutton_exclude = ".linenos, .gp"
# MathJax is part of the site.
mathjax_path = "mathjax/tex-svg.js"
mathjax3_config = {"tex": {"macros": {}}, "options": {"enableMenu": False}}


def made(app: Any) -> None:
    """The generated pages, those that move, and MathJax from its package."""
    texts.theory()
    texts.outside()
    api.build()
    gallery.build()
    gallery.copy_pages(Path(app.outdir))
    there = Path(app.outdir) / "_static" / "mathjax"
    there.mkdir(parents=True, exist_ok=True)
    (script,) = [p for p in files("sphinx-mathjax-offline") or () if p.name == "tex-svg.js"]
    shutil.copyfile(str(script.locate()), there / "tex-svg.js")


def with_links(app: Any, page: str, source: list[str]) -> None:
    """Links between files as links between pages."""
    if not page.startswith(links.MADE):
        source[0] = links.rewritten(source[0], HERE / f"{page}.md", page)


def setup(app: Any) -> None:
    """What Sphinx calls."""
    app.connect("builder-inited", made)
    app.connect("source-read", with_links)
