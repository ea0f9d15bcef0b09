"""Telling a receiver of an alert: by a webhook or by mail."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import smtplib
import ssl
import urllib.error
from dataclasses import asdict, dataclass
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from http.client import HTTPException

from anabranch.errors import AnabranchError, ClusterError
from anabranch.model.secrets import SecretRef
from anabranch.service.posting import post
from anabranch.streams.alerts.jobs import AlertedJob

TIMEOUT_S = 10.0
SIGNATURE = "X-Anabranch-Signature"


@dataclass(frozen=True, slots=True)
class AlertNotice:
    """What is told: ``state`` is ``firing`` or ``over``; ``id`` is the same however often it is told.

    ``since_ms`` is when it came into its state, ``link`` its page where the service knows its own address.
    With a ``target`` it is of the link of that name to it, else of a stream; a link has no owner.
    """

    id: str
    stream: str
    target: str
    alert: str
    query: str
    state: str
    since_ms: int
    words: str
    owner: str
    link: str


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address that takes a notice as JSON; with a secret the body is signed (HMAC-SHA256, in hex)."""

    url: str
    secret: SecretRef | None = None


@dataclass(frozen=True, slots=True)
class Mail:
    """A mail server, and whom to write to; ``tls`` is ``starttls``, ``tls`` or ``none``."""

    host: str
    port: int
    sender: str
    to: tuple[str, ...]
    tls: str = "starttls"
    user: str = ""
    password: SecretRef | None = None
    ca: str | None = None


@dataclass(eq=False)
class NotToldError(ClusterError):
    """A receiver of alerts did not take one."""

    receiver: str
    why: str

    _message = "receiver {receiver} of alerts took nothing: {why}"
    _hint = "it is tried again; see its address in the service's file"


async def send(name: str, receiver: Webhook | Mail, notice: AlertNotice) -> None:
    """Tell a receiver; raises NotToldError."""
    try:
        if isinstance(receiver, Webhook):
            await asyncio.to_thread(_post, receiver, notice)
        else:
            await asyncio.to_thread(_mail, receiver, notice)
    except AnabranchError as error:
        raise NotToldError(name, error.message) from error
    except urllib.error.HTTPError as error:
        raise NotToldError(name, f"it answered {error.code}") from error
    except (OSError, HTTPException, smtplib.SMTPException, ValueError) as error:
        raise NotToldError(name, str(error) or type(error).__name__) from error


def subject_of(notice: AlertNotice) -> str:
    """One line that says it all."""
    what = {"firing": notice.alert, "over": f"{notice.alert} is over"}.get(notice.state, notice.alert)
    return f"{AlertedJob(notice.stream, notice.target).words}: {what}" + (f" ({notice.query})" if notice.query else "")


def _post(receiver: Webhook, notice: AlertNotice) -> None:
    body = json.dumps(asdict(notice), ensure_ascii=False).encode()
    headers = {}
    if receiver.secret is not None:
        digest = hmac.new(receiver.secret.resolve().reveal().encode(), body, hashlib.sha256).hexdigest()
        headers[SIGNATURE] = f"sha256={digest}"
    post(receiver.url, body, headers, TIMEOUT_S)


def _mail(receiver: Mail, notice: AlertNotice) -> None:
    message = EmailMessage()
    message["Subject"] = subject_of(notice)
    message["From"] = receiver.sender
    message["To"] = ", ".join(receiver.to)
    message["Date"] = formatdate(usegmt=True)
    message["Message-ID"] = make_msgid(notice.id, domain="anabranch")
    owner = [f"owner: {notice.owner}"] if notice.owner else []
    lines = [notice.words, "", *owner, *([notice.link] if notice.link else [])]
    message.set_content("\n".join(lines) + "\n")
    context = ssl.create_default_context(cafile=receiver.ca)
    address = receiver.host, receiver.port
    if receiver.tls == "tls":
        server: smtplib.SMTP = smtplib.SMTP_SSL(*address, timeout=TIMEOUT_S, context=context)
    else:
        server = smtplib.SMTP(*address, timeout=TIMEOUT_S)
    with server:
        if receiver.tls == "starttls":
            server.starttls(context=context)
        if receiver.user and receiver.password is not None:
            server.login(receiver.user, receiver.password.resolve().reveal())
        server.send_message(message)
