"""Cosine ranking over the open shelves: a matrix product preselects, an exact inner product decides. Notebook 02."""

from __future__ import annotations

import numpy as np

from labsupport.embedding import inner
from labsupport.namespace import OpenShelves


def scores(shelves: OpenShelves, vector: np.ndarray, *, among: np.ndarray | None,
           limit: int | None) -> tuple[np.ndarray, np.ndarray, int]:
    """Rows with a positive cosine, their cosines (float64), and how many vectors were read.

    `vector` is L2-normed float32 (dimensions,). `among`, ascending, restricts the reading to those rows. With a `limit`, at
    least the best `limit` rows are returned with all ties. A score is a function of the two vectors alone, bit for bit.
    """
    numbers, matrices = [np.zeros(0, np.int64)], [np.zeros((0, len(vector)), np.float32)]
    floors: list[np.ndarray] = [np.zeros(0, np.float32)]
    read = 0
    # The rounding of a float32 product of unit vectors stays far below this, whatever its order of summation.
    slack = 4 * len(vector) * float(np.finfo(np.float32).eps)
    borders = None if among is None else np.searchsorted(among, shelves.offsets).tolist()
    for number, (shelf, offset) in enumerate(zip(shelves.shelves, shelves.offsets)):
        inside = None if borders is None else among[borders[number]:borders[number + 1]] - offset
        vectors = shelf.vectors if inside is None else shelf.vectors[inside]
        read += len(vectors)
        with np.errstate(invalid="ignore"):  # all numbers are finite; a library may raise the flag over lanes that it pads
            near = vectors @ vector
        keep = near > -slack
        if limit is not None and keep.sum() > limit:
            keep &= near >= np.partition(near, len(near) - limit)[len(near) - limit] - slack
        picked = np.flatnonzero(keep)
        floors.append(near[picked])
        matrices.append(vectors[picked])
        numbers.append((picked if inside is None else inside[picked]) + offset)
    near, rows = np.concatenate(floors), np.concatenate(numbers)
    matrix = np.concatenate(matrices)
    if limit is not None and len(near) > limit:
        keep = near >= np.partition(near, len(near) - limit)[len(near) - limit] - 2 * slack
        rows, matrix = rows[keep], matrix[keep]
    exact = inner(matrix, vector)
    return rows[exact > 0], exact[exact > 0], read
