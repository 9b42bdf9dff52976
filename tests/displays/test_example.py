"""The example that draws the figures of the page on displays runs."""

import importlib.util
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.slow
def test_example_draws_the_figures_of_the_page(tmp_path, capsys):
    pytest.importorskip("lightgbm")
    spec = importlib.util.spec_from_file_location(
        "plot_displays", EXAMPLES / "plot_displays.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    paths = module.main(["--smoke", "--quiet", "--out", str(tmp_path)])
    assert capsys.readouterr().out == ""
    assert len(paths) == 5
    assert all(path.stat().st_size > 10_000 for path in paths)
