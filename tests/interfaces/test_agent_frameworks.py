"""LangChain, LangGraph, pydantic-ai and OpenAI's form over one toolbox: scripted models, no other patient for them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import jsonschema
import pytest
import two_patients
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from iamata import Engine
from iamata.errors import BadInput, NotAllowed
from iamata.integrations import Toolbox, agent, functions
from iamata.integrations import langchain as over_langchain
from iamata.integrations.pydantic_ai import PatientToolset
from iamata.interfaces.mcp.tools import TOOLS
from iamata.model.access import Access, PrincipalKind
from iamata.model.entry import EntryDraft, EntryKind
from iamata.model.scope import Scope, Subject

CANARY = two_patients.CANARY
NORTHSIDE = Subject(Scope.ORGANIZATION, "northside")
GUIDELINE = "Amoxicillin is dosed by weight in children."

# Calls by which a model could try to reach Zoe; every way is tried in every framework.
ASTRAY: list[tuple[str, dict[str, Any]]] = [
    ("get_patient_info", {"patient_id": "zoe"}),
    ("search_patient", {"patient_id": "zoe", "query": CANARY}),
    ("read_patient", {"path": "/patient/zoe/_index.md"}),
    ("browse", {"path": "/patient/zoe/conditions/active/"}),
    ("read", {"path": "/patient/zoe/_index.md"}),
    ("assemble_context", {"also_about": ["patient/zoe"]}),
    ("explain", {"item": "/patient/zoe/_index.md"}),
]


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:") as engine:
        two_patients.fill(engine)
        engine.put_entry(
            EntryDraft(subject=NORTHSIDE, kind=EntryKind.GUIDELINE, title="Amoxicillin", text=GUIDELINE),
        )
        yield engine


@pytest.fixture(scope="module")
def box(engine: Engine) -> Toolbox:
    return Toolbox(engine, "leo", access=agent("triage"))


# ------------------------------------------------------------------------------------------- what the caller binds


def test_the_tools_are_those_of_mcp_without_the_patient(box: Toolbox) -> None:
    assert [each.name for each in box.functions] == [each.name for each in TOOLS]
    assert [each.description for each in box.functions] == [each.description for each in TOOLS]
    for each in box.functions:
        assert "patient_id" not in each.schema["properties"]
        assert "patient_id" not in each.schema.get("required", [])
        assert '"leo"' not in json.dumps(each.schema)
        jsonschema.Draft202012Validator.check_schema(each.schema)


def test_who_may_not_write_gets_no_tool_that_writes(engine: Engine) -> None:
    reading = Toolbox(engine, "leo", access=agent("triage", may_write=False))
    assert {each.name for each in reading.functions} == {each.name for each in TOOLS if not each.writes}
    assert reading.call("append_messages", {}).failed


def test_only_some_tools_are_offered_and_no_other_is_called(engine: Engine) -> None:
    small = Toolbox(engine, "leo", access=agent("triage"), only={"explain", "assemble_context"})
    assert [each.name for each in small.functions] == ["assemble_context", "explain"]
    assert small.call("get_patient_info", {}).structured["type"] == "INVALID_ARGUMENT"
    with pytest.raises(BadInput):
        Toolbox(engine, "leo", access=agent("triage"), only={"drop_table"})


def test_a_principal_is_never_given_more_than_it_has(engine: Engine) -> None:
    with pytest.raises(NotAllowed):
        Toolbox(engine, "leo", access=agent("triage", patient="zoe"))
    # An issuer that named no patient does not answer for the one that the caller names.
    token = Access(kind=PrincipalKind.OPERATOR, id="x", roles=("clinician",), by_relation=True, launch=True)
    made = Toolbox(engine, "leo", access=token).call("get_patient_info", {})
    assert made.failed
    assert "Leo" not in made.text


@pytest.mark.parametrize(("tool", "given"), ASTRAY)
def test_the_toolbox_reaches_no_other_patient(engine: Engine, tool: str, given: dict[str, Any]) -> None:
    made = Toolbox(engine, "leo", access=agent("triage")).call(tool, given)
    assert made.failed
    assert CANARY not in made.text + json.dumps(made.structured)
    open_to_all = Access.local()
    made = Toolbox(engine, "leo", access=open_to_all).call(tool, given)
    assert made.failed, "also not for a principal that itself may see the other patient"
    assert CANARY not in made.text + json.dumps(made.structured)


def test_the_patient_is_no_argument_not_even_the_one_that_is_bound(box: Toolbox) -> None:
    made = box.call("get_patient_info", {"patient_id": "leo"})
    assert made.text == "INVALID_ARGUMENT: the patient is given; it is no argument of this tool"


def test_no_thing_of_another_patient_is_explained_or_read(box: Toolbox, engine: Engine) -> None:
    for thing in two_patients.things_of_zoe(engine):
        assert box.call("explain", {"item": thing}).failed
        assert box.call("read", {"path": thing}).failed


def test_the_audit_log_names_the_principal(box: Toolbox, engine: Engine) -> None:
    assert not box.call("get_patient_info", {}).failed
    newest = engine.audit_records(subject="patient/leo", per_page=1)[0]
    assert (newest.allowed, newest.principal) == (True, "agent/triage")


# ----------------------------------------------------------------------------------------------------- OpenAI's form


def chat_loop(box: Toolbox, model: Callable[[list[dict[str, Any]]], dict[str, Any]]) -> list[dict[str, Any]]:
    """What a program does around Chat Completions; gives all messages."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "What is to be clarified about the medicines?"}]
    while True:
        turn = model(messages)
        messages.append(turn)
        if not turn.get("tool_calls"):
            return messages
        messages += functions.chat_answers(box, turn["tool_calls"])


