"""Why a release gives no server to call."""


class LoadError(Exception):
    """The bundle's code gives no server. `code` and `hint` as in PlatformError; `__cause__` is the reason, if any."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint
