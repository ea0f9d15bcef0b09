"""What the service itself refuses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from anabranch.errors import ClusterError, RefusedError


@dataclass(eq=False)
class NotSignedInError(RefusedError):
    """A request without a token that is somebody's."""

    why: str

    _message = "not signed in: {why}"
    _hint = "send a token: `Authorization: Bearer TOKEN`; an admin makes one by `anabranch token create`"


@dataclass(eq=False)
class NotPermittedError(RefusedError):
    """The account's role does not allow it."""

    account: str
    role: str
    needed: str

    _message = "{account} has the role {role}; this needs {needed}"
    _hint = "ask somebody with the role {needed}, or an admin for that role"


class PlanStandsError(RefusedError):
    """Who applied a plan may not, and nothing was done: somebody else may apply it."""


@dataclass(eq=False)
class CrossSiteError(RefusedError):
    """A browser sent it for a page of another site."""

    origin: str

    _message = "a page of {origin} asked for this in the name of who is signed in"
    _hint = "open the service's own page"


@dataclass(eq=False)
class TooManyRequestsError(RefusedError):
    """Somebody asks more often than the service answers."""

    retryable: ClassVar[bool] = True
    who: str
    wait_s: int

    _message = "{who} has asked too often"
    _hint = "ask again in {wait_s} s"


@dataclass(eq=False)
class TooLargeError(RefusedError):
    """The body of a request is larger than any that is meant."""

    most: int

    _message = "the body of the request has more than {most:,} bytes"
    _hint = "send less at once"


@dataclass(eq=False)
class NotActingError(RefusedError):
    """Another instance acts: this one only shows."""

    retryable: ClassVar[bool] = True
    holder: str

    @property
    def message(self) -> str:
        return f"the instance {self.holder} acts, this one only shows" if self.holder else "no instance acts just now"

    _hint = "ask that instance, or wait: this one acts within 20 s after that one ends"


@dataclass(eq=False)
class PathNotOpenError(RefusedError):
    """A path that lies outside of what the service was given."""

    path: str
    roots: tuple[str, ...]

    _message = "the service does not open {path}"

    @property
    def hint(self) -> str:
        if not self.roots:
            return "start it with `anabranch serve --checkpoints DIRECTORY` to have it rewrite checkpoints there"
        return f"name a path below {', '.join(self.roots)}"


@dataclass(eq=False)
class OperationLostError(RefusedError):
    """The instance that carried an operation out is gone, or ended before it.

    ``goes_on`` is the command that shows what may go on without it.
    """

    instance: str = ""
    goes_on: str = ""

    @property
    def message(self) -> str:
        who = f"the instance {self.instance}" if self.instance else "the instance that carried it out"
        return f"{who} ended: how far it came is not known"

    @property
    def hint(self) -> str:
        if self.goes_on:
            return f"what it began goes on without it: `{self.goes_on}`; what is planned again is not done twice"
        return (
            "look at what it was about (`anabranch migrate status`, `anabranch route switches`, `anabranch link "
            "show`): what was begun for a wave, and a switch, go on by themselves; anything else is planned again: "
            "what is done already is not done twice"
        )


@dataclass(eq=False)
class NoRoutesError(RefusedError):
    """A client asks for its route, and nobody has published a table."""

    code: str

    _message = "no route table has been published yet, so cluster code {code!r} leads nowhere"
    _hint = "publish one: `anabranch route apply -f FILE --reason WHY --execute`"


@dataclass(eq=False)
class GoneContextError(RefusedError):
    """The route table leads to a cluster that the contexts file no longer has."""

    cluster: str

    _message = "the route table leads to cluster {cluster!r}, which is no context of the service"
    _hint = "anabranch context add {cluster} --bootstrap HOST:PORT"


@dataclass(eq=False)
class SplitGroupError(RefusedError):
    """A consumer would be on another cluster than live members of its group."""

    group: str
    cluster: str
    member: str
    other: str

    _message = "group {group} would be split: this consumer is led to {cluster}, and {member} is on {other}"
    _hint = "have the rules match the whole group: `anabranch route clients --group {group}` has its members"


@dataclass(eq=False)
class UnknownClientError(RefusedError):
    """This instance knows no such client: it never registered here, or was not seen for long."""

    id: str

    _message = "client {id} is not registered here"
    _hint = "register it: PUT /api/v1/clients/{id}"


