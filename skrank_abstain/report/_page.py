"""A page as a value: sections of lines, tables and pictures, written in two ways."""

from __future__ import annotations

import os
import platform
import re
import sys
from base64 import b64encode
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from warnings import catch_warnings, filterwarnings

from skrank_abstain._saving import __version__, write_file
from skrank_abstain._warnings import heard
from skrank_abstain.displays import require_pyplot
from skrank_abstain.pairs import html_table
from skrank_abstain.scorers import last_step, library_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Sections that a notebook opens: origin, verdict, warnings.
_OPEN = 3
_STYLE = """\
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem; overflow-wrap: break-word; }
h1, h2 { line-height: 1.2; break-after: avoid; }
h2 { font-size: 1.2rem; margin-top: 2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; width: 100%; }
th, td { border-bottom: 1px solid #8888; padding: .25rem .6rem .25rem 0;
  text-align: left; vertical-align: top; font-variant-numeric: tabular-nums; }
tbody th { font-weight: normal; } td { white-space: nowrap; }
figure { margin: 1rem 0; break-inside: avoid; } figcaption { font-size: .9rem; }
img { max-width: 100%; background: #fff; border-radius: 4px; }
@media print {
  body { margin: 0; max-width: none; font-size: 10pt; } .wide { overflow-x: visible; }
  table { font-size: 8pt; } td { white-space: normal; } tr { break-inside: avoid; }
}
"""
_TOP = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<h1>{title}</h1>"""


class Table(NamedTuple):
    """Cells as text; the first cell of a row names it."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


class Picture(NamedTuple):
    """A picture of the page; markdown leaves it out."""

    alt: str
    caption: str
    size: tuple[float, float]
    #: Draws on a new figure of ``size`` inches; picklable.
    draw: Callable[[Figure], None]


class Section(NamedTuple):
    """A title, and paragraphs (text), lists (of lines), tables and pictures."""

    title: str
    blocks: Sequence[str | list[str] | Table | Picture]


