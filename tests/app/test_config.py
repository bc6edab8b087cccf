from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxsync.config import Config, IdentityConfig, load_config, parse
from ctxsync.errors import ConfigError
from ctxsync.forms import line_of
from ctxsync.home import Home
from ctxsync.source_settings import TYPES

ROOT = Path(__file__).parents[2]
MAIL = '[[sources]]\nname = "work"\ntype = "imap"\nhost = "mail.example.com"\nuser = "robin"\n'
TEAM = '[[sources]]\nname = "team"\ntype = "slack"\n'
PROVIDER = '[[providers]]\nname = "mine"\nurl = "https://llm.example.com/v1"\nmodel = "m"\n'
VAULT = '[[sources]]\nname = "vault"\ntype = "notes"\npath = "/srv/notes"\n'


def refusal(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    return str(caught.value)


def test_a_home_without_a_config_file_has_every_default(tmp_path: Path) -> None:
    assert load_config(Home(tmp_path)) == Config()


def test_the_example_shows_every_table_with_its_defaults() -> None:
    text = (ROOT / "config.example.toml").read_text(encoding="utf-8")
    assert parse(text) == Config()
    for table in fields(Config):
        assert f"[{table.name}]" in text


def test_the_example_says_every_key_of_every_table() -> None:
    tables = tomllib.loads((ROOT / "config.example.toml").read_text(encoding="utf-8"))
    for table in fields(Config):
        if table.name not in ("sources", "providers"):
            assert list(tables[table.name]) == [key.name for key in fields(getattr(Config(), table.name))]


def test_the_example_sources_and_providers_are_valid_once_uncommented() -> None:
    lines = (ROOT / "config.example.toml").read_text(encoding="utf-8").splitlines()
    wanted = re.compile(r"# (\[\[\w+\]\]|[a-z_]+ = )")
    config = parse("\n".join(line[2:] for line in lines if wanted.match(line)))
    assert [source.type for source in config.sources] == list(TYPES)
    assert [(provider.name, provider.tier) for provider in config.providers] == [("mine", 4)]


def test_identity_keys_are_lower_case_addresses_and_slack_accounts() -> None:
    me = IdentityConfig(emails=("Robin@Example.com",), slack=("T01:U02",))
    assert me.keys == ("email:robin@example.com", "slack:T01:U02")


def test_a_source_without_trust_has_the_default_of_its_type() -> None:
    code = '[[sources]]\nname = "code"\ntype = "git"\npath = "/srv/code"\n'
    assert [source.trust for source in parse(VAULT + code).sources] == ["own", "others"]


def test_each_type_has_its_own_settings_and_defaults() -> None:
    mail, team = parse(MAIL + "since = 2024-01-31\n" + TEAM + 'api_url = "http://127.0.0.1:8080/api/"\n').sources
    assert (mail.location, mail.trust, mail.secrets) == ("robin@mail.example.com", "others", {"password": "keyring:"})
    assert mail.settings() == {
        "trust": "others", "allow_cloud": True, "host": "mail.example.com", "user": "robin", "port": 0, "tls": "tls",
        "password": "keyring:", "folders": [], "exclude": [], "since": "2024-01-31", "max_body": 25_000_000,
    }  # fmt: skip
    assert (team.location, team.secrets) == ("127.0.0.1:8080", {"token": "keyring:"})
    assert team.settings()["lookback_days"] == 7


def test_a_secret_in_the_clear_is_told_how_to_be_stored() -> None:
    message = refusal(MAIL + 'password = "hunter2"\n')
    assert "line 6" in message
    assert "`ctxsync source secret work password`" in message


def test_a_key_of_a_provider_in_the_clear_is_told_how_to_be_stored() -> None:
    assert "`keyring set ctxsync cerebras/api_key`" in refusal('[cerebras]\napi_key = "csk-hunter2"\n')
    assert "`keyring set ctxsync mine/api_key`" in refusal(PROVIDER + 'api_key = "hunter2"\n')


def test_the_mode_is_local_only_whatever_it_says_unless_the_cloud_is_allowed() -> None:
    asked = '[extraction]\nmode = "cloud-quality"\n'
    assert parse(asked).mode == "local-only"
    assert parse(asked + "[privacy]\nallow_cloud = true\n").mode == "cloud-quality"


def test_a_source_may_be_stricter_about_the_cloud_and_never_looser() -> None:
    closed = parse(VAULT + "allow_cloud = true\n")
    assert not closed.cloud_allowed("vault")
    opened = parse(VAULT + "allow_cloud = false\n" + MAIL + "[privacy]\nallow_cloud = true\n")
    assert [opened.cloud_allowed(name) for name in ("vault", "work", "log", "gone")] == [False, True, True, False]


def test_a_path_from_the_home_directory_is_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/robin")
    source = parse(VAULT.replace("/srv/notes", "~/notes")).sources[0]
    assert source.settings()["path"] == "/home/robin/notes"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (VAULT + 'exlude = ["x"]\n', 'line 5: unknown key "exlude" in [[sources]] "vault"; did you mean "exclude"?'),
        ("\n[identiy]\nnames = []\n", 'line 2: there is no table or key "identiy"; did you mean "identity"?'),
        ('[identity]\nnames = "Robin"\n', 'line 2: "names" in [identity] must be a list of texts'),
        ("[privacy]\nallow_cloud = 1\n", 'line 2: "allow_cloud" in [privacy] must be true or false'),
        ('[sync]\nmax_delete_ratio = "a lot"\n', 'line 2: "max_delete_ratio" in [sync] must be a number'),
        ("[sync]\nmax_delete_ratio = 20\n", "must be from 0.0 to 1.0"),
        ("[schema]\nk = 2.5\n", 'line 2: "k" in [schema] must be a whole number'),
        ('[schema]\nmode = "closed"\n', "must be one of: open, strict"),
        ('[extraction]\nmode = "cloud"\n', "must be one of: local-only, cloud-fallback, cloud-quality"),
        ("[gate]\nmean_confidance = 0.5\n", 'line 2: unknown key "mean_confidance" in [gate]; did you mean "mean_con'),
        ("[gate]\nvalid_types = 60\n", '"valid_types" in [gate] must be from 0.0 to 1.0'),
        ('[local_llm]\nurl = "http://gpu.example.com:11434"\n', "must be an address that begins with https://"),
        ('[local_lm]\nurl = ""\n', 'there is no table or key "local_lm"; did you mean "local_llm"?'),
        ("[cerebras]\nrequests_per_minute = -1\n", "must be from 0 to"),
        ('[cerebras]\nsuccessors = "gpt"\n', "must be a list of texts"),
        (PROVIDER.replace("url", "ulr"), 'line 3: unknown key "ulr" in [[providers]] "mine"; did you mean "url"?'),
        (PROVIDER.replace('model = "m"\n', ""), 'line 1: [[providers]] "mine" lacks "model"'),
        (PROVIDER + PROVIDER, 'line 6: two providers are named "mine"'),
        (PROVIDER.replace("mine", "cerebras"), 'two providers are named "cerebras"'),
        (PROVIDER + "tier = 1\n", 'line 5: "tier" in [[providers]] "mine" must be from 2 to 4'),
        ("[providers]\n", "line 1: providers are tables, each under a [[providers]] line"),
        ("[retention]\nretracted = 30\n", 'can only be "forever" in this version'),
        ('[jobs]\nreconcile = "every hour"\n', "must be a cron line of five fields"),
        (VAULT.replace('notes"\n', 'slack"\n', 1), 'line 4: "path" in [[sources]] "vault" is of sources of type'),
        (
            VAULT + 'folders = ["INBOX"]\n',
            'line 5: "folders" in [[sources]] "vault" is of sources of type imap, not notes',
        ),
        (VAULT.replace('type = "notes"\n', ""), '[[sources]] "vault" lacks "type"'),
        (MAIL.replace('host = "mail.example.com"\n', ""), '[[sources]] "work" lacks "host"'),
        (MAIL + "port = 99999\n", 'line 6: "port" in [[sources]] "work" must be from 0 to 65535'),
        (MAIL + 'tls = "ssl"\n', "must be one of: tls, starttls, none"),
        (MAIL + "foldres = []\n", 'line 6: unknown key "foldres" in [[sources]] "work"; did you mean "folders"?'),
        (MAIL + 'since = "01/31/2024"\n', 'must be a date, as "2024-01-31"'),
        (MAIL + 'tls_ca = "ca.pem"\n', 'line 6: "tls_ca" in [[sources]] "work" must be absolute'),
        (MAIL.replace("mail.example", "https://mail.example"), 'must be the name of a server, as "imap.example.com"'),
        (MAIL + 'password = "keyring:"\noauth_token = "env:T"\n', 'has both "password" and "oauth_token"'),
        (TEAM + 'api_url = "http://example.com/api/"\n', "must be an address that begins with https://"),
        (VAULT.replace('notes"\n', 'note"\n', 1), 'line 3: unknown source type; did you mean "notes"?'),
        (VAULT.replace('name = "vault"\n', ""), '[[sources]] lacks "name"'),
        (VAULT + VAULT, 'line 6: two sources are named "vault"'),
        (VAULT.replace("vault", "log"), '"log" cannot name a source'),
        (VAULT.replace("vault", "../up"), '"../up" cannot name a source'),
        (VAULT.replace("/srv/notes", "notes"), 'line 4: "path" in [[sources]] "vault" must be absolute'),
        ("sources = 3\n", "line 1: sources are tables"),
        ("[identity\n", "is not valid TOML"),
    ],
)
def test_a_setting_that_means_nothing_is_refused_with_its_line_and_the_nearest_key(text: str, expected: str) -> None:
    assert expected in refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        VAULT + 'password = "hunter2"\n',
        MAIL + 'password = "hunter2"\n',
        MAIL + 'oauth_token = "hunter2"\n',
        TEAM + 'app_token = "xapp-hunter2"\n',
        TEAM + 'token = ["xoxb-hunter2"]\n',
        '[cerebras]\napi_key = "hunter2"\n',
        PROVIDER + 'api_key = "hunter2"\n',
        VAULT.replace("/srv/notes", "https://robin:hunter2@example.com/x"),
        'token = "hunter2"\n',
    ],
)
def test_a_secret_in_the_clear_is_refused_and_not_repeated(text: str) -> None:
    message = refusal(text)
    assert "in the clear" in message
    assert "hunter2" not in message


@pytest.mark.parametrize("text", ["[identity]\nnames = 5\n", 'nmaes = "hunter2"\n', VAULT + 'trust = "hunter2"\n'])
def test_no_refusal_repeats_a_value(text: str) -> None:
    assert "hunter2" not in refusal(text)


def test_a_file_that_is_not_utf8_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_config(Home(tmp_path))


@given(st.integers(0, 5), st.integers(0, 5))
def test_the_line_of_a_key_is_found_in_the_right_one_of_many_sources(before: int, after: int) -> None:
    entry = "[[sources]]\n# a comment\nname = 'x'\ntype='notes'\n"
    text = entry * before + "\n\n[[ sources ]]\nname = 'wrong'\n" + entry * after
    assert line_of(text, ("sources", before, "name")) == 4 * before + 4
