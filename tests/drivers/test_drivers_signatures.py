"""Packages without a valid signature are refused, whatever the system's apt accepts."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from repository import Repository, SigningKey, new_key

from vkgroup import drivers
from vkgroup.base import choices
from vkgroup.base.errors import CompilerUnavailable, DriverFetchError
from vkgroup.drivers import apt, sources
from vkgroup.drivers.apt import Apt
from vkgroup.drivers.compilers import fetch_compiler

_source_lists = Apt._source_lists


@pytest.fixture
def configure(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that gives this host, no Debian, other package sources and settings of apt."""
    monkeypatch.setattr(Apt, "_source_lists", _source_lists)
    for module in (apt, sources):
        monkeypatch.setattr(module, "is_debian", lambda: False)
        monkeypatch.setattr(module, "system_keyring", lambda: None)
    folder = tmp_path / "etc"
    (folder / "parts").mkdir(parents=True)
    settings = {
        "Dir::Etc::main": "/dev/null",
        "Dir::Etc::parts": "/dev/null",
        "Dir::Etc::sourcelist": folder / "sources.list",
        "Dir::Etc::sourceparts": folder / "parts",
    }

    def write(one_line: str = "", deb822: str = "", **more: str) -> None:
        (folder / "sources.list").write_text(one_line)
        (folder / "parts" / "more.sources").write_text(deb822)
        lines = [f'{name} "{value}";' for name, value in (settings | more).items()]
        (folder / "apt.conf").write_text("\n".join(lines))

    monkeypatch.setenv("APT_CONFIG", str(folder / "apt.conf"))
    return write


UNSAFE = {
    "APT::Get::AllowUnauthenticated": "true",
    "Acquire::AllowInsecureRepositories": "true",
    "Acquire::AllowWeakRepositories": "true",
    "Acquire::AllowDowngradeToInsecureRepositories": "true",
}


def _deb822(repository: Repository, *lines: str) -> str:
    fields = (
        "Types: deb",
        f"URIs: file:{repository.folder}",
        "Suites: ./",
        f"Signed-By: {repository.key.public}",
    )
    return "\n".join(("# a comment", *fields, *lines)) + "\n"


def _refusal() -> str:
    """Return the message of a refused fetch, which is one line and leaves nothing."""
    with pytest.raises(DriverFetchError, match="Packages that cannot be verified are refused: ") as caught:
        drivers.fetch("swiftshader")
    (line,) = str(caught.value).splitlines()
    assert drivers.installed() == []
    return line


def test_signed_packages_of_the_system_s_sources_are_accepted(
    repository: Repository, configure: Callable[..., None]
) -> None:
    repository.add_swiftshader("156.0-1")
    configure(f"# a comment\ndeb-src {repository.folder}\n{repository.source}  # the only one\n")
    assert drivers.fetch("swiftshader").version == "156.0"
    repository.add_swiftshader("157.0-1")
    key = "\n".join(f" {line or '.'}" for line in repository.key.armored().splitlines())
    stanza = _deb822(repository, "Enabled: yes").replace(str(repository.key.public), f"\n{key}")
    configure(deb822=f"{_deb822(repository, 'Enabled: no', 'Trusted: yes')}\n{stanza}")
    for stamp in drivers.cache_folder().glob("apt/*/verified"):
        stamp.unlink()
    assert drivers.fetch("swiftshader-157.0").version == "157.0"


@pytest.mark.parametrize("option", ["", "Trusted: yes", "Allow-Insecure: yes"])
def test_an_unsigned_source_is_refused(
    option: str, repository: Repository, configure: Callable[..., None]
) -> None:
    repository.add_swiftshader("156.0-1")
    (repository.folder / "InRelease").unlink()
    configure(deb822=_deb822(repository, option), **UNSAFE)
    if not option:
        assert re.search(
            r"repository 'file:.*/repository \./ Release' (is not signed|does not have)", _refusal()
        )
        return
    name = option.partition(":")[0].lower()
    with pytest.raises(
        DriverFetchError, match=rf"switches off verification: file:\S+/repository \({name}\)\."
    ):
        drivers.fetch("swiftshader")
    one_line = f"deb [ arch=amd64 {name}=yes ] file:{repository.folder} ./\n"
    configure(one_line, **UNSAFE)
    with pytest.raises(
        DriverFetchError, match=rf"switches off verification: file:\S+/repository \({name}\)\."
    ):
        drivers.fetch("swiftshader")
    for compiler in choices.FETCHED_COMPILERS:
        with pytest.raises(CompilerUnavailable, match=rf"switches off verification: .* \({name}\)"):
            fetch_compiler(compiler)


