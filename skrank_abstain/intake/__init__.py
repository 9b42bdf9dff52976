"""Intake: X, y and qid are checked, split and scored; labelled scores come out."""

from skrank_abstain.intake._item_rows import (
    Items,
    OneQueryWarning,
    groups_of_queries,
    take_columns,
    take_items,
    warn_of_batch,
)
from skrank_abstain.intake._repeats import (
    AboutRows,
    describe_rows,
    find_repeats,
    hash_halves,
    hash_rows,
    warn_of_repeats,
)
from skrank_abstain.intake._training import (
    TrainingRecord,
    check_labelled_items,
    check_pairs_to_calibrate,
    columns_of_fit,
    divide_queries,
    draw_seeds,
    hold_out,
    hold_out_of_each,
    record_of,
    split_for_calibration,
    take_labelled_items,
    train_and_score,
    warn_of_exchange,
)

__all__ = ["OneQueryWarning"]
