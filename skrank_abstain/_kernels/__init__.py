"""Compiled arithmetic on the score differences of items of one query.

In a *difference model* everything follows from ``|d| = |s_i - s_j|``, so the scores
sorted within each query say all there is to know, and no pair is ever stored. The
modules here import nothing of this package; importing them imports numba, which
takes a second, so callers import them where they are used.

Conventions: ``scores`` (n,) float64 are grouped by query and ascend within each;
``offsets`` (n_queries + 1,) int64 delimit the queries; ``grades`` (n,) int64 are
dense ranks of relevance aligned with ``scores``. The difference of a pair is the
rounded float64 ``s_hi - s_lo``, never negative; it is infinite where it overflows,
and then it is the largest difference there is. A pair is *concordant* if its
higher-scored item has the higher grade, *discordant* if the lower, and *tied* if the
grades are equal. Scores no further apart than a tolerance carry no order.

Kernels are serial, release the GIL and work on a range of queries; drivers hand the
ranges to threads and add the integer results in order, so that the number of threads
changes nothing. Drivers make, sort and search arrays, as far as that can be: each such
call inside a kernel takes longer to compile than its loops. Inner loops index slices
from 0: where an index may count from the end loops are not vectorised. A kernel calls
only kernels of its own module: the cache on disk notices a change of that file and of
no other.
"""
