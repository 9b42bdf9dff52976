"""Intake: X, y and qid are checked, split and scored; labelled scores come out."""

from skrank_abstain.intake._repeats import (
    TRAINED_TOO,
    AboutRows,
    count_seen,
    describe_rows,
    find_repeats,
    hash_ids,
    hash_rows,
    warn_of_count,
    warn_of_measured,
    warn_of_repeats,
    warn_of_seen,
    warn_of_trained,
)
from skrank_abstain.intake._rows import (
    OneQueryWarning,
    Rows,
    check_labelled_rows,
    groups_of_queries,
    read_grades,
    take_columns,
    take_labelled_rows,
    take_rows,
    warn_of_batch,
    warn_of_empty_rows,
    warn_of_labels_in,
)
from skrank_abstain.intake._training import (
    CalibrationData,
    Trained,
    cross_fit,
    divide_queries,
    draw_seeds,
    hold_out,
    hold_out_of_each,
    refuse_scores,
    split_for_calibration,
    train_and_score,
    two_parts,
)

__all__ = ["OneQueryWarning"]
