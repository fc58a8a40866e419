"""`dogubako config`: what is in force, and where to change it."""

from typing import Any

from pydantic import BaseModel, SecretStr

from dogubako.cli.options import AsJson, Chosen, Config, Tools, friendly
from dogubako.cli.terminal import print_json, print_table
from dogubako.contract.secrets import MASK, Redactor
from dogubako.contract.setting import env_name


@friendly
def config(config: Config = None, tools: Tools = None, as_json: AsJson = False) -> None:
    """Print the settings in force; secrets are masked."""
    box = Chosen(config=config, tools=tools).open(quiet=True)
    models: dict[str, BaseModel] = {"dogubako": box.settings}
    models |= {name: state.settings for name, state in box.packs.items()}
    if as_json:
        print_json({section: {name: _shown(value) for name, value in model} for section, model in models.items()})
        return
    rows = [
        (env_name(type(model), name), str(_shown(value)), str(type(model).model_fields[name].description or ""))
        for model in models.values()
        for name, value in model
    ]
    print_table(("Variable", "Value", "Meaning"), rows, empty="No settings.")


def _shown(value: Any) -> Any:
    if isinstance(value, SecretStr):
        return MASK
    if isinstance(value, tuple):
        return ", ".join(str(item) for item in value)
    # An address may hold a password.
    return value if isinstance(value, int | float | bool | None) else Redactor().mask(str(value))
