import numpy as np

from skrank_abstain._kernels.mixing import mix


def test_mixed_zero_is_the_first_output_of_splitmix64_of_seed_0():
    assert mix(np.zeros(1, dtype=np.uint64)).tolist() == [0xE220A8397B1DCDAF]


def test_the_given_numbers_stay():
    bits = np.arange(5, dtype=np.uint64)
    mixed = mix(bits)
    assert bits.tolist() == [0, 1, 2, 3, 4]
    assert mixed.shape == bits.shape
    assert mixed.dtype == np.uint64


def test_each_bit_of_whole_floats_moves_half_of_the_bits():
    # Whole numbers as floats differ in their highest bits alone.
    numbers = np.arange(1.0, 20_000.0).view(np.uint64)
    mixed = mix(numbers)
    assert np.unique(mixed).size == numbers.size
    for bit in np.uint64(1) << np.arange(52, 63, dtype=np.uint64):
        changed = np.bitwise_count(mixed ^ mix(numbers ^ bit))
        assert abs(changed.mean() - 32) < 0.5
