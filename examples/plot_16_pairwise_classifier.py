"""
Learn from comparisons with ties
================================

Tasters compare the wines of a session two by two: the left one is better, the right one
is, or they are alike. A logistic regression learns which wine wins;
PairwiseRankerClassifier makes probabilities of win, tie and loss of it, and says which
comparisons it would rather leave to a person. The answers are simulated, so the true
probabilities are known, and with them the best that anyone could do.
"""

# %%
# A row holds two wines
# ---------------------
# Left half, right half; the label is 1 where left is better, -1 where right is, 0 where
# they are alike. "left", "right" and "same" would do as well: labels are read by what
# they mean. All wines of a session are compared with each other.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank_abstain import PairwiseRankerClassifier
from skrank_abstain.datasets import make_ranking
from skrank_abstain.displays import PairReliabilityDisplay, RiskCoverageDisplay
from skrank_abstain.pairs import enumerate_pairs, group_queries, pair_labels


def taste(n_sessions, seed):
    wines = make_ranking(
        n_sessions, n_items=6, n_grades=4, signal=3.0, random_state=seed
    )
    left, right = enumerate_pairs(group_queries(wines.qid, len(wines.qid)))
    X = np.hstack([wines.data[left], wines.data[right]])
    y = pair_labels(wines.target, left, right)
    return X, y, wines.qid[left], wines.pair_proba(left, right)


# %%
# Train and calibrate
# -------------------
# Three sessions in four train the pipeline, the others calibrate. Sessions stay whole,
# since their comparisons share wines. Ties do not train the logistic regression: the
# tie model learns them.
X, y, session, _ = taste(600, seed=0)
model = make_pipeline(StandardScaler(), LogisticRegression())
classifier = PairwiseRankerClassifier(model, random_state=0).fit(X, y, qid=session)

# %%
# The sure ones first
# -------------------
# New sessions. The fewer comparisons are called, the more of them are right.
X, y, session, truth = taste(300, seed=1)
print("asked for   decided   right among decided")
table = []
for coverage in (1.0, 0.8, 0.6, 0.4, 0.2):
    totals = classifier.at_coverage(coverage).evaluate(X, y, qid=session)
    table.append((coverage, totals.coverage, totals.accuracy))
    print(f"{coverage:9.0%}{totals.coverage:10.1%}{totals.accuracy:22.1%}")

# %%
# ``predict`` always answers. ``abstain`` says which answers to leave to a person.
half = classifier.at_coverage(0.5)
print("Comparisons for a person, for instance:")
for right, alike, left in half.pair_proba(X[half.abstain(X)][:3]):
    print(f"  left better {left:.0%}, alike {alike:.0%}, right better {right:.0%}")

# %%
# Is it as sure as it may be?
# ---------------------------
# Where the model says 70 %, is it right in 70 % of the cases? On the diagonal it is,
# and most bars reach it. Each marker holds as many comparisons; the bars are 95 %
# intervals over sessions.
proba = classifier.pair_proba(X)  # right, alike, left, whatever the labels are
display = PairReliabilityDisplay.from_predictions(
    y, proba, classifier.decision_function(X), qid=session
)
display.ax_.set_title("Probabilities near the diagonal are right")
loss, least = log_loss(y, proba), log_loss(y, truth)
print(f"Log loss {loss:.3f}; with the true probabilities it would be {least:.3f}.")

# %%
# The best that anyone could do
# -----------------------------
# The lower curve is that of the true probabilities. Even who knows them errs about
# close comparisons, and errs less where those are left to others.
_, ax = plt.subplots(figsize=(5.5, 4.6), layout="constrained")
for name, proba_of in (("classifier", proba), ("best possible", truth)):
    RiskCoverageDisplay.from_predictions(
        y,
        proba_of.argmax(axis=1) - 1,
        1 - proba_of.max(axis=1),
        loss="zero_one",
        name=name,
        ax=ax,
    )
ax.set_title("Fewer answers, fewer errors")
plt.show()
