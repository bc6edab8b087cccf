"""Git hooks that tell ctxsync of new commits: installed beside what is there, taken away without a trace.

A hook is a hint and nothing else: it leaves a repository's path in `HOME/spool/git`, in the background, and neither
runs git nor Python. Knows nothing of who reads the spool. Without hooks the next sync finds every commit as well.

An existing shell script gets our lines behind its first one, so that it still runs under its own name (Husky's
look at it). Anything else (a program, a link, a script that is switched off) is put aside and called by ours.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
from pathlib import Path

from ctxsync.connectors.git.process import Repository, explain
from ctxsync.errors import Unavailable

HOOK = "post-commit"
CHAINED = f"{HOOK}.ctxsync-chained"
_OWN = b"#!/bin/sh\n# Made by ctxsync; `ctxsync hook uninstall` puts back what was here.\n"
_CALL = b"""\
chained=${0%/*}/post-commit.ctxsync-chained
if [ -x "$chained" ]; then exec "$chained" "$@"; fi
"""
_SHELL = re.compile(rb"#![ \t]*(?:/[^\s]*/)?(?:env[ \t]+)?(?:sh|bash|dash|ash|ksh|zsh)(?:[ \t]+-\w+)*[ \t]*\n")
_START, _END = b"# >>> ctxsync hook >>>\n", b"# <<< ctxsync hook <<<\n"
_BLOCK = re.compile(re.escape(_START) + rb".*?" + re.escape(_END), re.DOTALL)
# One file a work tree, renamed into place: however many commits nobody asks about, it stays one. In the background,
# with nothing of the caller's open, so that not even a home on a dead network disk holds a commit up.
_HINT = b"""\
(
    spool=%s
    [ -d "$spool" ] || exit 0
    here=$(pwd -P) || exit 0
    case ${GIT_DIR:-.git} in
        /*) directory=$GIT_DIR ;;
        *) directory=$here/${GIT_DIR:-.git} ;;
    esac
    name=$(printf '%%s' "$here" | cksum) || exit 0
    name=${name%%%% *}
    umask 077
    printf '%%s\\n' "$here" "$directory" >"$spool/.$name.$$" && mv -f "$spool/.$name.$$" "$spool/$name"
) </dev/null >/dev/null 2>&1 &
"""


def install(repository: Path, home: Path) -> list[str]:
    """Let new commits of a repository leave a hint at a home; again changes nothing.

    Args:
        repository: A work tree, a linked worktree or a bare repository.
        home: Whose spool; its `spool/git` is made.

    Returns:
        The hooks' files.

    Raises:
        AuthError: git refuses the repository.
        Unavailable: It is missing or none, hooks are switched off, or the hook cannot be written.
    """
    hook = _hook(repository)
    spool = home.absolute() / "spool" / "git"
    block = _START + _HINT % _quoted(os.fsencode(spool)) + _END
    try:
        spool.mkdir(mode=0o700, parents=True, exist_ok=True)
        hook.parent.mkdir(parents=True, exist_ok=True)
        present = os.path.lexists(hook)
        data = hook.read_bytes() if present and hook.is_file() else b""
        runs_as_shell = not hook.is_symlink() and os.access(hook, os.X_OK) and _SHELL.match(data)
        if data.startswith(_OWN) or runs_as_shell:
            _write(hook, _with_block(data, block), stat.S_IMODE(hook.stat().st_mode))
        else:
            if present:
                _put_aside(hook)
            _write(hook, _OWN + block + _CALL, 0o755)
    except OSError as error:
        raise _unwritable(hook, error) from error
    return [str(hook)]


def uninstall(repository: Path) -> list[str]:
    """Take the hooks away; what was there before is there again, byte by byte.

    Returns:
        The hooks' files that were changed; none when nothing was installed.

    Raises:
        AuthError: git refuses the repository.
        Unavailable: It is missing or none, or the hook cannot be written.
    """
    hook = _hook(repository)
    if not hook.is_file():
        return []
    try:
        data = hook.read_bytes()
        if not _BLOCK.search(data):
            return []
        left = _BLOCK.sub(b"", data, count=1)
        chained = hook.with_name(CHAINED)
        if left != _OWN + _CALL:
            # A script of others, or ours with lines that others added since: only what we wrote goes.
            _write(hook, left, stat.S_IMODE(hook.stat().st_mode))
        elif os.path.lexists(chained):
            chained.replace(hook)
        else:
            hook.unlink()
    except OSError as error:
        raise _unwritable(hook, error) from error
    return [str(hook)]


def _hook(repository: Path) -> Path:
    """Ask git where the hook stands: `core.hooksPath` and linked worktrees are its business."""
    # A relative core.hooksPath counts from the top of the work tree, which is where git runs hooks.
    inner = _git(repository, "rev-parse", "--is-inside-work-tree") == b"true"
    top = Path(os.fsdecode(_git(repository, "rev-parse", "--show-toplevel"))) if inner else repository
    folder = Path(os.fsdecode(_git(top, "rev-parse", "--path-format=absolute", "--git-path", "hooks")))
    if os.path.lexists(folder) and not folder.is_dir():
        raise Unavailable(
            f"Hooks are switched off for {repository} (core.hooksPath is {folder}).",
            remedy="`ctxsync sync` finds new commits without them.",
        )
    return folder / HOOK


def _git(path: Path, *arguments: str) -> bytes:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "-C", str(path), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, check=False, env={**environment, "LC_ALL": "C"})
    except FileNotFoundError as error:
        raise explain("env: git", 127, Repository(path, "")) from error
    if done.returncode:
        if not path.is_dir():
            raise Unavailable(f"{path} is not there.", remedy="Give a repository's folder to `ctxsync hook install`.")
        raise explain(done.stderr.decode("utf-8", "replace"), done.returncode, Repository(path, ""))
    return done.stdout.removesuffix(b"\n")


def _with_block(data: bytes, block: bytes) -> bytes:
    if _BLOCK.search(data):
        return _BLOCK.sub(lambda _: block, data, count=1)
    first, rest = data[: data.index(b"\n") + 1], data[data.index(b"\n") + 1 :]
    return first + block + rest


def _put_aside(hook: Path) -> None:
    chained = hook.with_name(CHAINED)
    if os.path.lexists(chained):
        raise Unavailable(
            f"{chained} is there already, and {hook} is another hook.",
            remedy=f"Move one of them away, then run `ctxsync hook install {hook.parent}` again.",
        )
    hook.rename(chained)


def _write(hook: Path, data: bytes, mode: int) -> None:
    if hook.is_file() and hook.read_bytes() == data:
        return
    new = hook.with_name(f".{HOOK}.ctxsync-new")
    new.write_bytes(data)
    new.chmod(mode)
    new.replace(hook)


def _quoted(path: bytes) -> bytes:
    return b"'" + path.replace(b"'", b"'\\''") + b"'"


def _unwritable(hook: Path, error: OSError) -> Unavailable:
    return Unavailable(
        f"The hook {hook} cannot be written: {error.strerror}.",
        remedy="Correct its permissions and try again; `ctxsync sync` finds new commits without it.",
    )