class Report(str):
    """What ``report`` returns: a text in markdown that can also be saved as a page.

    Parameters
    ----------
    title : str
    sections : sequence of Section
        The first one stands below the title.

    See Also
    --------
    skrank_abstain.SelectiveRanker.report : Writes one.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> known = make_ranking(n_queries=60, random_state=0)
    >>> new = make_ranking(n_queries=60, random_state=1)
    >>> ranker = BALToR(Ridge(), random_state=0)
    >>> ranker = ranker.fit(known.data, known.target, qid=known.qid)
    >>> report = ranker.report(new.data, new.target, qid=new.qid)
    >>> report.splitlines()[0]
    '# BALToR: report'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report.to_html(Path(folder) / "audit.html")
    ...     page = (Path(folder) / "audit.html").read_text(encoding="utf-8")
    >>> page.count("<img"), "http" in page  # pictures are inside, nothing is loaded
    (2, False)
    """

    _title: str
    _sections: Sequence[Section]

    def __new__(cls, title: str, sections: Sequence[Section]) -> Report:
        self = super().__new__(cls, _markdown(title, sections))
        self._title, self._sections = title, sections
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._title, self._sections)

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Save the report as one self-contained page, pictures included.

        Parameters
        ----------
        path : str or path
            File to write or replace, such as ``"audit.html"``.

        Raises
        ------
        ValueError
            If the name does not end in .html or .htm.
        ImportError
            If matplotlib is not installed; no file is written.
        """
        if Path(path).suffix.lower() not in (".html", ".htm"):
            raise ValueError(f"path must end in .html or .htm, got {str(path)!r}.")
        parts = [_TOP.format(title=escape(self._title), style=_STYLE)]
        for section in self._sections:
            if section.title:
                parts.append(f"<h2>{escape(section.title)}</h2>")
            parts += map(_element, section.blocks)
        write_file(path, "\n".join([*parts, "</body>\n</html>\n"]))

    def _repr_html_(self) -> str:
        # The first sections are open, the others open on a click. Pictures are for the
        # page only: they need matplotlib and white paper.
        parts = [f"<h3>{escape(self._title)}</h3>"]
        for k, section in enumerate(self._sections):
            blocks = [b for b in section.blocks if not isinstance(b, Picture)]
            body = "\n".join(map(_element, blocks))
            if section.title:
                opened = " open" if k < _OPEN else ""
                title = f"<summary>{escape(section.title)}</summary>"
                body = f"<details{opened}>\n{title}\n{body}\n</details>"
            parts.append(body)
        return "\n".join(parts)

    def _repr_markdown_(self) -> str:
        return str(self)


def _markdown(title: str, sections: Sequence[Section]) -> str:
    parts = [f"# {title}"]
    for section in sections:
        if section.title:
            parts.append(f"## {section.title}")
        for block in section.blocks:
            if isinstance(block, str):
                parts.append(block)
            elif isinstance(block, Table):
                rows = [block.head, ["---"] * len(block.head), *block.rows]
                parts.append("\n".join(map(_row, rows)))
            elif isinstance(block, list):
                parts.append("\n".join(f"- {line}" for line in block))
    # Names of groups, ids and the like are texts, not tags.
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", "\n\n".join(parts)) + "\n"


def _row(cells: Sequence[str]) -> str:
    # A bar or a line break in a name would end the cell.
    clean = [" ".join(cell.split()).replace("|", "\\|") for cell in cells]
    return f"| {' | '.join(clean)} |"


def _element(block: str | list[str] | Table | Picture) -> str:
    if isinstance(block, str):
        return f"<p>{escape(block)}</p>"
    if isinstance(block, Table):
        return f'<div class="wide">{html_table(block.head, block.rows)}</div>'
    if isinstance(block, Picture):
        return (
            f'<figure>\n<img alt="{escape(block.alt)}" src="{_drawn(block)}">\n'
            f"<figcaption>{escape(block.caption)}</figcaption>\n</figure>"
        )
    return "\n".join(["<ul>", *(f"<li>{escape(line)}</li>" for line in block), "</ul>"])


def _drawn(picture: Picture) -> str:
    """Return a picture as the address of an image that holds its own data."""
    plt = require_pyplot("Report.to_html")
    from matplotlib.figure import Figure

    # Letters stay text, for which the reader's machine has the fonts. A fixed salt and
    # no date make the same report the same file.
    options: Any = {"svg.fonttype": "none", "svg.hashsalt": "report"}
    file = BytesIO()
    # The default style: the reader's own may be for dark slides. The browser draws the
    # letters, so missing glyphs do not matter here.
    with catch_warnings(), plt.style.context(["default", options]):
        filterwarnings("ignore", "Glyph .* missing")
        figure = Figure(figsize=picture.size, layout="constrained")
        picture.draw(figure)
        figure.savefig(file, format="svg", metadata={"Date": None})
    return f"data:image/svg+xml;base64,{b64encode(file.getvalue()).decode()}"


def write_page(
    name: str,
    model: Any,
    sections: Sequence[Section],
    *,
    warnings: Sequence[str] = (),
    checked: str = "",
) -> Report:
    """Return the page of an estimator: its origin, warnings, and sections.

    Parameters
    ----------
    name : str
        Class of the estimator, for the title.
    model : estimator
        The origin names the version of its library.
    sections : sequence of Section
        The first is the verdict.
    warnings : sequence of str, default=()
        They stand below the verdict, with those that were heard during ``report``.
    checked : str, default=""
        What was looked at, for a page without warnings.
    """
    origin = [f"date: {date()}", f"versions: {_versions(model)}"]
    found = [*dict.fromkeys([*heard(), *warnings])]
    if checked and not found:
        found = [f"none found. Checked: {checked}"]
    doubts = [Section("Warnings", [found])] if found else []
    verdict, *rest = sections
    return Report(f"{name}: report", [Section("", [origin]), verdict, *doubts, *rest])


def date() -> str:
    """Return the current date and time in UTC, by ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _versions(model: Any) -> str:
    """Return the versions of the libraries, the model's own included."""
    found = {"skrank_abstain": __version__, "Python": platform.python_version()}
    found |= {name: version(name) for name in ("scikit-learn", "numpy", "scipy")}
    inner = last_step(model)
    library = library_of(inner) or type(inner).__module__.partition(".")[0]
    release = getattr(sys.modules.get(library), "__version__", None)
    if library != "sklearn" and isinstance(release, str):
        found[library] = release
    return ", ".join(f"{name} {release}" for name, release in found.items())
