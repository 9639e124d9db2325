"""Who is there, and how they talk: communicators of three kinds, and the current world.

``communicator`` is the interface; ``single``, ``mpi`` and ``simulated`` are its kinds;
``launcher`` recognises from the environment how this process was started; ``world`` puts
them together into ``atoll.world``.
"""
