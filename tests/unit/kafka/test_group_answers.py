"""What coordinators answer of groups, and what is told of it: positions, refusals, members and rights."""

from __future__ import annotations

import asyncio
import importlib
from collections import deque
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.protocol.admin import DeleteGroupsResponse, DescribeGroupsResponse, ListGroupsResponse
from kafka.protocol.consumer import (
    LeaveGroupResponse,
    OffsetCommitResponse,
    OffsetDeleteResponse,
    OffsetFetchResponse,
)
from kafka.protocol.metadata import MetadataResponse

from anabranch.errors import AnabranchError
from anabranch.kafka.errors import BrokerRefusedError, ConnectionLostError, PermissionDeniedError
from anabranch.kafka.groups import (
    GroupActiveError,
    IllegalGroupNameError,
    MetadataTooLargeError,
    OtherKindError,
    PartitionsRefusedError,
    UnstableCommitsError,
    commit,
    committed,
    coordinators,
    delete_group,
    delete_offsets,
    list_groups,
    listing,
    remove_static,
)
from anabranch.kafka.groups.describing import classic
from anabranch.kafka.groups.listing import ListedGroup
from anabranch.kafka.groups.rights import group_operations
from anabranch.model.acls import AclOperation
from anabranch.model.groups import Commit, Group, GroupKind, GroupState, Member
from anabranch.model.topics import TopicPartition
from tests.unit.kafka.scripted import COORDINATOR, METADATA, Asked, Scripted, answering, names_in
from tests.unit.kafka.scripted import coordinators as told

pytestmark = pytest.mark.unit

FETCH, DESCRIBE, LIST = 9, 15, 16
LISTING = importlib.import_module("anabranch.kafka.groups.listing")
"""By its name: the package has a function of that name."""
OFFSETS = importlib.import_module("anabranch.kafka.groups.offsets")
A, B, C = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
LOST = ConnectionLostError("scripted", "1", "gone")
Codes = Mapping[TopicPartition, int]


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinators, "_PAUSE_S", 0.0)
    monkeypatch.setattr(LISTING, "_PAUSE_S", 0.0)


# -- positions that are read ---------------------------------------------------------------------------


def row(part: Any, at: TopicPartition, offset: int, code: int) -> Any:
    """One partition of an answer."""
    return part(
        partition_index=at.partition,
        committed_offset=offset,
        committed_leader_epoch=4,
        metadata="note" if offset == 7 else None,
        error_code=code,
    )


def fetched(group: Asked | None, offsets: Mapping[TopicPartition, int], code: int = 0, **codes: int) -> Any:
    """The positions of group g, as brokers of either generation write them."""
    rows = []
    many = group is None or group.version >= 8
    kind = OffsetFetchResponse.OffsetFetchResponseGroup.OffsetFetchResponseTopics if many else None
    topic = kind or OffsetFetchResponse.OffsetFetchResponseTopic
    part = topic.OffsetFetchResponsePartitions if many else topic.OffsetFetchResponsePartition
    for at, offset in offsets.items():
        one = row(part, at, offset, codes.get(f"{at.topic}{at.partition}", 0))
        rows.append(topic(name=at.topic, partitions=[one]))
    if not many:
        return OffsetFetchResponse(topics=rows, error_code=code)
    groups = [OffsetFetchResponse.OffsetFetchResponseGroup(group_id="g", topics=rows, error_code=code)]
    return OffsetFetchResponse(groups=groups)


def positions(newest: int, *script: Any, **more: Any) -> tuple[Any, Scripted]:
    """What comes of asking for the positions of g; ``script`` are the keywords of ``fetched`` of each answer."""
    left = deque(script)

    def answer(asked: Asked) -> Any:
        if asked.request.API_KEY != FETCH:
            return None
        found = left.popleft()
        return fetched(asked, **found)

    cluster = Scripted(answer, versions={FETCH: (0, newest)})
    return asyncio.run(committed(cluster, ["g"], **more)), cluster


