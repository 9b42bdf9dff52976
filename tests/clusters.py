"""Small Dask clusters on this machine."""

import pytest


def local_cluster(processes=False):
    """Two workers of one thread, in this process or in two others."""
    distributed = pytest.importorskip("distributed")
    return distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=processes,
        dashboard_address=":0",
    )
