import pytest

# Its assertions are the tests'; pytest explains only those of files that it is told of.
pytest.register_assert_rewrite("guide_cases")
