"""What tests the compiled backend itself is left out where another backend computes."""

from atoll import backend

if backend.current().name != "llvm":
    collect_ignore_glob = ["test_*.py"]
