import pytest
from sklearn.base import clone

from skrank_abstain.tie_models import (
    BradleyTerry,
    DifferenceModel,
    GradedRelevance,
    IsotonicDifference,
    ThurstoneMosteller,
    TieModel,
    tie_model_candidates,
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
    [model] = tie_model_candidates(name)
    assert type(model) is kind
    assert model.get_params() == params
    assert tie_model_candidates(name)[0] is not model


def test_auto_stands_for_all_the_default_first():
    candidates = tie_model_candidates("auto")
    assert type(candidates[0]) is GradedRelevance
    only = tie_model_candidates("auto", of_differences=True)
    assert all(isinstance(model, DifferenceModel) for model in only)
    assert [type(m) for m in only] == [
        type(m) for m in candidates if isinstance(m, DifferenceModel)
    ]


def test_an_instance_is_cloned():
    mine = ThurstoneMosteller(calibration="counts").fit([2.0, 1.0, 0.0], [1, 1, 0])
    [model] = tie_model_candidates(mine)
    assert model is not mine
    assert model.get_params() == mine.get_params()
    assert not hasattr(model, "scale_")
    assert hasattr(mine, "scale_")


def test_unknown_name_lists_the_known_ones():
    message = "one of 'auto', 'bradley_terry', 'davidson', .* 'elo'"
    with pytest.raises(ValueError, match=message):
        tie_model_candidates("elo")


@pytest.mark.parametrize("value", [None, 3, BradleyTerry, object()])
def test_what_is_no_tie_model_is_refused(value):
    with pytest.raises(TypeError, match="tie_model must be a name or an instance"):
        tie_model_candidates(value)


@pytest.mark.parametrize("model", [BradleyTerry(), ThurstoneMosteller()])
def test_models_are_estimators(model):
    assert isinstance(model, TieModel)
    assert repr(clone(model)) == repr(model)


def test_the_base_class_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        TieModel()
