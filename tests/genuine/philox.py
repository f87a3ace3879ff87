"""Random numbers of PyTorch's Metal kernels (c10/metal/random.h): Philox-4x32, nine rounds, of seed and index."""

import numpy as np

FACTORS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 9
LOW = np.uint64(0xFFFFFFFF)
HIGH = np.uint64(32)
EPSILON = np.float32(2.0**-23)
PI = np.float32(np.pi)


def philox(seed: int, index: np.ndarray) -> np.ndarray:
    """Four words for each index."""
    index = np.asarray(index, dtype=np.int64).view(np.uint64)
    zero = np.zeros_like(index)
    x, y, z, w = zero, zero, index >> HIGH, index & LOW
    key = [np.uint64((seed >> 32) & 0xFFFFFFFF), np.uint64(seed & 0xFFFFFFFF)]
    for _ in range(ROUNDS):
        first, second = np.uint64(FACTORS[0]) * x, np.uint64(FACTORS[1]) * z
        x, y, z, w = (second >> HIGH) ^ y ^ key[0], second & LOW, (first >> HIGH) ^ w ^ key[1], first & LOW
        key = [(k + np.uint64(step)) & LOW for k, step in zip(key, WEYL, strict=True)]
    return np.stack([x, y, z, w], -1).astype(np.uint32)


def uniform(words: np.ndarray) -> np.ndarray:
    """In [0, 1), of the lower 31 bits."""
    return (words & np.uint32(0x7FFFFFFF)).astype(np.float32) * np.float32(4.6566127342e-10)


def normal_pairs(words: np.ndarray) -> np.ndarray:
    """Box and Muller's: two normal numbers of every two words. Angles are float32, all else is exact."""
    u = uniform(words)
    radius = np.sqrt(-2 * np.log(np.maximum(u[..., 0::2], EPSILON).astype(np.float64)))
    angle = (np.float32(2) * PI * u[..., 1::2]).astype(np.float64)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1).reshape(words.shape)