def test_a_source_without_verification_does_not_keep_others_from_use(
    repository: Repository, tmp_path: Path, configure: Callable[..., None]
) -> None:
    unsigned = Repository(tmp_path / "unsigned", repository.key)
    unsigned.add_swiftshader("999.0-1")
    (unsigned.folder / "InRelease").unlink()
    repository.add_swiftshader("156.0-1")
    configure(f"{repository.source}\ndeb [trusted=yes] file:{unsigned.folder} ./\n", **UNSAFE)
    assert drivers.fetch("swiftshader").version == "156.0"
    with pytest.raises(DriverFetchError, match=rf"Not used, .*: file:{unsigned.folder} \(trusted\)\."):
        drivers.fetch_package(["absent"], tmp_path / "into")


def test_a_wrong_signature_is_refused(repository: Repository, configure: Callable[..., None]) -> None:
    repository.add_swiftshader("156.0-1")
    configure(repository.source, **UNSAFE)
    with new_key() as other:
        Repository.publish(_with_key(repository, other))
    assert re.search(r"NO_PUBKEY|[Mm]issing key|not signed", _refusal())


def test_a_changed_list_is_refused(repository: Repository, configure: Callable[..., None]) -> None:
    repository.add_swiftshader("156.0-1")
    configure(repository.source, **UNSAFE)
    signed = (repository.folder / "InRelease").read_text()
    (repository.folder / "InRelease").write_text(signed.replace(" Packages", " packages"))
    assert re.search(r"BADSIG|[Ss]ignature|not signed", _refusal())
    repository.publish()
    with (repository.folder / "Packages").open("a") as index:
        index.write("\n")
    assert re.search(r"Hash Sum mismatch|unexpected size", _refusal())


def test_an_outdated_list_is_refused(repository: Repository, configure: Callable[..., None]) -> None:
    repository.add_swiftshader("156.0-1")
    repository.publish(until=datetime.now(UTC) - timedelta(days=2))
    configure(repository.source, **UNSAFE)
    assert "is expired" in _refusal()
    configure(deb822=_deb822(repository, "Check-Valid-Until: no"), **UNSAFE)
    with pytest.raises(DriverFetchError, match=r"/repository \(check-valid-until\)"):
        drivers.fetch("swiftshader")


def test_a_changed_package_is_refused(repository: Repository, configure: Callable[..., None]) -> None:
    archive = repository.add_swiftshader("156.0-1")
    configure(repository.source, **UNSAFE)
    data = bytearray(archive.read_bytes())
    data[-600] ^= 1
    archive.write_bytes(data)
    assert "Hash Sum mismatch" in _refusal()


def test_lists_of_an_earlier_version_are_not_used(
    repository: Repository, configure: Callable[..., None]
) -> None:
    """Lists are used for six hours; earlier versions stored unsigned ones, with the name ``updated``."""
    repository.add_swiftshader("156.0-1")
    (repository.folder / "InRelease").unlink()
    configure(repository.source)
    folder = drivers.cache_folder() / "apt" / apt.distribution()
    (folder / "lists").mkdir(parents=True)
    (folder / "updated").touch()
    options = [
        f"Dir::Etc::sourcelist={repository.folder}/unsigned.list",
        f"Dir::State::Lists={folder}/lists/",
    ]
    (repository.folder / "unsigned.list").write_text(f"deb [trusted=yes] file:{repository.folder} ./\n")
    subprocess.run(["apt-get", "update", *(word for o in options for word in ("-o", o))], check=True)
    assert list((folder / "lists").glob("*Packages*"))
    _refusal()


def _with_key(repository: Repository, key: SigningKey) -> Repository:
    repository.key = key
    return repository
