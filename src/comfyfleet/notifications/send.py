"""One try: a signed POST, or a letter. Never raises for what the receiver does."""

import asyncio
import time
from email.message import EmailMessage

import httpx2

from comfyfleet.kernel.errors import Unavailable
from comfyfleet.notifications.message import mail_subject, mail_text, message_id
from comfyfleet.notifications.model import ChannelKind, DueNotification
from comfyfleet.tenants import Postbox
from comfyfleet.webhooks import Sent, SignedMessage, send_signed

MAIL_WITHIN_S = 30.0
ACCEPTED = 250
NO_MAIL = "No mail server is configured (COMFYFLEET_SMTP_URL)."


async def send_notification(client: httpx2.AsyncClient, postbox: Postbox | None, due: DueNotification) -> Sent:
    if due.channel_kind is ChannelKind.MAIL:
        return await _by_mail(postbox, due)
    if due.secret is None:  # the database refuses such a row
        return Sent(None, "The channel has no secret to sign with.", 0)
    about = str(due.channel_id)
    return await send_signed(client, SignedMessage(message_id(due.id), due.target, due.secret, due.payload, about))


async def _by_mail(postbox: Postbox | None, due: DueNotification) -> Sent:
    if postbox is None:
        return Sent(None, NO_MAIL, 0)
    began = time.monotonic()
    try:
        async with asyncio.timeout(MAIL_WITHIN_S):
            await postbox.send_letter(_letter(postbox.sender, due))
        status, error = ACCEPTED, None
    except TimeoutError:
        status, error = None, "The mail server did not take it in time."
    except Unavailable:
        status, error = None, "The mail server did not take it."
    return Sent(status, error, round((time.monotonic() - began) * 1000))


def _letter(sender: str, due: DueNotification) -> EmailMessage:
    letter = EmailMessage()
    letter["From"], letter["To"], letter["Subject"] = sender, due.target, mail_subject(due.payload)
    # The same over all tries: mail servers and people see that it came twice.
    letter["Message-ID"] = f"<{message_id(due.id)}@{sender.rpartition('@')[2]}>"
    letter["Auto-Submitted"] = "auto-generated"
    letter.set_content(mail_text(due.payload))
    return letter
