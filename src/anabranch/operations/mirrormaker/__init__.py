"""Working beside MirrorMaker 2: what its answers are worth, and our answers where its clients look for them."""

from anabranch.operations.mirrormaker.answers import LeftOut, Published, checkpoints, publish_link
from anabranch.operations.mirrormaker.flow import Flow, NoFlowError, read_flow
from anabranch.operations.mirrormaker.judging import judge, report
from anabranch.state.topics.mirrormaker import beat, publish

__all__ = [
    "Flow",
    "LeftOut",
    "NoFlowError",
    "Published",
    "beat",
    "checkpoints",
    "judge",
    "publish",
    "publish_link",
    "read_flow",
    "report",
]