@dataclass(eq=False)
class NotItsAccountError(RefusedError):
    """A client belongs to the account that registered it."""

    id: str
    account: str

    _message = "client {id} was not registered by {account}"
    _hint = "use the token of the account that registered it, or draw another id"


@dataclass(eq=False)
class TooManyClientsError(RefusedError):
    """An instance knows as many clients as it can."""

    retryable: ClassVar[bool] = True
    most: int

    _message = "this instance knows {most:,} clients, and takes no more"
    _hint = "start another instance on the same store, and lead some applications there"


@dataclass(eq=False)
class NoReportError(RefusedError):
    """A comparison has not made its report yet, or ended without one."""

    link: str
    run: str

    _message = "{run} of link {link!r} has no report"
    _hint = "a comparison makes it as it ends: `anabranch verify show {link} --watch`"


@dataclass(eq=False)
class NoSwitchError(RefusedError):
    """A client answers a switch that is not under way."""

    switch: str

    _message = "there is no switch {switch} under way"
    _hint = "go on by the last route"


@dataclass(eq=False)
class SwitchOverError(RefusedError):
    """A switch is to be given up that has ended, or never was."""

    switch: str

    _message = "switch {switch} is not under way"
    _hint = "see how it ended: `anabranch route switches`"


@dataclass(eq=False)
class SwitchPublishedError(RefusedError):
    """A switch is to be given up whose table is published: clients are on the new cluster."""

    switch: str
    version: int

    _message = "switch {switch} has published version {version}, and is not given up any more"
    _hint = "go back by a switch of its own: `anabranch route rollback`"


@dataclass(eq=False)
class SwitchBoundError(RefusedError):
    """A switch is to be given up whose migration has passed its point of no return: it counts on paused clients."""

    switch: str
    run: str

    _message = "switch {switch} is of run {run} of a migration, which goes on with it: it is not given up any more"
    _hint = "let the migration go on, and go back by it: `anabranch migrate reverse`"


@dataclass(eq=False)
class NotReadYetError(ClusterError):
    """Nothing has been read of a cluster since the service started."""

    retryable: ClassVar[bool] = True
    cluster: str
    why: str = ""

    @property
    def message(self) -> str:
        told = f"nothing has been read of the cluster {self.cluster} yet"
        return f"{told}: {self.why}" if self.why else told

    _hint = "wait some seconds; `anabranch context test {cluster}` says whether it can be reached"


@dataclass(eq=False)
class NotJsonError(RefusedError):
    """The body of a request is not what it has to be."""

    kind: str

    _message = "the body is {kind}, not JSON"
    _hint = "send it with `Content-Type: application/json`"


@dataclass(eq=False)
class NotBytesError(RefusedError):
    """The body of a request is a file, and was not sent as one."""

    kind: str

    _message = "the body is {kind}, not the bytes of a file"
    _hint = "send it with `Content-Type: application/octet-stream`"


@dataclass(eq=False)
class WrongHostError(RefusedError):
    """A request addresses the service by a name that it does not have: a page of another site may have sent it."""

    host: str

    _message = "this service is not {host}"
    _hint = "open it by its own address; behind a proxy start it with `public_url` in its file"


@dataclass(eq=False)
class LoginRefusedError(RefusedError):
    """A login through the provider did not come to an end."""

    why: str

    _message = "not signed in: {why}"
    _hint = "sign in again; an admin gives roles by the provider's groups, or makes a token"


@dataclass(eq=False)
class ProviderError(ClusterError):
    """The provider cannot be reached, or answers what it may not."""

    retryable: ClassVar[bool] = True
    issuer: str
    why: str

    _message = "the provider {issuer} cannot be used: {why}"
    _hint = "sign in with a token meanwhile; correct `oidc` in the service's file"


@dataclass(eq=False)
class NoLineageError(RefusedError):
    """No job of a stream has told its lineage."""

    stream: str

    _message = "nobody knows the lineage of stream {stream!r} yet: its job tells it as it starts"
    _hint = "start it: `anabranch stream start {stream}`"


@dataclass(eq=False)
class NoStreamLogError(RefusedError):
    """The log of a run cannot be shown here."""

    stream: str
    run: str
    why: str

    _message = "the log of {run} of stream {stream!r} is not here: {why}"
    _hint = "list the runs: `anabranch stream show {stream}`; a log is on the machine that ran it"
