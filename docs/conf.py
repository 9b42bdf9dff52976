"""The site: the pages of this folder, and a reference made from docstrings.

Nothing here asks the network: links between pages are checked, those to the web are
not, and other projects' inventories are not used, since none comes with a package.
"""

import re
from typing import Any

import skrank_abstain

project = "skrank_abstain"
author = "the skrank_abstain developers"
project_copyright = f"2026, {author}"  # as in LICENSE
version = release = skrank_abstain.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_templates"]
# A reference to a name that has no page is a warning, and warnings fail the build.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(sklearn|scipy)\..*")]  # pages of other sites

# Links to headings are written as GitHub makes them: page.md#some-heading.
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]

# A room's page lists its __all__ in the order of the list; see _templates/room.rst.
autosummary_ignore_module_all = False
autosummary_imported_members = True
# Names of the top level have their page there, as they are imported.
autosummary_context = {"spine": skrank_abstain.__all__}
# Docstrings say types better than signatures do.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
# Members are written out below the class, inherited ones too.
numpydoc_show_class_members = False

# Numbered scripts are pages, run as they are built; the others are programs.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_\d\d_",
    "ignore_pattern": r"^(?!plot_\d\d_)",
    "within_subsection_order": "FileNameSortKey",
    "parallel": True,  # as many pages at a time as -j says
    # Names in the code lead to their pages, and these lead back to the examples.
    "doc_module": ("skrank_abstain",),
    "reference_url": {"skrank_abstain": None},
    "backreferences_dir": "gallery/uses",
    "capture_repr": ("_repr_html_",),  # not <Legend object at 0x...>
    "remove_config_comments": True,
    "download_all_examples": False,
    "write_computation_times": False,
    "thumbnail_size": (600, 420),
    "min_reported_time": 60,  # they differ from machine to machine
}

copybutton_exclude = ".linenos, .gp, .go"  # copies code without prompts and results

smartquotes = False  # they would turn "auto" in a docstring into what does not run

html_title = project
html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "footer_start": ["copyright"],
    "footer_end": [],
}


def _skip(
    app: Any, what: str, name: str, obj: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out what scikit-learn gives its estimators; it has pages of its own."""
    module = getattr(obj, "__module__", None) or ""
    return True if module.startswith("sklearn.") else None


def _link_examples(app: Any, page: str, source: list[str]) -> None:
    """Link the examples that a page names; on GitHub there is no gallery to link to."""
    source[0] = re.sub(
        r"`examples/(plot_\d\d_\w+)\.py`", r"[`\1.py`](gallery/\1.rst)", source[0]
    )


def setup(app: Any) -> None:
    """Tell Sphinx about the members to leave out, and about the links to examples."""
    app.connect("autodoc-skip-member", _skip)
    app.connect("source-read", _link_examples)
