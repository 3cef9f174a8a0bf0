from __future__ import annotations

import tomllib

import pytest
from tenantry_registry import config
from tenantry_registry.errors import PlatformError
from tenantry_registry.toml_lines import line_of, lines

LEAST = 'name = "zoo"\nentrypoint = "server:plugin"\n'


def refused(text: str | bytes) -> PlatformError:
    with pytest.raises(PlatformError) as error:
        config.load(text)
    return error.value


def test_the_annotated_example_is_valid_and_shows_every_key() -> None:
    read = config.load(config.example())
    shown = tomllib.loads(config.example())
    for section, model in (
        (shown, config.Config),
        (shown["auth"], config.Auth),
        (shown["secrets"], config.Secrets),
        (shown["limits"], config.Limits),
        (shown["listing"], config.Listing),
        (shown["examples"][0], config.Example),
    ):
        assert set(section) == set(model.model_fields) - {"text"}
    assert read.auth is not None
    assert read.auth.issuer == "https://auth.zoo.example"


def test_two_keys_are_enough() -> None:
    read = config.load(LEAST)
    assert (read.egress, read.timeout, read.files, read.auth) == ("none", 25.0, None, None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('name = "Zoo"\nentrypoint = "a:b"', "plugin.toml:1: name: Use a-z"),
        ('name = "zoo"', "plugin.toml:1: entrypoint: is missing"),
        (LEAST + "timeout = 26", "plugin.toml:3: timeout: input should be less than or equal to 25"),
        (LEAST + 'egress = "all"', "plugin.toml:3: egress: "),
        (LEAST + "colour = 1", "plugin.toml:3: colour: there is no such key"),
        (LEAST + 'egres = "none"', "plugin.toml:3: egres: there is no such key; do you mean egress?"),
        (
            LEAST + '[auth]\nissuer = "https://a.example"\nscope = []',
            "auth.scope: there is no such key; do you mean scopes?",
        ),
        (LEAST + '[[examples]]\nprompt = "x"\ntool = "t"\nargs = {}', "examples[0].args: there is no such key"),
        (LEAST + "text = 1", "plugin.toml:3: text: there is no such key"),
        (LEAST + '[auth]\nissuer = "http://id.example"', "plugin.toml:4: auth.issuer: must begin with https://"),
        (LEAST + "[auth]\nscopes = []", "plugin.toml:3: auth.issuer: is missing"),
        (LEAST + '[env]\nAWS_X = "1"', "plugin.toml:4: env.AWS_X: AWS_X belongs to the runtime"),
        (LEAST + '[env]\n"a b" = "1"', "plugin.toml:4: env.a b: "),
        (LEAST + '[secrets]\nrequired = ["1X"]', "plugin.toml:4: secrets.required[0]: "),
        (
            LEAST + '[[examples]]\nprompt = "x"\ntool = "t"\n\n[[examples]]\nprompt = 1\ntool = "t"',
            "plugin.toml:8: exam",
        ),
        ('name = "zoo"\nentrypoint = "server"', "plugin.toml:2: entrypoint: "),
    ],
)
def test_a_wrong_key_is_named_with_its_line(text: str, words: str) -> None:
    error = refused(text)
    assert error.code == "config.invalid"
    assert words in error.message
    assert error.message[-1] in ".?"
    assert error.message[-2] not in ".?"
    assert error.hint


def test_all_wrong_keys_are_told_at_once() -> None:
    message = refused('name = "Zoo"\ncolour = 1\ntimeout = "long"').message
    assert message.count("plugin.toml:") == 4


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("x ==", "config.syntax"),
        (b"name = '\xff'", "config.encoding"),
        ("#" * (config.MAX_BYTES + 1), "config.too-large"),
    ],
)
def test_what_is_no_toml_is_refused_with_a_code(text: str | bytes, code: str) -> None:
    assert refused(text).code == code


@pytest.mark.parametrize("issuer", ["https://id.example/realm/", "http://localhost:9000", "http://127.0.0.1:1"])
def test_an_issuer_is_kept_to_the_letter(issuer: str) -> None:
    read = config.load(LEAST + f'[auth]\nissuer = "{issuer}"')
    assert read.auth is not None
    assert read.auth.issuer == issuer


def test_a_script_may_be_the_entrypoint_and_windows_newlines_are_newlines() -> None:
    read = config.load(b'\xef\xbb\xbfname = "zoo"\r\nentrypoint = "run/server.py"\r\n')
    assert read.line("entrypoint") == 2


TANGLED = '''# [not.a.table]
name = "zoo # [x]"   # a comment = 1
"quoted key" = 1
text = """
[env]
name = 2
"""
dotted.inner."last one" = 3
array = [
  "a",  # ]
  { inline = 1 },
]
[table."with dot.s"]
key = \'\'\'
x = 1
\'\'\'
[[list]]
a = 1
[list.sub]
b = 2
[[list]]
a = 3
[[list.deep]]
c = 4
[[list.deep]]
c = 5
'''


def test_lines_of_keys_are_counted_through_everything_toml_allows() -> None:
    tomllib.loads(TANGLED)
    found = lines(TANGLED)
    expected = {
        ("name",): 2,
        ("quoted key",): 3,
        ("text",): 4,
        ("dotted",): 8,
        ("dotted", "inner", "last one"): 8,
        ("array",): 9,
        ("table", "with dot.s"): 13,
        ("table", "with dot.s", "key"): 14,
        ("list", 0): 17,
        ("list", 0, "a"): 18,
        ("list", 0, "sub", "b"): 20,
        ("list", 1, "a"): 22,
        ("list", 1, "deep", 0, "c"): 24,
        ("list", 1, "deep", 1, "c"): 26,
    }
    assert {path: found.get(path) for path in expected} == expected
    assert ("env",) not in found


def test_a_key_that_has_no_line_of_its_own_is_on_the_line_around_it() -> None:
    assert line_of(TANGLED, ("list", 1, "deep", 0, "missing", 3)) == 23
    assert line_of(TANGLED, ("array", 1, "inline")) == 9
    assert line_of(TANGLED, ("nothing",)) == 1