@pytest.mark.parametrize("newest", [7, 8, 9], ids=["before KIP-709", "KIP-709", "KIP-848"])
def test_each_position_is_told_with_its_note_and_epoch(newest: int) -> None:
    """A partition without one is left out, and no note is an empty one; stable ones alone are asked for."""
    found, cluster = positions(newest, {"offsets": {A: 7, B: -1, C: 0}})
    assert found == {"g": {A: Commit(7, "note", 4), C: Commit(0, "", 4)}}
    (asked,) = cluster.asked
    assert asked.request.require_stable
    assert asked.version == newest
    names = [one.group_id for one in asked.request.groups] if newest > 7 else [asked.request.group_id]
    assert names == ["g"]


@pytest.mark.parametrize("newest", [7, 9], ids=["before KIP-709", "KIP-709"])
@pytest.mark.parametrize("named", [True, False])
def test_partitions_are_named_where_they_are_given(newest: int, named: bool) -> None:
    """Else all are asked for, which is not the same as none."""
    _, cluster = positions(newest, {"offsets": {}}, partitions=[A, C, B] if named else None)
    request = cluster.asked[0].request
    topics = request.groups[0].topics if newest > 7 else request.topics
    if named:
        assert [(one.name, list(one.partition_indexes)) for one in topics] == [("t", [0, 1]), ("u", [0])]
    else:
        assert topics is None


@pytest.mark.parametrize("newest", [7, 9], ids=["before KIP-709", "KIP-709"])
@pytest.mark.parametrize("code", [14, 15, 16])
def test_positions_of_a_group_that_moves_are_asked_for_again(newest: int, code: int) -> None:
    """It is not taken for a group without any."""
    found, cluster = positions(newest, {"offsets": {}, "code": code}, {"offsets": {A: 7}})
    assert found == {"g": {A: Commit(7, "note", 4)}}
    assert len(cluster.asked) == 2


@pytest.mark.parametrize("newest", [7, 9], ids=["before KIP-709", "KIP-709"])
def test_a_group_that_is_not_there_has_no_position(newest: int) -> None:
    """GROUP_ID_NOT_FOUND is an answer."""
    assert positions(newest, {"offsets": {}, "code": 69})[0] == {"g": {}}


@pytest.mark.parametrize("newest", [7, 9], ids=["before KIP-709", "KIP-709"])
@pytest.mark.parametrize(
    ("told", "error", "match"),
    [
        ({"offsets": {}, "code": 30}, PermissionDeniedError, "group g"),
        ({"offsets": {}, "code": 24}, IllegalGroupNameError, "g"),
        ({"offsets": {A: 7, B: -1}, "t1": 29}, PermissionDeniedError, "partition t-1"),
        ({"offsets": {A: 7, C: -1}, "u0": 3}, BrokerRefusedError, "partition u-0"),
    ],
)
def test_positions_that_are_not_told_are_an_error(
    newest: int, told: Any, error: type[AnabranchError], match: str
) -> None:
    """Never a group that has less than it has."""
    with pytest.raises(error, match=match):
        positions(newest, told)


@pytest.mark.parametrize("newest", [7, 9], ids=["before KIP-709", "KIP-709"])
def test_positions_in_open_transactions_are_told_apart(newest: int) -> None:
    """Which they are; the positions of such a group are not told in part."""
    with pytest.raises(UnstableCommitsError) as unstable:
        positions(newest, {"offsets": {A: 7, B: -1, C: -1}, "t1": 88, "u0": 88}, timeout=-1.0)
    assert unstable.value.pending == {"g": (B, C)}
    assert unstable.value.read == {}


