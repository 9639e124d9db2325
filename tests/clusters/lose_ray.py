"""What each way in and out says once the head of the cluster is lost, a line each.

    python -m tests.clusters.lose_ray

A process of its own, which leaves without a goodbye: Ray ends the whole process when its goodbye
to a lost cluster takes it too long, and so does any of its own calls after a minute.
"""

from __future__ import annotations

import os
import time

from .starting import ray_cluster


def main() -> None:
    cluster = ray_cluster()
    # (after the import above, which sets the token that Ray reads when it is imported)
    import numpy as np
    import ray

    import atoll
    from atoll.errors import ClusterError
    from atoll.interchange.ray import gather

    ray.init(address=cluster.address, log_to_driver=False, logging_level="error")

    @ray.remote(num_cpus=0)
    def slow() -> None:
        time.sleep(60)

    refs, never = [ray.put(np.zeros(3))], [slow.remote()]
    cluster.kill()
    for call in (
        lambda: atoll.from_ray(refs, (3,), (1,)),
        lambda: atoll.from_ray(never, (3,), (1,)),
        lambda: atoll.to_ray(np.ones(3)),
        lambda: gather(refs),
    ):
        try:
            call()
        except ClusterError as error:
            print(str(error).replace("\n", " "), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
