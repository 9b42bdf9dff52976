"""Which losses can be learned by learning another, and learners that do so."""

from skrank_abstain.multilabel.learners._classes import bin_rel
from skrank_abstain.multilabel.learners._complexity import (
    empirical_rademacher_complexity,
    littlestone_dimension,
    rademacher_bound,
    vc_dimension,
)
from skrank_abstain.multilabel.learners._experts import OnlineExpertRun
from skrank_abstain.multilabel.learners._families import (
    FamilyMembership,
    loss_family_membership,
)
from skrank_abstain.multilabel.learners._online import (
    online_expert_run,
    online_threshold_run,
)
from skrank_abstain.multilabel.learners._relabelling import (
    RelabellingResult,
    ThresholdRelabellingResult,
    agnostic_relabelling_learner,
    threshold_relabelling_learner,
)

__all__ = [
    "loss_family_membership",
    "FamilyMembership",
    "bin_rel",
    "agnostic_relabelling_learner",
    "RelabellingResult",
    "threshold_relabelling_learner",
    "ThresholdRelabellingResult",
    "online_expert_run",
    "online_threshold_run",
    "OnlineExpertRun",
    "empirical_rademacher_complexity",
    "rademacher_bound",
    "vc_dimension",
    "littlestone_dimension",
]
