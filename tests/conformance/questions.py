"""Tools that ask: the person, the client's model, the client itself, alone, together and one after the other."""

from typing import Annotated

from dogubako import Context, Effect, tool
from dogubako.tools import ElicitRequest, ElicitResult, RootsRequest, SampleRequest

from .forms import COLOR, CONFIRMATION, DEFAULTS, ENUMS, NAME, Respondent


@tool
async def test_sampling(prompt: Annotated[str, "What to ask the model."], context: Context) -> str:
    """Let the client's model answer."""
    sample = await context.sample(prompt, max_tokens=100)
    return f"LLM response: {sample.text}"


@tool
async def test_elicitation(message: Annotated[str, "What to ask the person."], context: Context) -> str:
    """Ask the person for a name and an address."""
    return _told(await context.ask(message, Respondent))


@tool
async def test_elicitation_sep1034_defaults(context: Context) -> str:
    """Ask with a form that has default values."""
    return _told(await context.ask("Please check these values", DEFAULTS))


@tool
async def test_elicitation_sep1330_enums(context: Context) -> str:
    """Ask with a form that has every kind of choice."""
    return _told(await context.ask("Please choose", ENUMS))


@tool
async def test_missing_capability(context: Context) -> str:
    """Need a client with a model behind it."""
    return (await context.sample("Say hello")).text


@tool
async def test_streaming_elicitation(context: Context) -> str:
    """Ask in the middle of a call."""
    return _told(await context.ask("What is your name?", NAME))


@tool(effect=Effect.READ)
async def test_input_required_result_elicitation(context: Context) -> str:
    """Greet the person by name."""
    answer = await context.ask("What is your name?", NAME, key="user_name")
    return f"Hello, {answer.content['name']}!" if answer.accepted else _told(answer)


@tool
async def test_input_required_result_sampling(context: Context) -> str:
    """Ask the client's model for a capital."""
    question = "What is the capital of France?"
    return (await context.sample(question, max_tokens=100, key="capital_question")).text


@tool
async def test_input_required_result_list_roots(context: Context) -> list[str]:
    """Show which folders the client has opened."""
    return [root.uri for root in await context.roots(key="client_roots")]


@tool
async def test_input_required_result_request_state(context: Context) -> str:
    """Ask once, and come back with the state."""
    return f"state-ok, {_told(await context.ask('Please confirm', CONFIRMATION, key='confirm'))}"


@tool
async def test_input_required_result_multiple_inputs(context: Context) -> str:
    """Ask the person, the model and the client in one round."""
    answers = await context.request(
        user_name=ElicitRequest(message="What is your name?", schema=NAME),
        greeting=SampleRequest(prompt="Generate a greeting", max_tokens=50),
        client_roots=RootsRequest(),
    )
    return f"Answered: {', '.join(answers)}"


@tool
async def test_input_required_result_multi_round(context: Context) -> str:
    """Ask twice; the second question needs the first answer."""
    name = await context.ask("Step 1: What is your name?", NAME, key="step1")
    color = await context.ask("Step 2: What is your favorite color?", COLOR, key="step2")
    return f"{_told(name)}, {_told(color)}"


@tool
async def test_input_required_result_tampered_state(context: Context) -> str:
    """Ask once; a state that somebody changed must not be believed."""
    return _told(await context.ask("Please confirm", CONFIRMATION, key="confirm"))


@tool
async def test_input_required_result_capabilities(context: Context) -> str:
    """Ask only what this client can answer."""
    possible: dict[str, ElicitRequest | SampleRequest] = {
        "elicitation": ElicitRequest(message="What is your name?", schema=NAME),
        "sampling": SampleRequest(prompt="Generate a greeting", max_tokens=50),
    }
    answers = await context.request(**{key: one for key, one in possible.items() if context.supports(key)})
    return f"Answered: {', '.join(answers)}"


def _told(answer: ElicitResult) -> str:
    return f"action={answer.action}, content={dict(answer.content)}"


TOOLS = (
    test_sampling,
    test_elicitation,
    test_elicitation_sep1034_defaults,
    test_elicitation_sep1330_enums,
    test_missing_capability,
    test_streaming_elicitation,
    test_input_required_result_elicitation,
    test_input_required_result_sampling,
    test_input_required_result_list_roots,
    test_input_required_result_request_state,
    test_input_required_result_multiple_inputs,
    test_input_required_result_multi_round,
    test_input_required_result_tampered_state,
    test_input_required_result_capabilities,
)
