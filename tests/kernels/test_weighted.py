import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kernels import reference
from kernels.grouped import EXAMPLES, cuts_for, grouped

from skrank_abstain._kernels.outcomes import count_outcomes_by_query
from skrank_abstain._kernels.weighted import weigh_outcomes_by_query


@EXAMPLES
@given(st.data())
def test_integer_weights_are_the_products_of_the_definition(draw):
    data = draw.draw(grouped())
    cuts = draw.draw(cuts_for(data))
    tol = draw.draw(st.sampled_from([0.0, 1e-9, 0.5]))
    weights = np.array(
        draw.draw(
            st.lists(
                st.integers(0, 3), min_size=data.scores.size, max_size=data.scores.size
            )
        ),
        dtype=float,
    )
    found = weigh_outcomes_by_query(
        data.scores, data.grades, weights, data.offsets, cuts, tol
    )
    expected = reference.weigh_outcomes_by_query(*data, cuts, tol, weights)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(
        weigh_outcomes_by_query(
            data.scores, data.grades, np.ones(data.scores.size), data.offsets, cuts, tol
        ),
        count_outcomes_by_query(*data, cuts, tol),
    )