def tool_call(id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_a_scripted_loop_in_openais_form_reads_a_context_and_asks_for_its_proof(box: Toolbox) -> None:
    def model(messages: list[dict[str, Any]]) -> dict[str, Any]:
        told = [each["content"] for each in messages if each["role"] == "tool"]
        if not told:
            asked = {"task": "medication_reconciliation", "budget_tokens": 800}
            return {"role": "assistant", "tool_calls": [tool_call("c1", "assemble_context", json.dumps(asked))]}
        if len(told) == 1:
            context = re.findall(r"explain `(ctx_\w+)\[n\]`", told[0])[0]
            number = re.findall(r'stopped the amoxicillin on Thursday" \[(\d+)\]', told[0])[0]
            calls = [
                tool_call("c2", "explain", json.dumps({"item": f"{context}[{number}]"})),
                tool_call("c3", "list_conflicts", ""),
            ]
            return {"role": "assistant", "tool_calls": calls}
        return {"role": "assistant", "content": re.findall(r'as said: "([^"]+)"', told[1])[0]}

    messages = chat_loop(box, model)
    assert [each.get("tool_call_id") for each in messages] == [None, None, "c1", None, "c2", "c3", None]
    assert messages[-1]["content"] == "We stopped the amoxicillin on Thursday"
    assert "Amoxicillin" in messages[5]["content"]
    assert CANARY not in json.dumps(messages)


def test_both_shapes_describe_the_same_functions(box: Toolbox) -> None:
    chat, responses = functions.chat_tools(box), functions.responses_tools(box)
    assert {each["type"] for each in chat + responses} == {"function"}
    assert [each["function"] for each in chat] == [
        {name: each[name] for name in ("name", "description", "parameters")} for each in responses
    ]
    assert chat[0]["function"]["name"] == "assemble_context"
    assert chat[0]["function"]["parameters"]["properties"]["budget_tokens"]["type"] == "integer"


def test_the_calls_in_an_output_of_responses_are_answered_and_other_items_passed_over(box: Toolbox) -> None:
    output = [
        {"type": "reasoning", "id": "r1"},
        {"type": "function_call", "call_id": "c1", "name": "get_patient_info", "arguments": "{}"},
    ]
    (answer,) = functions.responses_answers(box, output)
    assert (answer["type"], answer["call_id"]) == ("function_call_output", "c1")
    assert answer["output"].startswith("Leo Zebrafish, male, born 2021-12-24\n")


@pytest.mark.parametrize("arguments", ["{", "[]", '"leo"', "null", "{" * 100_000, '{"a": "\ud800"}'])
def test_arguments_that_are_no_object_are_told_to_the_model(box: Toolbox, arguments: str) -> None:
    (answer,) = functions.chat_answers(box, [tool_call("c1", "get_patient_info", arguments)])
    assert answer["content"] == "INVALID_ARGUMENT: the arguments are not a JSON object"


@pytest.mark.parametrize(("tool", "given"), ASTRAY)
def test_openais_form_reaches_no_other_patient(box: Toolbox, tool: str, given: dict[str, Any]) -> None:
    (answer,) = functions.chat_answers(box, [tool_call("c1", tool, json.dumps(given))])
    assert re.match(r"(NOT_FOUND|INVALID_ARGUMENT|PERMISSION_DENIED): ", answer["content"])
    assert CANARY not in answer["content"]


# --------------------------------------------------------------------------------------------------------- LangChain


class ScriptedChat(GenericFakeChatModel):
    """LangChain's fake model, which says its messages one after the other, whatever tools it is given."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(tools=tools, **kwargs)


def graph_run(box: Toolbox, *turns: AIMessage) -> list[AnyMessage]:
    """An agent in LangGraph over the tools: the model, its tools, the model again."""
    tools = over_langchain.tools(box)
    model = ScriptedChat(messages=iter(turns)).bind_tools(tools)
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition, {"tools": "tools", END: END})
    graph.add_edge("tools", "model")
    messages: list[AnyMessage] = graph.compile().invoke({"messages": [HumanMessage("What is new?")]})["messages"]
    return messages


def test_an_agent_in_langgraph_calls_the_tools_and_gets_text_and_json(box: Toolbox) -> None:
    called = AIMessage("", tool_calls=[{"name": "assemble_context", "args": {"budget_tokens": 300}, "id": "c1"}])
    _, _, told, last = graph_run(box, called, AIMessage("Done."))
    assert isinstance(told, ToolMessage)
    assert (told.status, told.tool_call_id, last.content) == ("success", "c1", "Done.")
    assert "Amoxicillin 250 mg/5 mL" in told.content
    assert told.artifact["tokens"] <= 300
    assert told.artifact["subjects"] == ["patient/leo"]


@pytest.mark.parametrize(("tool", "given"), ASTRAY)
def test_langchain_reaches_no_other_patient(box: Toolbox, tool: str, given: dict[str, Any]) -> None:
    called = AIMessage("", tool_calls=[{"name": tool, "args": given, "id": "c1"}])
    told = graph_run(box, called, AIMessage("Done."))[2]
    assert isinstance(told, ToolMessage)
    assert told.status == "error"
    assert CANARY not in str(told)


@pytest.mark.parametrize("name", ["self", "config", "run_manager", "func", "tool_call_id"])
def test_an_argument_named_as_one_of_langchains_own_does_no_harm(box: Toolbox, name: str) -> None:
    called = AIMessage("", tool_calls=[{"name": "get_patient_info", "args": {name: "x"}, "id": "c1"}])
    told = graph_run(box, called, AIMessage("Done."))[2]
    assert isinstance(told, ToolMessage)
    assert told.status == "error"
    assert "an argument that this tool does not have" in str(told.content)


def test_a_tool_of_langchain_is_awaited_too(box: Toolbox) -> None:
    async def scene() -> ToolMessage:
        (info,) = [each for each in over_langchain.tools(box) if each.name == "get_patient_info"]
        told = await info.ainvoke({"type": "tool_call", "name": info.name, "args": {}, "id": "c1"})
        assert isinstance(told, ToolMessage)
        return told

    told = two_patients.run(scene)
    assert str(told.content).startswith("Leo Zebrafish, male")
    assert told.artifact["id"] == "leo"


def retriever(box: Toolbox, **given: Any) -> over_langchain.PatientRetriever:
    return over_langchain.PatientRetriever(toolbox=box, task="medication_reconciliation", **given)


def test_the_retriever_gives_each_line_with_citation_address_weight_and_who_says_it(box: Toolbox) -> None:
    found = retriever(box).invoke("amoxicillin")
    (medicine,) = [each for each in found if each.page_content.startswith("Amoxicillin 250 mg/5 mL")]
    told = medicine.metadata
    assert "⚠ conflict on status" in medicine.page_content
    assert medicine.id == told["item"]
    assert told["address"].startswith("/patient/leo/medications/current/amoxicillin-250-mg-5-ml-")
    assert 0 < told["weight"] < 0.5  # said to be stopped: what was said counts more, on whether it is taken
    assert (told["task"], told["aspect"]) == ("medication_reconciliation", "taken")
    assert (told["scope"], told["subject"]) == ("patient", "patient/leo")
    assert [(by["kind"], by["role"], by["author"]) for by in told["attribution"]] == [
        ("system-reported", "clinician", "Dr Ames"),
        ("user-reported", "proxy", ""),
    ]
    assert [by["item"] for by in told["attribution"]] == told["items"]
    assert told["conflict"]


def test_what_a_document_names_resolves_in_the_tools(box: Toolbox) -> None:
    found = retriever(box).invoke("amoxicillin")
    assert len(found) >= 8
    for each in found:
        assert each.metadata["attribution"], each.page_content
        explained = box.call("explain", {"item": each.metadata["citation"]})
        assert explained.structured["item"] in {each.metadata["item"], *each.metadata["items"]}
        assert not box.call("read", {"path": each.metadata["address"]}).failed
        json.dumps(each.metadata)


def test_a_line_that_says_what_is_not_recorded_cites_nothing() -> None:
    order = {
        "resourceType": "MedicationRequest",
        "id": "m",
        "status": "active",
        "intent": "order",
        "subject": {"reference": "Patient/ida"},
        "medicationCodeableConcept": {"text": "Lisinopril 10 mg"},
    }
    with Engine.open(":memory:") as engine:
        engine.ingest("ida", json.dumps(order).encode())
        found = retriever(Toolbox(engine, "ida", access=agent("triage"))).invoke("lisinopril")
    (gap,) = [each for each in found if each.page_content == "No allergy information recorded."]
    assert (gap.metadata["citation"], gap.metadata["items"], gap.metadata["attribution"]) == (None, [], [])
    assert (gap.id, gap.metadata["item"], gap.metadata["address"]) == (None, None, "/patient/ida/allergies/")
    assert gap.metadata["subject"] == "patient/ida"
    assert [each.metadata["citation"] for each in found if each is not gap] == [f"{gap.metadata['context']}[1]"]


def test_the_retriever_keeps_to_its_budget(box: Toolbox, engine: Engine) -> None:
    few = retriever(box, budget_tokens=120).invoke("amoxicillin")
    assert 0 < len(few) < len(retriever(box).invoke("amoxicillin"))
    assert few[0].metadata["context"].startswith("ctx_")


def test_lines_of_another_scope_say_whose_they_are_and_who_says_it(box: Toolbox) -> None:
    found = retriever(box, also_about=(NORTHSIDE,)).invoke("amoxicillin")
    (line,) = [each for each in found if each.metadata["scope"] == "organization"]
    assert GUIDELINE in line.page_content
    assert line.metadata["subject"] == "organization/northside"
    assert line.metadata["weight"] is None
    assert [(by["kind"], by["author"]) for by in line.metadata["attribution"]] == [("system-reported", "northside")]


def test_the_retriever_brings_no_other_patient(box: Toolbox) -> None:
    found = retriever(box).invoke(CANARY)
    assert found
    assert all(CANARY not in each.page_content.partition("[")[0] for each in found)
    with pytest.raises(BadInput):
        retriever(box, also_about=(Subject(Scope.PATIENT, "zoe"),)).invoke("amoxicillin")


# ------------------------------------------------------------------------------------------------------- pydantic-ai


def returned(messages: list[ModelMessage]) -> list[ToolReturnPart[Any]]:
    return [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]


def run_agent(box: Toolbox, *calls: tuple[str, dict[str, Any]]) -> list[ToolReturnPart[Any]]:
    """An agent whose model makes these calls one after the other, then ends; what the tools returned."""

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        done = len(returned(messages))
        if done == len(calls):
            return ModelResponse([TextPart("Done.")])
        assert calls[done][0] in {each.name for each in info.function_tools}
        return ModelResponse([ToolCallPart(*calls[done])])

    # Not `run_sync`, which leaves its event loop open.
    made = two_patients.run(Agent(FunctionModel(model), toolsets=[PatientToolset(box)]).run, "What is new?")
    assert made.output == "Done."
    return returned(made.all_messages())


def test_an_agent_of_pydantic_ai_calls_the_tools_and_gets_text_and_json(box: Toolbox) -> None:
    context, info = run_agent(box, ("assemble_context", {"budget_tokens": 300}), ("get_patient_info", {}))
    assert "Amoxicillin 250 mg/5 mL" in context.content
    assert context.metadata["tokens"] <= 300
    assert info.metadata["id"] == "leo"


@pytest.mark.parametrize(("tool", "given"), ASTRAY)
def test_pydantic_ai_reaches_no_other_patient(box: Toolbox, tool: str, given: dict[str, Any]) -> None:
    (told,) = run_agent(box, (tool, given))
    assert told.outcome == "failed"
    assert CANARY not in str(told.content)


def test_a_failed_call_uses_up_no_retry_of_pydantic_ai(box: Toolbox) -> None:
    told = run_agent(box, *[("read_patient", {"path": "/nowhere.md"})] * 4, ("get_patient_info", {}))
    assert [each.outcome for each in told] == ["failed"] * 4 + ["success"]


def test_pydantic_ais_test_model_can_call_every_reading_tool(engine: Engine) -> None:
    """It makes arguments up by the schemas; that they fail is no matter, that each is a call that can be made is."""
    box = Toolbox(engine, "leo", access=agent("triage", may_write=False))
    made = two_patients.run(Agent(TestModel(seed=1), toolsets=[PatientToolset(box, id="leo")]).run, "Try all.")
    told = returned(made.all_messages())
    assert {each.tool_name for each in told} == {each.name for each in TOOLS if not each.writes}
    assert not [each for each in told if "INTERNAL" in str(each.content)]
    assert CANARY not in str(made.all_messages())


# ------------------------------------------------------------------------------------------------- what is installed


def python(source: str) -> str:
    done = subprocess.run([sys.executable, "-W", "error", "-c", source], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("module", "missing", "extra"),
    [("langchain", "langchain_core", "langchain"), ("pydantic_ai", "pydantic_ai", "pydantic-ai")],
)
def test_what_is_not_installed_is_named_with_its_extra(module: str, missing: str, extra: str) -> None:
    told = python(
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from iamata.errors import Unavailable\n"
        f"try: import iamata.integrations.{module}\n"
        "except Unavailable as error: print(error)"
    )
    assert f"pip install 'iamata[{extra}]'" in told


def test_openais_form_needs_nothing_that_is_not_installed_with_iamata() -> None:
    loaded = python(
        "import sys, iamata.integrations.functions\n"
        "print([n for n in ('langchain_core', 'langsmith', 'pydantic_ai', 'openai', 'mcp') if n in sys.modules])"
    )
    assert loaded == "[]"
