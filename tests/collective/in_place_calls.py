"""Lines that change operands in place, for NumPy and for arrays on ranks; see ``argument_calls``."""

CHANGES = """
A.flat[3] = 9
A.flat[-1] = [7, 8]
A.flat[2:30:3] = V
A.flat[2:30:3] = [1, 2]
A.flat[[1, 2, 2]] = [5, 6, 7]
A.flat = V
A.flat = 3
A.T.flat[3:9] = V[:2]
A[1:].flat[:4] = K[:4]
I.flat[:3] = 2.7
A.flat[99] = 1
A.flat[True] = 1
A.flat[()] = 1
A.flat[[True, False]] = 1
V.flat[[True] * 11] = 1
V.flat[B[:5]] = 1
V.flat[[0.5]] = 1
V.flat[B] = -1
np.add.at(A, [0, 0, 3], 1)
np.add.at(A, (K[:5], [0, 1, 2, 3, 0]), V[:5])
np.add.at(V, K, 2)
np.maximum.at(V, K, 0.5)
np.add.at(I, [1, 1], 2.5)
np.add.at(V, [30], 1)
np.add.at(I8, [0], I8[0])
np.subtract.at(V, K, V)
np.multiply.at(A[::2], [0, 1], 3)
np.add.at(V, B, 1.0)
np.negative.at(V, [1, 1])
A.sort(0)
A.sort(None)
V.sort()
A.partition(2)
Z.imag = 3
Z.imag = A
Z.real[1:3] = 5
Z.imag[:, 1] = V[:7]
A.fill(4)
np.put(A, [1, 40 - 6], 9)
np.put(A, [99], 9)
np.put(A, [99], 9, mode="wrap")
np.fill_diagonal(A, V[:3], wrap=True)
np.fill_diagonal(A, [1, 2])
np.fill_diagonal(A.T, 5)
np.place(A, A > 0, [1, 2])
np.copyto(A, V[:5], where=A > 0)
np.copyto(A, 2.5, where=[True, False, True, False, True])
np.copyto(I, 2.5, where=A > 0)
np.copyto(I, 2.5, casting="unsafe", where=A > 0)
np.putmask(A, A > 0, V)
np.random.default_rng(3).shuffle(A)
np.random.default_rng(3).shuffle(A, axis=1)
np.random.default_rng(3).shuffle(V[2:8])
np.add(A, 1, out=A, where=A > 0)
np.add(A[1:], 1, out=A[1:], where=A[1:] > 0)
np.add(A, 1, out=A, where=A[0] > 0)
np.cumsum(A, 1, out=A)
np.cumsum(A[:, 1:], 1, out=A[:, :-1])
np.round(A, 1, out=A)
np.sort(V, out=V)
"""
