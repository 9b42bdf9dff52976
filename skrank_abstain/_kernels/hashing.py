"""Kernel that hashes rows of 64-bit values in one pass."""

from skrank_abstain._kernels import BitArray
from skrank_abstain._kernels.compiling import jit
from skrank_abstain._kernels.mixing import mix

_mix = jit(mix)  # of one number, compiled


@jit
def add_row_hashes(bits: BitArray, salt: BitArray, out: BitArray) -> None:
    """Add the sum of each row's mixed values to ``out``, shape (n_rows,).

    ``bits`` has the shape (n_rows, n_columns), ``salt`` (n_columns,).
    """
    for row in range(bits.shape[0]):
        total = out[row]
        for column in range(bits.shape[1]):
            total += _mix(bits[row, column] + salt[column])
        out[row] = total
