"""
The months after: notice what has changed
=========================================

A ranker was calibrated in spring. It still answers every day, and nobody labels what it
does. On day 25 a supplier changes the unit of a feature. A monitor notices, and seldom
cries wolf: its alarms are false with a probability of at most 5 %, for ever.
"""

# %%
# Spring
# ------
# A clinic's ranker, calibrated on 200 days. The monitor remembers how many pairs of a
# day were left to a person, and how risky they were.
import json

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.monitor import Monitor, MonitorDisplay

train, spring = (make_ranking(200, random_state=k) for k in (0, 1))
model = Ridge().fit(train.data, train.target)
ranker = BALToR(model, coverage=0.7, random_state=0)
ranker.fit(spring.data, spring.target, qid=spring.qid)
monitor = Monitor.of(ranker, delta=0.05)

# %%
# Forty days
# ----------
# Five lists a day, without labels. Each update returns a new monitor; its state is a
# few kilobytes of JSON, to be kept wherever the service keeps its settings.
change, days = 25, range(1, 41)
for day in days:
    today = make_ranking(5, random_state=100 + day)
    X = today.data.copy()
    if day >= change:
        X[:, np.argmax(np.abs(model.coef_))] /= 10  # millimetres become centimetres
    monitor = monitor.update(ranker, X, qid=today.qid, day=f"{day}")
first = next(d for d, found in monitor.days.items() if max(found) >= 1 / monitor.delta)
print(f"changed on day {change}, alarm on day {first}")
print(monitor.message)
print(f"state: {len(json.dumps(monitor.to_dict())) / 1000:.0f} kB of JSON")

# %%
# The curve is what a stake of 1 has become by betting that lists are no longer like
# those of spring. While they are, nobody grows rich by that; twentyfold is the alarm.
display = MonitorDisplay.from_monitor(monitor, name="Five lists a day, no labels")
display.ax_.axvline(change, color="#767676", ls=":")

# %%
# Ask a few people
# ----------------
# Unlabelled days cannot tell whether decisions are still right. An audit can: one pair
# of each list, drawn at random, is shown to people if it was decided. Here they
# disagree with one decided pair in six, where it was one in sixteen in spring.
rng = np.random.default_rng(0)
audited = Monitor.of(ranker, delta=0.05)
for week in range(1, 7):
    lists = make_ranking(30, random_state=200 + week)
    audited, questions = audited.audit(
        ranker, lists.data, qid=lists.qid, day=f"week {week}", n=30
    )
    answers = []
    for pair in questions:
        agrees = rng.random() < 5 / 6
        label = pair.label if agrees else -pair.label
        answers.append(
            {"qid": pair.qid, "left": pair.left, "right": pair.right}
            | {"label": "left" if label > 0 else "right"}
        )
    audited = audited.judge(ranker, answers)
    print(f"week {week}: {audited.bets.n:.0f} answers, evidence {audited.evidence:.3g}")
    if audited.alarm:
        break
print(f"held to a loss of {audited.bound:.2f}, alarm: {audited.alarm}")
plt.show()
