"""The files shown in docs/extending.md run as they stand there."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "extending.md"
FILES = re.findall(
    r"^## (.*?)$.*?^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S
)


def test_there_is_one_file_for_each_thing_that_can_be_added():
    headings = [heading for heading, _ in FILES]
    assert headings == [
        "A tie model",
        "A rule",
        "A metric",
        "An objective of questions",
        "A booster",
    ]


@pytest.mark.parametrize("code", [code for _, code in FILES], ids=[h for h, _ in FILES])
def test_it_is_complete(code):
    assert "assert " in code
    exec(compile(code, str(PAGE), "exec"), {"__name__": "extension"})
