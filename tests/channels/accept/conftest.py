import pytest


@pytest.fixture(params=["redis", "postgres"])
def store(request: pytest.FixtureRequest) -> str:
    """Both must give the same answers."""
    if request.param == "postgres":
        request.getfixturevalue("no_redis")
    return str(request.param)
