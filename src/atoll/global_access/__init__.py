"""Global access: any rank reads and writes any part of an array, at any time, without the other ranks.

``regions`` turns an index into parts of ranks' blocks, ``placement`` puts the blocks into a window of the communicator,
``onesided`` has the operations, and ``tasks`` distributes work by a shared counter.
"""
