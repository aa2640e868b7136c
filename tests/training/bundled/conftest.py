"""What the tests of the bundled model's training share."""

from __future__ import annotations

import pytest

from anselect.training.bundled import mixture


@pytest.fixture(autouse=True)
def as_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    """No list gets a stuffed text or loses its full stops by chance."""
    monkeypatch.setattr(mixture, "STUFFED", 0.0)
    monkeypatch.setattr(mixture, "WITHOUT_STOP", 0.0)
