"""The page on PyPI, where links have to be whole. All else is in pyproject.toml."""

import re
from pathlib import Path

from setuptools import setup

CLONE = "https://github.com/skrank-abstain/skrank-abstain"

text = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
text = re.sub(r"(!\[[^]]*\]\()(?!https:)", rf"\1{CLONE}/raw/main/", text)
text = re.sub(r"(\]\()(?!https:)", rf"\1{CLONE}/blob/main/", text)
setup(long_description=text, long_description_content_type="text/markdown")