def test_positions_in_open_transactions_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then they are what the transaction has left."""
    nap = asyncio.sleep
    monkeypatch.setattr(OFFSETS, "asyncio", SimpleNamespace(sleep=lambda _: nap(0)))
    found, cluster = positions(9, {"offsets": {A: 7, B: -1}, "t1": 88}, {"offsets": {A: 7, B: 9}})
    assert found == {"g": {A: Commit(7, "note", 4), B: Commit(9, "", 4)}}
    assert len(cluster.asked) == 2


# -- positions that are written or taken back ----------------------------------------------------------


def codes(response: Any, of: Codes) -> Any:
    """An answer with a code for each partition."""
    kind = f"{response.__name__}Topic"
    topic = getattr(response, kind)
    part = getattr(topic, f"{response.__name__}Partition")
    rows = [
        topic(name=at.topic, partitions=[part(partition_index=at.partition, error_code=code)])
        for at, code in of.items()
    ]
    return response(topics=rows)


COMMITS = {A: Commit(7, "note", 4), C: Commit(9, "", 4), B: Commit(8, "other", -1)}


def write(*answers: Any) -> Scripted:
    """Commit them."""
    cluster = answering(*answers)
    asyncio.run(commit(cluster, "g", COMMITS))
    return cluster


def test_all_positions_are_committed_in_one_request_by_no_member() -> None:
    """Without leader epochs, which are of another cluster."""
    (asked,) = write(codes(OffsetCommitResponse, dict.fromkeys(COMMITS, 0))).asked
    request = asked.request
    assert (request.group_id, request.member_id, request.generation_id_or_member_epoch) == ("g", "", -1)
    parts = [(topic.name, part) for topic in request.topics for part in topic.partitions]
    found = {
        TopicPartition(name, part.partition_index): Commit(
            part.committed_offset, part.committed_metadata, part.committed_leader_epoch
        )
        for name, part in parts
    }
    assert found == {at: Commit(one.offset, one.metadata, -1) for at, one in COMMITS.items()}
    assert asked.version == 9


@pytest.mark.parametrize("code", [14, 15, 16])
def test_a_commit_that_did_nothing_is_sent_again(code: int) -> None:
    """The coordinator loads, or is another one by now."""
    refused = codes(OffsetCommitResponse, dict.fromkeys(COMMITS, code))
    assert len(write(refused, codes(OffsetCommitResponse, dict.fromkeys(COMMITS, 0))).asked) == 2
    behind = codes(OffsetCommitResponse, {A: 3, C: code, B: code})  # a topic that is gone is told of before
    assert len(write(behind, codes(OffsetCommitResponse, dict.fromkeys(COMMITS, 0))).asked) == 2


@pytest.mark.parametrize(
    ("code", "error"),
    [
        *((code, GroupActiveError) for code in (22, 25, 27, 110, 113)),
        (69, OtherKindError),
        (24, IllegalGroupNameError),
        (30, PermissionDeniedError),
    ],
)
def test_a_commit_that_the_whole_group_refuses_is_told_of_the_group(code: int, error: type[AnabranchError]) -> None:
    """Members, another kind, a name, or a right."""
    with pytest.raises(error) as refused:
        write(codes(OffsetCommitResponse, dict.fromkeys(COMMITS, code)))
    if isinstance(refused.value, GroupActiveError):
        assert (refused.value.group, refused.value.wanted) == ("g", "commit")


def test_a_commit_that_is_refused_in_part_tells_which_part_was_done() -> None:
    """By partition, with the code of each."""
    with pytest.raises(PartitionsRefusedError) as refused:
        write(codes(OffsetCommitResponse, {A: 0, C: 3, B: 12}))
    assert not isinstance(refused.value, MetadataTooLargeError)
    assert (refused.value.refused, refused.value.done) == ({C: 3, B: 12}, (A,))


def test_notes_that_are_too_large_are_told_as_that() -> None:
    """Where nothing else was refused."""
    with pytest.raises(MetadataTooLargeError) as refused:
        write(codes(OffsetCommitResponse, {A: 12, C: 0, B: 12}))
    assert (refused.value.refused, refused.value.done) == ({A: 12, B: 12}, (C,))


def test_nothing_to_commit_or_to_take_back_asks_nobody() -> None:
    """A request without partitions would make the group."""
    cluster = answering()
    asyncio.run(commit(cluster, "g", {}))
    asyncio.run(delete_offsets(cluster, "g", []))
    asyncio.run(remove_static(cluster, "g", []))
    assert cluster.asked == []


def take_back(answer: Any) -> Scripted:
    """Take positions back."""
    cluster = answering(answer)
    asyncio.run(delete_offsets(cluster, "g", [A, C, B]))
    return cluster


def test_positions_are_taken_back_of_the_partitions_that_are_named() -> None:
    """And of a group that is not there, which has none."""
    (asked,) = take_back(codes(OffsetDeleteResponse, {A: 0, B: 0, C: 0})).asked
    assert asked.request.group_id == "g"
    rows = [(one.name, [part.partition_index for part in one.partitions]) for one in asked.request.topics]
    assert rows == [("t", [0, 1]), ("u", [0])]
    take_back(OffsetDeleteResponse(error_code=69))


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (OffsetDeleteResponse(error_code=68), GroupActiveError),
        (OffsetDeleteResponse(error_code=30), PermissionDeniedError),
        (codes(OffsetDeleteResponse, {A: 0, B: 86, C: 0}), GroupActiveError),
        (codes(OffsetDeleteResponse, {A: 0, B: 3, C: 0}), PartitionsRefusedError),
    ],
)
def test_positions_that_are_not_taken_back_are_an_error(answer: Any, error: type[AnabranchError]) -> None:
    """By members that read there, a right, or a topic that is gone."""
    with pytest.raises(error) as refused:
        take_back(answer)
    if isinstance(refused.value, GroupActiveError):
        assert refused.value.wanted == "deletion of offsets"
    if isinstance(refused.value, PartitionsRefusedError):
        assert (refused.value.refused, refused.value.done) == ({B: 3}, (A, C))


def deleted(code: int) -> bool:
    """Delete group g."""
    result = DeleteGroupsResponse.DeletableGroupResult(group_id="g", error_code=code)
    cluster = answering(DeleteGroupsResponse(results=[result]))
    found = asyncio.run(delete_group(cluster, "g"))
    assert list(cluster.asked[0].request.groups_names) == ["g"]
    return found


def test_a_group_is_deleted_or_was_not_there() -> None:
    """Both are no error, and told apart."""
    assert deleted(0)
    assert not deleted(69)


@pytest.mark.parametrize(
    ("code", "error"), [(68, GroupActiveError), (30, PermissionDeniedError), (42, BrokerRefusedError)]
)
def test_a_group_that_is_not_deleted_is_an_error(code: int, error: type[AnabranchError]) -> None:
    """It still has its positions."""
    with pytest.raises(error):
        deleted(code)


# -- members -------------------------------------------------------------------------------------------


def leaving(code: int, *members: int) -> Any:
    """The answer to static members that are taken out."""
    rows = [LeaveGroupResponse.MemberResponse(member_id="", error_code=one) for one in members]
    return LeaveGroupResponse(error_code=code, members=rows)


def test_static_members_are_taken_out_by_their_names() -> None:
    """All in one request, in order; again where the coordinator is another one."""
    cluster = answering(leaving(16), leaving(0, 0, 0))
    asyncio.run(remove_static(cluster, "g", {"two", "one"}))
    assert len(cluster.asked) == 2
    request = cluster.asked[1].request
    assert request.group_id == "g"
    assert [(one.member_id, one.group_instance_id) for one in request.members] == [("", "one"), ("", "two")]


@pytest.mark.parametrize("answer", [leaving(25), leaving(69), leaving(0, 25, 0), leaving(0, 0, 69)])
def test_static_members_that_are_not_there_are_no_error(answer: Any) -> None:
    """They have left already."""
    asyncio.run(remove_static(answering(answer), "g", {"one", "two"}))


@pytest.mark.parametrize("answer", [leaving(30), leaving(0, 0, 30), leaving(0, 25, 30)])
def test_static_members_that_stay_are_an_error(answer: Any) -> None:
    """Whichever of them it is."""
    with pytest.raises(PermissionDeniedError, match="group g"):
        asyncio.run(remove_static(answering(answer), "g", {"one", "two"}))


def described(name: str, code: int = 0, state: str = "Stable", protocol: str = "consumer", **more: Any) -> Any:
    """One described group."""
    return DescribeGroupsResponse.DescribedGroup(
        group_id=name, error_code=code, group_state=state, protocol_type=protocol, **more
    )


def test_classic_groups_are_told_with_their_members() -> None:
    """One that is not there, in either generation's words, is absent; one that moves is asked for again."""
    member = DescribeGroupsResponse.DescribedGroup.DescribedGroupMember(
        member_id="m", client_id="c", client_host="/h", member_metadata=b"", member_assignment=b""
    )
    first = [
        described("a", members=[member], protocol_data="range"),
        described("moves", 16),
        described("gone", 69, "Dead"),
        described("dead", 0, "Dead", ""),
        described("app", members=[member], protocol_data="stream"),
    ]
    second = [described("moves", 0, "Empty", "")]
    cluster = answering(DescribeGroupsResponse(groups=first), DescribeGroupsResponse(groups=second))
    found = asyncio.run(classic(cluster, ["a", "moves", "gone", "dead", "app"]))
    members = (Member("m", "c", "/h"),)
    assert found == {
        "a": Group("a", GroupKind.CLASSIC, GroupState.STABLE, members),
        "app": Group("app", GroupKind.STREAMS, GroupState.STABLE, members),
        "moves": Group("moves", GroupKind.SIMPLE, GroupState.EMPTY),
    }
    assert list(cluster.asked[1].request.groups) == ["moves"]


