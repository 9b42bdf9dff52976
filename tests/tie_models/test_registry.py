import pytest
from sklearn.base import clone

from skrank_abstain.tie_models import (
    BradleyTerry,
    IsotonicDifference,
    ThurstoneMosteller,
    TieModel,
    resolve_tie_model,
)


@pytest.mark.parametrize(
    ("name", "kind", "params"),
    [
        ("bradley_terry", BradleyTerry, {"ties": "rao_kupper", "calibration": "ml"}),
        ("davidson", BradleyTerry, {"ties": "davidson", "calibration": "ml"}),
        (
            "thurstone_mosteller",
            ThurstoneMosteller,
            {"calibration": "ml", "margin": "log_theta"},
        ),
        ("isotonic_difference", IsotonicDifference, {}),
    ],
)
def test_names(name, kind, params):
    model = resolve_tie_model(name)
    assert type(model) is kind
    assert model.get_params() == params
    assert resolve_tie_model(name) is not model


def test_an_instance_is_cloned():
    mine = ThurstoneMosteller(calibration="counts").fit([2.0, 1.0, 0.0], [1, 1, 0])
    model = resolve_tie_model(mine)
    assert model is not mine
    assert model.get_params() == mine.get_params()
    assert not hasattr(model, "scale_")
    assert hasattr(mine, "scale_")


def test_unknown_name_lists_the_known_ones():
    message = "one of 'bradley_terry', 'davidson', .* 'graded_relevance', .* 'elo'"
    with pytest.raises(ValueError, match=message):
        resolve_tie_model("elo")


def test_only_models_of_differences_are_listed_where_others_cannot_be_used():
    with pytest.raises(ValueError, match=r"one of ((?!graded).)* got 'auto'"):
        resolve_tie_model("auto", of_differences=True)


@pytest.mark.parametrize("value", [None, 3, BradleyTerry, object()])
def test_what_is_no_tie_model_is_refused(value):
    with pytest.raises(TypeError, match="tie_model must be a name or an instance"):
        resolve_tie_model(value)


@pytest.mark.parametrize("model", [BradleyTerry(), ThurstoneMosteller()])
def test_models_are_estimators(model):
    assert isinstance(model, TieModel)
    assert repr(clone(model)) == repr(model)


def test_the_base_class_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        TieModel()
