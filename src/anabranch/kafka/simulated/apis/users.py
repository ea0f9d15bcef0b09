"""The users of whom the cluster keeps SCRAM credentials.

Source: ``KafkaApis.handleDescribeUserScramCredentialsRequest`` and ``ScramImage``, KIP-554.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from kafka.protocol.admin import DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse

from anabranch.kafka.simulated.access import CLUSTER, CLUSTER_NAME, DESCRIBE
from anabranch.kafka.simulated.apis.access import ROUNDS
from anabranch.kafka.simulated.apis.common import may
from anabranch.kafka.simulated.broker import ClientSession, Handler
from anabranch.model.cluster import SaslMechanism

NO_SUCH_USER, ASKED_TWICE = 91, 92
_NUMBERS = {SaslMechanism.SCRAM_SHA_256: 1, SaslMechanism.SCRAM_SHA_512: 2}
_Reply = Callable[[Any], None]


def describe(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """DescribeUserScramCredentials of some users, or of all.

    A broker that has to refuse a request without a list fails over that, and never answers.
    """
    access = session.broker.cluster.access
    code = may(session, DESCRIBE, CLUSTER, CLUSTER_NAME)
    if code and request.users is None:
        return
    known = access.users if access.scram else {}
    asked = Counter([user.name for user in request.users or ()] or list(known))
    row = DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult
    # One row for each user that was asked for, with the refusal and without the name.
    results = [
        row(user="", error_code=code, error_message=None, credential_infos=[]) for _ in request.users or () if code
    ]
    for name, times in asked.items() if not code else ():
        refused = ASKED_TWICE if times > 1 else NO_SUCH_USER if name not in known else 0
        infos = [row.CredentialInfo(mechanism=_NUMBERS[one], iterations=ROUNDS) for one in access.scram]
        results.append(
            row(user=name, error_code=refused, error_message=None, credential_infos=[] if refused else infos)
        )
    reply(
        DescribeUserScramCredentialsResponse(throttle_time_ms=0, error_code=code, error_message=None, results=results)
    )


APIS = (Handler(DescribeUserScramCredentialsRequest, describe),)