def test_a_classic_group_that_we_may_not_look_at_is_an_error() -> None:
    """It is not told as absent."""
    answer = DescribeGroupsResponse(groups=[described("a"), described("b", 30, "")])
    with pytest.raises(PermissionDeniedError, match="group b"):
        asyncio.run(classic(answering(answer), ["a", "b"]))


# -- all groups ----------------------------------------------------------------------------------------


def listed(*names: str, code: int = 0) -> Any:
    """What one broker lists."""
    rows = [
        ListGroupsResponse.ListedGroup(
            group_id=name, protocol_type="consumer", group_state="Stable", group_type="classic"
        )
        for name in names
    ]
    return ListGroupsResponse(error_code=code, groups=rows)


def all_of(*script: Mapping[int, Any]) -> list[str]:
    """The names that are found where brokers 1 and 2 answer so, round after round."""
    rounds: dict[int, int] = {}

    def answer(asked: Asked) -> Any:
        if asked.request.API_KEY != LIST or asked.node is None:
            return None
        at = rounds.get(asked.node, 0)
        rounds[asked.node] = at + 1
        found = script[at][asked.node]
        if isinstance(found, AnabranchError):
            raise found
        return found

    found = asyncio.run(listing(Scripted(answer, brokers=(2, 1))))
    assert set(rounds.values()) == {len(script)}
    return [one.name for one in found]


