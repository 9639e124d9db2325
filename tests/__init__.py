"""The tests of atoll, and the bench they run on (tests/bench, docs/contributors/testing.md)."""
