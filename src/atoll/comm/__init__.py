"""Communicators of three kinds, and the current world.

``communicator`` defines the interface; ``single``, ``mpi`` and ``simulated`` implement it; ``launcher`` detects from
the environment how this process was started; ``world`` combines them into ``atoll.world``.
"""