def test_every_broker_is_asked_for_its_groups() -> None:
    """They are told by name."""
    assert all_of({1: listed("c", "a"), 2: listed("b")}) == ["a", "b", "c"]
    assert all_of({1: listed(), 2: listed()}) == []


@pytest.mark.parametrize("first", [listed(code=14), listed(code=15), listed(code=16), LOST])
def test_groups_of_a_broker_that_did_not_tell_are_not_left_out(first: Any) -> None:
    """All are asked again, for a group may have moved to one that had answered."""
    assert all_of({1: listed("a"), 2: first}, {1: listed("a", "b"), 2: listed("c")}) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("answer", "error"), [(listed(code=14), BrokerRefusedError), (LOST, ConnectionLostError)], ids=["loads", "is away"]
)
def test_a_broker_that_does_not_tell_its_groups_for_long_is_an_error(
    answer: Any, error: type[AnabranchError], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no list without them."""
    monkeypatch.setattr(LISTING, "TIMEOUT_S", -1.0)
    with pytest.raises(error):
        all_of({1: listed("a"), 2: answer})


def test_a_broker_that_refuses_to_list_is_an_error_at_once() -> None:
    """A right is missing on the cluster."""
    with pytest.raises(PermissionDeniedError, match="cluster"):
        all_of({1: listed("a"), 2: listed(code=31)})


def test_streams_applications_are_told_by_a_running_group_or_by_their_topics() -> None:
    """One that sleeps is one by its topics, one that runs is none by them; other kinds are left as they are listed."""
    rows = [
        ("app", "consumer", "Stable", "classic"),
        ("asleep", "consumer", "Empty", "classic"),
        ("awake", "consumer", "Stable", "classic"),
        ("reset", "", "Empty", "classic"),
        ("modern", "consumer", "Empty", "consumer"),
        ("gone", "consumer", "Empty", "classic"),
        ("empty", "consumer", "Empty", "classic"),
    ]
    answer = ListGroupsResponse(
        groups=[
            ListGroupsResponse.ListedGroup(group_id=name, protocol_type=protocol, group_state=state, group_type=kind)
            for name, protocol, state, kind in rows
        ]
    )
    topics = [f"{name}-x-changelog" for name in ("asleep", "awake", "reset", "modern")]
    looked: list[str] = []

    def answered(asked: Asked) -> Any:
        if asked.request.API_KEY == LIST:
            return answer
        if asked.request.API_KEY == DESCRIBE:
            looked.extend(asked.request.groups)
            told_of = [name for name in asked.request.groups if name != "gone"]
            return DescribeGroupsResponse(
                groups=[described(name, protocol_data="stream" if name == "app" else "range") for name in told_of]
            )
        if asked.request.API_KEY == METADATA and asked.request.topics is None:
            return MetadataResponse(topics=[MetadataResponse.MetadataResponseTopic(name=name) for name in topics])
        return None

    found = {one.name: one for one in asyncio.run(list_groups(Scripted(answered)))}
    kinds = {name: one.kind for name, one in found.items()}
    assert kinds == {
        "app": GroupKind.STREAMS,
        "asleep": GroupKind.STREAMS,
        "awake": GroupKind.CLASSIC,
        "reset": GroupKind.STREAMS,
        "modern": GroupKind.CONSUMER,
        "gone": GroupKind.CLASSIC,
        "empty": GroupKind.CLASSIC,
    }
    assert sorted(looked) == ["app", "asleep", "awake", "empty", "gone", "reset"]
    assert found["asleep"] == ListedGroup("asleep", GroupKind.STREAMS, GroupState.EMPTY, "consumer")


def test_groups_of_which_none_can_be_a_classic_application_are_told_as_they_are_listed() -> None:
    """Nobody is asked more."""
    only = ListGroupsResponse.ListedGroup(
        group_id="modern", protocol_type="consumer", group_state="Assigning", group_type="consumer"
    )
    cluster = answering(ListGroupsResponse(groups=[only]))
    assert asyncio.run(list_groups(cluster)) == [
        ListedGroup("modern", GroupKind.CONSUMER, GroupState.ASSIGNING, "consumer")
    ]
    assert len(cluster.asked) == 1


# -- rights --------------------------------------------------------------------------------------------

READ, DELETE = 3, 6


def rights(of: Mapping[str, Any]) -> dict[str, Any]:
    """What may be done with these groups: numbers of operations, a code below 0, or None where it is not told."""

    def answer(asked: Asked) -> Any:
        if asked.request.API_KEY == COORDINATOR:
            return told(asked, dict.fromkeys(names_in(asked), 1))
        if asked.request.API_KEY != DESCRIBE:
            return None
        assert asked.request.include_authorized_operations
        assert asked.version == 5
        groups = []
        for name in asked.request.groups:
            given = of[name]
            if isinstance(given, int):
                groups.append(described(name, -given, ""))
            else:
                groups.append(described(name, authorized_operations=given))
        return DescribeGroupsResponse(groups=groups)

    return dict(asyncio.run(group_operations(Scripted(answer), [*of, *of])))


def test_what_may_be_done_with_each_group_is_told() -> None:
    """Nothing at all where not even looking is; one such group takes nothing from the others."""
    seen = {READ, DELETE}
    assert rights({"a": seen}) == {"a": frozenset({AclOperation.READ, AclOperation.DELETE})}
    assert rights({"a": -30}) == {"a": frozenset()}
    assert rights({"a": seen, "b": -30, "c": {READ}}) == {
        "a": frozenset({AclOperation.READ, AclOperation.DELETE}),
        "b": frozenset(),
        "c": frozenset({AclOperation.READ}),
    }
    assert rights({"a": None}) == {"a": None}


def test_rights_that_are_not_told_for_another_reason_are_an_error() -> None:
    """It is not told that nothing is allowed."""
    with pytest.raises(BrokerRefusedError):
        rights({"a": {READ}, "b": -42})


@pytest.mark.parametrize("code", [14, 15, 16])
def test_rights_of_a_group_that_moves_are_asked_for_again(code: int) -> None:
    """Its coordinator is not one that refuses."""
    moves = DescribeGroupsResponse(groups=[described("a", code, "")])
    tells = DescribeGroupsResponse(groups=[described("a", authorized_operations={READ})])
    assert asyncio.run(group_operations(answering(moves, tells), ["a"])) == {"a": frozenset({AclOperation.READ})}
