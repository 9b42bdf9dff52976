"""
A clinic's day: the right three patients before lunch
=====================================================

Thirteen patients wait, and the doctor has three slots before lunch. A ranker makes the
list and says which places are open. A nurse answers five questions, one slot goes to
another patient, and in the evening a page says how often the ranker is wrong.
"""

# %%
# What the clinic has
# -------------------
# Ten measurements of each patient, and a grade of urgency from 0 to 4. Higher is
# better: the higher the grade, the sooner the patient should be seen. The patients are
# those of scikit-learn's diabetes data; the days and the names are made up. The ranker
# learned from 24 days, which also set its threshold (five more models, each without a
# fifth of the days, score them for that), and decides about 60 % of the pairs of
# patients. The ten days after these are new to it, and today is the last one.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from lightgbm import LGBMRanker

from skrank_abstain import BALToR
from skrank_abstain.datasets import load_triage
from skrank_abstain.displays import RankIntervalDisplay
from skrank_abstain.pairs import pair_labels

patients = load_triage()
X = pd.DataFrame(patients.data, columns=patients.feature_names)
y, day = patients.target, patients.qid
new, today = day >= 24, day == 33
model = LGBMRanker(
    n_estimators=40, learning_rate=0.05, num_leaves=5, n_jobs=1, verbose=-1
)
ranker = BALToR(model, coverage=0.6, random_state=0)
ranker = ranker.fit(X[~new], y[~new], qid=day[~new])

# %%
# Eight o'clock: the list
# -----------------------
# ``best`` and ``worst`` are the places that the decided pairs leave open. Bea is first:
# her best and her worst place are 1. Six others may be among the first three.
WAITING = "Abel Bea Carl Dora Emil Fay Gus Hana Ivan Jill Kofi Lena Mina"
NAMES = np.array(WAITING.split())
COLUMNS = ["place", "item_id", "best", "worst"]
before = ranker.review(X[today], item_id=NAMES)
print(before.ranking().to_frame()[COLUMNS].to_string(index=False))

# %%
# Half past eight: questions to a nurse
# -------------------------------------
# The clinic's rule: ask two questions at a time until the slots are decided, eight at
# most. ``deferred`` has the pairs that nobody has decided, here those that can change
# who is among the first three, riskiest first. The true grades answer in place of
# a nurse, so she is never wrong; :doc:`plot_10_review_loop` has people who are, and
# questions about the whole list.
WORDS = {1: "left", 0: "same", -1: "right"}


def nurse(questions, grades):  # simulated: she knows the grades
    truth = pair_labels(grades, questions.left, questions.right)
    return [
        {"left": pair.left_id, "right": pair.right_id, "label": WORDS[label]}
        for pair, label in zip(questions, truth.tolist(), strict=True)
    ]


def slots_are_decided(review):
    return (review.ranking().worst <= 3).sum() == 3


def ask_the_nurse(ranker, rows):
    answers = []
    review = ranker.review(X[rows], item_id=NAMES)
    while not slots_are_decided(review) and len(answers) < 8:
        questions = review.decisions.deferred(2, deciding_top=3)
        if not len(questions):
            break  # called the same: either may have the slot
        answers += nurse(questions, y[rows])
        review = ranker.review(X[rows], item_id=NAMES, answers=answers)
    return review, answers


after, answers = ask_the_nurse(ranker, today)
for said in answers:
    answer = said.get(said["label"], "the same")
    print(f"Who is more urgent, {said['left']} or {said['right']}? {answer}")

# %%
# Nine o'clock: the better list
# -----------------------------
# A bar covers the places that are open. The colour and the shape are the true grade,
# "relevance", which nobody knew at nine. No bar crosses the line behind the third place
# any more. Kofi has a slot, and rightly: he was seventh on the list, and his grade is
# 4. Dora, who would have had it, has grade 3. ``changes`` says of each patient who
# moved because of which answer.
for item in after.changes().to_dicts():
    ranks = f"{item['best']} to {item['worst']}"
    print(
        f"{item['place']:>2}  {item['item_id']:<5}{ranks:<9}{item['because']}".rstrip()
    )
for title, review in {"At eight": before, "At nine": after}.items():
    ranking = review.ranking()
    RankIntervalDisplay.from_predictions(
        np.column_stack([ranking.best, ranking.worst]),
        relevance=pd.Series(y[today], NAMES)[ranking.item_id],
        places=ranking.place,
        item_id=ranking.item_id,
        top_k=3,
        name=f"{title}: places that are open",
    )

# %%
# The evening: how good were the slots?
# -------------------------------------
# One day may be luck. On the ten new days, a slot is well used if its patient is at
# least as urgent as the third most urgent one of the day. By the list alone 23 of 30
# are; with the answers 27 are, for 24 questions in ten days. A ranker that decides
# more is more often sure and wrong, and then nobody asks.
print("decides   questions a day   slots well used, of 30")
found = {}
for coverage in (0.9, 0.6, 0.4):
    other = ranker.at_coverage(coverage)
    asked = alone = with_answers = 0
    for date in np.unique(day[new]):
        rows = day == date
        grade, third = pd.Series(y[rows], NAMES), np.sort(y[rows])[-3]
        review, answers = ask_the_nurse(other, rows)
        first = ranker.ranking(X[rows], item_id=NAMES).item_id[:3]
        asked += len(answers)
        alone += (grade[first] >= third).sum()
        with_answers += (grade[review.ranking().item_id[:3]] >= third).sum()
    found[coverage] = asked / 10, alone, with_answers
    print(f"{coverage:>7.0%}{asked / 10:>18.1f}{with_answers:>25}")
print(f"the list alone, no questions: {alone}")

# %%
# The head nurse keeps 60 %. At 40 %, as many questions again would win nothing. Ten
# days are few, and she looks at the table again next month.
#
# The page for the auditor
# ------------------------
# ``report`` says what the data and the software were, what is promised (with BALToR no
# error rate), and what came out before any answer. ``page.to_html("audit.html")`` saves
# it; below it is in full.
page = ranker.report(X[new], y[new], qid=day[new])
totals = ranker.evaluate(X[new], y[new], qid=day[new])
wrong, coin = totals.selective_risk, totals.yardstick
print(f"{wrong:.0%} of the decided pairs are in the wrong order; by a coin {coin:.0%}")
plt.show()
page
