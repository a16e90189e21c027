"""Letters to users and operators, where mail is configured. Where it is not, links are shown to whoever asked."""

import smtplib
import ssl
from dataclasses import dataclass
from email.message import EmailMessage
from urllib.parse import unquote, urlsplit

import anyio.to_thread

from comfyfleet.kernel.errors import Unavailable
from comfyfleet.kernel.secret import Secret

SMTP_TIMEOUT_S = 10


@dataclass(frozen=True)
class Postbox:
    """`smtp://`, `smtp+starttls://` or `smtps://`, with user and password where the server wants them."""

    url: Secret
    sender: str

    async def send_link(self, *, to: str, subject: str, link: str) -> None:
        letter = EmailMessage()
        letter["From"], letter["To"], letter["Subject"] = self.sender, to, subject
        letter.set_content(f"Choose your password here:\n\n{link}\n\nThe link works once. Did not ask? Ignore it.\n")
        await self.send_letter(letter)

    async def send_letter(self, letter: EmailMessage) -> None:
        """Raises Unavailable where the mail server does not take it."""
        try:
            await anyio.to_thread.run_sync(self._deliver, letter, abandon_on_cancel=True)
        except OSError as error:  # smtplib's own errors included
            raise Unavailable("The mail server did not take the letter. Ask for a new link later.") from error

    def _deliver(self, letter: EmailMessage) -> None:
        where = urlsplit(self.url.reveal())
        host, secure = where.hostname or "localhost", ssl.create_default_context()
        with (
            smtplib.SMTP_SSL(host, where.port or 465, timeout=SMTP_TIMEOUT_S, context=secure)
            if where.scheme == "smtps"
            else smtplib.SMTP(host, where.port or 587, timeout=SMTP_TIMEOUT_S)
        ) as server:
            if where.scheme == "smtp+starttls":
                server.starttls(context=secure)
            if where.username:
                server.login(unquote(where.username), unquote(where.password or ""))
            server.send_message(letter)
