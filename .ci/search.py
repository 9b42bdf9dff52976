"""Ask the site's own search index what people look for: the page is among three hits.

    python .ci/search.py out/site

As Sphinx's searchtools.js ranks: titles that hold the query, index entries, then pages
that hold all of its words, by the best of them; equal scores by title. Objects and
parts of words are left out.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from sphinx.search.en import SearchEnglish

#: What is typed, and pages that answer it.
WANTED = {
    "higher is better": {"index", "start", "glossary", "data", "guide"},
    "urgent first": {"index", "start", "how_to", "gallery/plot_21_clinic_day"},
    "which coverage": {"how_to", "glossary", "gallery/plot_07_grid_search"},
    "GroupKFold": {"how_to", "data"},
    "leaderboard": {"leaderboards", "gallery/plot_17_leaderboard"},
    "Excel": {"review"},
    "German": {"review"},
    "retrain": {"monitor", "how_to"},
    "group sizes": {"data", "how_to"},
}


def hits(index: dict, query: str) -> list[str]:
    """Return the pages that a query finds, best first."""
    titles, pages = index["titles"], index["docnames"]
    found = [*in_titles(index, query.lower()), *in_texts(index, query.lower())]
    ordered = sorted(
        (-score, titles[page].lower(), pages[page]) for page, score in found
    )
    return [page for *_, page in ordered]


def in_titles(index: dict, typed: str) -> Iterator[tuple[int, int]]:
    """Yield pages whose titles or index entries hold the query, with a score."""
    for kind, most in (("alltitles", 15), ("indexentries", 100)):
        for title, places in index[kind].items():
            if typed in title.lower() and len(typed) >= len(title) / 2:
                for page, *_ in places:
                    own = kind == "alltitles" and index["titles"][page] == title
                    yield page, round(most * len(typed) / len(title)) + own


def in_texts(index: dict, typed: str) -> Iterator[tuple[int, int]]:
    """Yield pages that hold all words of the query, with a score."""
    stem = SearchEnglish({})
    words = {stem.stem(word) for word in typed.split() if stem.word_filter(word)}
    scores: dict[int, dict[str, int]] = {}
    for kind, score in (("terms", 5), ("titleterms", 15)):
        for word in words & index[kind].keys():
            where = index[kind][word]
            for page in where if isinstance(where, list) else [where]:
                scores.setdefault(page, {})[word] = score
    for page, of_word in scores.items():
        if of_word.keys() == words:
            yield page, max(of_word.values())


def main() -> None:
    """Ask, and say which pages were not found."""
    text = Path(sys.argv[1], "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    lost = {query: hits(index, query)[:6] for query in WANTED}
    lost = {query: got for query, got in lost.items() if not WANTED[query] & {*got[:3]}}
    if lost:
        raise SystemExit(f"not among the first three hits: {lost}")


if __name__ == "__main__":
    main()
