"""How do a session and its memories look?"""

from __future__ import annotations

from iamata.interfaces.wire.nodes import memory_fields, memory_type
from iamata.interfaces.wire.values import Json, given, instant, instant_or_none
from iamata.model.memory import Memory
from iamata.model.session import Message, RecordedCall, Session, Speaker, ToolCall


def session(of: Session) -> Json:
    """The contract's session, and (ours) its messages in order."""
    return {
        "sessionId": of.id,
        "patientId": of.patient,
        "createdAt": instant(of.created_at),
        "scope": "patient",
        "messages": [message(each) for each in of.messages],
    }


def message(of: Message) -> Json:
    """`role` is the contract's (an agent is the assistant, any person the user); `speaker` says who."""
    turn = of.turn
    return given(
        {
            "id": of.id,
            "index": of.index,
            "role": "assistant" if turn.speaker is Speaker.AGENT else "user",
            "content": turn.text,
            "speaker": turn.speaker.value,
            "relationship": turn.relationship,
            "name": turn.name,
            "saidAt": instant_or_none(turn.said_at),
            "turnId": turn.turn_id,
            "toolCalls": [tool_call(each) for each in turn.calls],
            "injected": [{"start": start, "end": end} for start, end in of.injected],
            "receivedAt": instant(of.received_at),
            "erased": True if of.erased else None,
        }
    ) | {"content": turn.text}


def tool_call(of: ToolCall) -> Json:
    """A call as it was sent: `arguments` and `result` are text, which mostly is JSON."""
    return given(
        {
            "tool": of.tool,
            "arguments": of.arguments,
            "result": of.result,
            "failed": of.failed,
            "calledAt": instant_or_none(of.called_at),
            "callId": of.call_id,
        }
    )


def recorded_call(of: RecordedCall) -> Json:
    """A call with its place: `after` is the index of the turn it came with or follows, -1 before the first."""
    return (
        tool_call(of.call)
        | given({"by": of.by})
        | {
            "id": of.id,
            "sessionId": of.session,
            "after": of.after,
            "receivedAt": instant(of.received_at),
        }
    )


def session_memory(of: Memory) -> Json:
    """The contract's session memory with our fields beside it."""
    return {
        "id": of.id,
        "type": memory_type(of),
        "content": of.quote,
        "sessionId": of.session,
        "createdAt": instant(of.received_at),
    } | memory_fields(of)
