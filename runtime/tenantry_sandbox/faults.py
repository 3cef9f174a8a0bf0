"""Why a release gives no server to call, or a hosted server no answer."""


class LoadError(Exception):
    """The bundle's code gives no server. `code` and `hint` as in PlatformError; `__cause__` is the reason, if any."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint


class TooSlow(Exception):
    """A hosted server did not answer in time; it was told to stop and lives on."""
