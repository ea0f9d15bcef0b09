"""What a client that follows a route has, whether it reads or writes: its settings, and its standing."""

from __future__ import annotations

import threading
import weakref
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from anabranch.model.routing import ClientRole, Route, RouteQuery
from anabranch.sdk.config import Settings, merged
from anabranch.sdk.errors import RouteProblemError
from anabranch.sdk.following import Following, Led
from anabranch.sdk.metrics import Counts
from anabranch.sdk.orders import Orders
from anabranch.sdk.session import Session


class RoutedClient(Led):
    """A client of confluent-kafka behind which clusters change.

    ``route_age_s`` is how long ago the route was told; ``route_problem`` why the service leads it nowhere, or None.
    """

    def __init__(
        self, settings: Settings, given: Mapping[str, Any], role: ClientRole, topics: tuple[str, ...], group: str
    ) -> None:
        self._settings, self._given = settings, dict(given)
        self._credentials: dict[str, str] = {}
        self._changed = threading.Condition(threading.RLock())
        self._orders = Orders()
        self._inner: Any = None
        self._counts = Counts()
        self._closed = False
        self.route_problem: RouteProblemError | None = None
        client_id = str(given.get("client.id", ""))
        parameters = {**settings.parameters, "application": settings.application}
        query = RouteQuery(settings.code, role, topics, group, client_id, parameters)
        self._session = Session(settings, query, Following(weakref.ref(self)))
        weakref.finalize(self, self._session.close, 2.0)

    @property
    def route(self) -> Route | None:
        """The route that is followed, None while there is none yet, or a switch holds a client that has just begun."""
        return self._orders.route

    @property
    def route_age_s(self) -> float:
        """How long ago the service told it."""
        return self._session.route_age_s

    def follows(self, route: Route) -> bool:
        """See ``Led``."""
        with self._changed:
            return self._orders.follows(route)

    def reported(self, words: str) -> None:
        """Something went wrong that the application was told, too; it is told by the cluster where the client is."""
        with self._changed:
            here = self._orders.route
            self._counts.failed(words if here is None else f"{here.cluster}: {words}")

    def _reporting(self) -> Callable[[Any], None]:
        """``reported`` as a callback of the library's, which keeps nobody alive."""
        client = weakref.ref(self)

        def failed(error: Any) -> None:
            one = client()
            if one is not None:
                one.reported(str(error))

        return failed

    def _configured(self, target: Route, **more: Any) -> dict[str, Any]:
        """The configuration of a client where a route leads; it holds secrets.  Raises MissingSecretError.

        Credentials that were set since take the place of the login's, and leave its mechanism.
        """
        return {**merged({**self._given, **more}, target), **self._credentials}

    @abstractmethod
    def _usable(self, timeout: float = -1) -> Any:
        """The client of confluent-kafka, where there is one by then; raises SwitchingError."""

    def list_topics(self, *args: Any, **kwargs: Any) -> Any:
        """As confluent-kafka's, with the names of the cluster."""
        return self._usable().list_topics(*args, **kwargs)

    def cluster_id(self, *args: Any, **kwargs: Any) -> Any:
        """As confluent-kafka's."""
        return self._usable().cluster_id(*args, **kwargs)

    def set_sasl_credentials(self, username: str, password: str) -> None:
        """As confluent-kafka's; they hold after a switch, too."""
        self._credentials = {"sasl.username": username, "sasl.password": password}
        if self._inner is not None:
            self._inner.set_sasl_credentials(username, password)
