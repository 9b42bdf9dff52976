"""Rankings of the labels of each sample, from relevance (n_samples, n_labels).

Scores of labels are higher for better ones. ``predict`` returns them, as
``decision_function`` does; ``predict_ranks`` returns ranks, of which 1 is the best.
"""
