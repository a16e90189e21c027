"""Was a connection refused? Then nothing listens at that port, and the server does not run. Silence proves neither."""

import errno
import re

_ERRNO = re.compile(r"\[Errno (\d+)\]")


def was_refused(error: BaseException) -> bool:
    """Looks through the causes. A name with several addresses is refused when each of them is."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, BaseExceptionGroup):
            return all(was_refused(each) for each in seen.exceptions)
        if isinstance(seen, ConnectionRefusedError) or _all_refused(seen):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def _all_refused(error: BaseException) -> bool:
    """asyncio joins the errors of several addresses into the text of one."""
    if not isinstance(error, OSError) or error.errno is not None:
        return False
    return {int(each) for each in _ERRNO.findall(str(error))} == {errno.ECONNREFUSED}
