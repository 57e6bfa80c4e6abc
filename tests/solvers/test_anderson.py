"""Anderson acceleration on linear iterations, whose fixed point is known."""

from __future__ import annotations

import numpy as np

from spark_mlfs.solvers.anderson import Anderson, affine_extrapolation


def iteration(d=4, seed=1):
    """A contraction x ← Mx + b with few distinct directions, and its fixed point."""
    rng = np.random.default_rng(seed)
    M = 0.3 * rng.normal(size=(d, d)) / np.sqrt(d) + 0.5 * np.eye(d)
    b = rng.normal(size=d)
    return lambda x: M @ x + b, np.linalg.solve(np.eye(d) - M, b)


def test_a_linear_iteration_is_solved_once_there_are_as_many_iterates_as_unknowns():
    step, goal = iteration()
    memory, x = Anderson(), np.zeros(4)
    guesses = []
    for _ in range(7):
        image = step(x)
        memory.add(image, image - x)
        guesses.append(memory.guess())
        x = image
    assert guesses[0] is None and guesses[1] is None
    plain = np.linalg.norm(x - goal)
    assert np.linalg.norm(guesses[-1] - goal) < 1e-4 * plain
    errors = [np.linalg.norm(guess - goal) for guess in guesses[2:]]
    assert errors[-1] < 0.01 * errors[0]


def test_memory_is_bounded_and_can_be_forgotten_and_restricted():
    memory = Anderson()
    for i in range(40):
        memory.add(np.array([i, 2.0 * i]), np.array([1.0, -1.0]) / (1 + i))
    assert [v[0] for v in memory.images] == list(range(29, 40))
    memory.restrict(np.array([False, True]))
    assert [v.tolist() for v in memory.images] == [[2.0 * i] for i in range(29, 40)]
    assert memory.residuals[-1].tolist() == [-1 / 40]
    memory.forget(1)
    assert (
        [v.tolist() for v in memory.images] == [[78.0]]
        and len(memory.residuals) == 1
        and memory.guess() is None
    )
    memory.forget()
    assert not memory.images and not memory.residuals


def test_iterates_that_do_not_move_give_no_guess():
    memory = Anderson()
    for _ in range(4):
        memory.add(np.ones(3), np.zeros(3))
    assert memory.guess() is None


def test_affine_extrapolation_solves_a_linear_iteration():
    step, goal = iteration()
    points = [np.zeros(4)]
    for _ in range(5):
        points.append(step(points[-1]))
    guess = affine_extrapolation(np.array(points))
    assert np.linalg.norm(guess - goal) < 1e-3 * np.linalg.norm(points[-1] - goal)
    assert affine_extrapolation(np.ones((6, 4))) is None
