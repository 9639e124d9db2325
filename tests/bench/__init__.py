"""The test bench: tests on real and on simulated ranks, each with a time limit.

A pytest plugin in nine modules:

- ``plugin``: the markers, the fixtures and the order of the tests;
- ``tiers``: which tests a run leaves out;
- ``pool``: the controller's side of a pool of MPI ranks that runs many tests;
- ``worker``: a rank's side, which is pytest again, with a loop that takes commands;
- ``verdict``: from what each rank reported to one report that names the ranks;
- ``limits``: the time limit of tests in the controller's own process;
- ``beside``: a second process that takes some of the tests that need no MPI;
- ``processes``: what each process that runs tests is started with;
- ``bytecode``: where the many processes of a run keep their compiled Python.

``docs/contributors/testing.md`` says how to write tests with it.
"""
