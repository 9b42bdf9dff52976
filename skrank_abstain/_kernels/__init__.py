"""Compiled arithmetic on the score differences of items of one query.

In a *difference model* everything follows from ``|d| = |s_i - s_j|``, so the scores
sorted within each query are enough, and no pair is stored. The modules here import
nothing else of this package; nearly all import numba, which takes a second, so callers
import them where they are used.

Conventions: ``scores`` (n,) float64 are grouped by query and ascend within each;
``offsets`` (n_queries + 1,) int64 delimit the queries; ``grades`` (n,) int64 are
dense ranks of relevance aligned with ``scores``. The difference of a pair is the
rounded float64 ``s_hi - s_lo``, never negative; where it overflows it is infinite. A
pair is *concordant* if its higher-scored item has the higher grade, *discordant* if the
lower, and *tied* if the grades are equal. Scores no further apart than a tolerance
carry no order.

Kernels are serial, release the GIL and work on a range of queries. Drivers hand the
ranges to threads and add the results in order, so that the number of threads changes
nothing. Drivers also allocate, sort and search arrays where possible: each such call
inside a kernel takes longer to compile than its loops. Inner loops index slices from 0,
because the compiler does not vectorise loops whose index may count from the end. A
kernel calls only kernels of its own module: the cache on disk notices changes of that
file alone. Arrays named ``out`` must not overlap the inputs.
"""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
BitArray = NDArray[np.uint64]
