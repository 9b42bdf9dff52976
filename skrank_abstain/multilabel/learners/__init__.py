"""Which losses can be learned by learning another, and learners that do so."""

from skrank_abstain.multilabel.learners._families import (
    FamilyMembership,
    loss_family_membership,
)
from skrank_abstain.multilabel.learners._learners import (
    OnlineExpertRun,
    RelabellingResult,
    agnostic_relabelling_learner,
    online_expert_run,
)

__all__ = [
    "loss_family_membership",
    "FamilyMembership",
    "agnostic_relabelling_learner",
    "RelabellingResult",
    "online_expert_run",
    "OnlineExpertRun",
]
