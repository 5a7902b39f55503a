"""Fetching drivers: the real apt on packages made for the test."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from repository import Repository

from vkgroup import drivers
from vkgroup.base.errors import DriverFetchError, InvalidInput, NoDevice
from vkgroup.drivers import apt, own_c_library
from vkgroup.drivers.sources import debian_sources

_LACKING = "libvkgroup-test-lacking.so.1"
_DEEPER = "libvkgroup-test-deeper.so.1"


def test_a_driver_is_complete_and_has_nothing_else(repository: Repository) -> None:
    repository.add_swiftshader("156.0.8078.79-1~deb12u1")
    driver = drivers.fetch("swiftshader")
    assert (driver.name, driver.version) == ("swiftshader-156.0.8078.79", "156.0.8078.79")
    assert driver.package == "chromium-common 156.0.8078.79-1~deb12u1"
    names = {path.relative_to(driver.folder).as_posix() for path in driver.folder.rglob("*")}
    assert names == {
        "driver.json",
        "icd.json",
        "layers",
        "layers/VkLayer_khronos_validation.json",
        "layers/libVkLayer_khronos_validation.so",
        "libvk_swiftshader.so",
        "libvulkan.so.1",
    }
    assert driver.loader == driver.folder / "libvulkan.so.1"
    assert driver.layers == driver.folder / "layers"
    assert driver.preload == ()


def test_the_manifests_name_libraries_beside_them(repository: Repository) -> None:
    repository.add_swiftshader("156.0-1")
    repository.add_lavapipe("25.0.7-2~bpo12+1")
    for name in ("swiftshader", "lavapipe"):
        driver = drivers.fetch(name)
        icd = json.loads(driver.icd.read_text())["ICD"]
        assert icd["api_version"] == "1.3.0"
        assert (driver.icd.parent / icd["library_path"]).is_file()
        assert icd["library_path"].startswith("./")
        assert driver.layers is not None
        layer = json.loads((driver.layers / "VkLayer_khronos_validation.json").read_text())["layer"]
        assert layer["name"] == "VK_LAYER_KHRONOS_validation"
        assert (driver.layers / layer["library_path"]).is_file()


def test_the_newest_version_is_meant_and_others_lie_beside_it(repository: Repository) -> None:
    repository.add_swiftshader("156.0-1")
    for version in ("22.3.6-1+deb12u2", "25.0.7-2~bpo12+1", "9.9-1"):
        repository.add_lavapipe(version)
    assert drivers.fetch("lavapipe").name == "lavapipe-25.0.7"
    assert drivers.fetch("lavapipe-22.3.6").name == "lavapipe-22.3.6"
    assert [d.name for d in drivers.installed()] == ["lavapipe-25.0.7", "lavapipe-22.3.6"]
    assert drivers.path("lavapipe").name == "lavapipe-25.0.7"
    assert drivers.path("lavapipe-22.3.6").version == "22.3.6"


def test_a_driver_in_the_cache_is_not_fetched_again(repository: Repository) -> None:
    repository.add_swiftshader("156.0-1")
    first = drivers.fetch("swiftshader")
    shutil.rmtree(repository.folder)
    assert drivers.fetch("swiftshader") == first


def test_a_loader_that_a_driver_has_is_shared_by_the_next(repository: Repository) -> None:
    repository.add_swiftshader("156.0-1")
    repository.add_lavapipe("25.0-1")
    first, second = drivers.fetch("swiftshader"), drivers.fetch("lavapipe")
    assert first.loader.stat().st_ino == second.loader.stat().st_ino
    assert second.runtime == ("chromium-common 156.0-1",)


def test_without_chromium_the_distribution_s_own_loader_is_taken(repository: Repository) -> None:
    repository.add_lavapipe("25.0-1")
    repository.add_library("libvulkan1", "libvulkan.so.1")
    repository.add_library("vulkan-validationlayers", "libVkLayer_khronos_validation.so")
    driver = drivers.fetch("lavapipe")
    assert driver.runtime == ("libvulkan1 1.0-1", "vulkan-validationlayers 1.0-1")
    with pytest.raises(DriverFetchError, match="fetch `lavapipe` instead"):
        drivers.fetch("swiftshader")


def test_a_derivative_takes_debian_s_package_by_its_own_copy_of_the_keys(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    debian = Repository(tmp_path / "debian", repository.key)
    debian.add_swiftshader("156.0-1")
    debian.add_lavapipe("25.0-1")
    (tmp_path / "keys").write_text("keys")
    keyring = "usr/share/keyrings/debian-archive-keyring.gpg"
    repository.add("debian-archive-keyring", "1-1", {keyring: tmp_path / "keys"})
    repository.add_lavapipe("24.0-1")
    repository.add_library("libvulkan1", "libvulkan.so.1")
    repository.add_library("vulkan-validationlayers", "libVkLayer_khronos_validation.so")
    asked: list[Path] = []
    monkeypatch.setattr(apt, "is_debian", lambda: False)
    monkeypatch.setattr(apt, "system_keyring", lambda: None)

    def debian_sources(release: str, keyring: Path) -> str:
        asked.append(keyring)
        return debian.source

    monkeypatch.setattr(apt, "debian_sources", debian_sources)
    monkeypatch.setattr(apt.Apt, "_source_lists", lambda self: [self._sources or repository.source])
    assert drivers.fetch("swiftshader").version == "156.0"
    assert asked[0].read_text() == "keys"
    assert [s.name for s in drivers.list_drivers()] == [
        "swiftshader-156.0",
        "lavapipe-25.0",
        "lavapipe-24.0",
    ]
    assert drivers.fetch("lavapipe").version == "24.0"
    assert drivers.fetch("lavapipe-25.0").version == "25.0"
    with pytest.raises(DriverFetchError, match=r"it offers lavapipe-24\.0"):
        drivers.fetch("lavapipe-99.0")


def test_debian_12_builds_a_version_that_a_later_debian_lacks_or_builds_otherwise(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = Repository(tmp_path / "bookworm", repository.key)
    for source, builds in ((older, ("22.3-1+deb12u1", "25.0-1+deb12u1")), (repository, ("25.0-1+deb13u1",))):
        for build in builds:
            source.add_lavapipe(build)
        source.add_library("libvulkan1", "libvulkan.so.1")
        source.add_library("vulkan-validationlayers", "libVkLayer_khronos_validation.so")
    monkeypatch.setattr(apt, "is_debian", lambda: True)
    monkeypatch.setattr(apt, "debian_sources", lambda release, keys: older.source)
    monkeypatch.setattr(apt.Apt, "_source_lists", lambda self: [self._sources or repository.source])
    assert drivers.fetch("lavapipe-22.3").package.endswith("+deb12u1")
    assert drivers.fetch("lavapipe-25.0").package.endswith("+deb13u1")
    monkeypatch.setenv("VKGROUP_CACHE", str(tmp_path / "another cache"))
    assert drivers.fetch("lavapipe-25.0", bookworm=True).package.endswith("+deb12u1")


def test_debian_s_own_sources_are_signed_by_its_keys() -> None:
    lines = debian_sources("bookworm", Path("/some/keys.gpg")).splitlines()
    assert [line.split()[3] for line in lines] == ["bookworm", "bookworm-backports", "bookworm-security"]
    assert all(line.startswith("deb [signed-by=/some/keys.gpg] http://deb.debian.org/") for line in lines)


def _shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-10])


def _change(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[0] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [_shorten, _change, os.unlink])
@pytest.mark.parametrize("file", ["libvk_swiftshader.so", "icd.json", "driver.json"])
def test_a_damaged_driver_is_fetched_again(
    repository: Repository, damage: Callable[[Path], None], file: str
) -> None:
    repository.add_swiftshader("156.0-1")
    driver = drivers.fetch("swiftshader")
    before = (driver.folder / file).read_bytes()
    damage(driver.folder / file)
    assert drivers.installed() == []
    with pytest.raises(NoDevice, match="vkgroup drivers fetch swiftshader"):
        drivers.path("swiftshader")
    assert drivers.fetch("swiftshader").version == "156.0"
    if file != "driver.json":  # which records when the files were written
        assert (driver.folder / file).read_bytes() == before
    assert drivers.path("swiftshader").folder == driver.folder


def test_a_driver_that_was_moved_is_whole(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.add_swiftshader("156.0-1")
    old = drivers.fetch("swiftshader")
    shutil.copytree(old.folder, tmp_path / "elsewhere" / "drivers" / old.name)  # other times, same bytes
    monkeypatch.setenv("VKGROUP_CACHE", str(tmp_path / "elsewhere"))
    assert drivers.path("swiftshader").icd.parent == tmp_path / "elsewhere" / "drivers" / old.name


def test_an_altered_package_is_refused_and_leaves_nothing(repository: Repository, cache: Path) -> None:
    archive = repository.add_swiftshader("156.0-1")
    data = bytearray(archive.read_bytes())
    data[-600] ^= 1
    archive.write_bytes(data)
    with pytest.raises(DriverFetchError, match=r"(?i)hash sum mismatch"):
        drivers.fetch("swiftshader")
    assert [path.name for path in (cache / "drivers").iterdir()] == [".lock"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"driver": "/dev/zero"}, "leads out of them"),
        ({"driver": "../" * 30 + "etc/passwd"}, "leads out of them"),
        ({"driver": ""}, "it is a pipe"),
        ({"manifest": "/etc/passwd"}, "leads out of them"),
        ({"manifest": ""}, "it is a pipe"),
        ({"manifest": Path(__file__)}, "is no manifest"),
        ({"driver": "nowhere"}, "have no usr/lib/chromium/libvk_swiftshader"),
    ],
)
def test_links_and_pipes_in_a_package_are_refused(
    repository: Repository, cache: Path, files: dict[str, Path | str], message: str
) -> None:
    repository.add_swiftshader("156.0-1", **files)
    with pytest.raises(DriverFetchError, match=message):
        drivers.fetch("swiftshader")
    assert [path.name for path in (cache / "drivers").iterdir()] == [".lock"]


def test_what_an_interrupted_fetch_left_is_removed(repository: Repository, cache: Path) -> None:
    left = cache / "drivers" / "unfinished-abc" / "swiftshader-156.0"
    left.mkdir(parents=True)
    (left / "libvk_swiftshader.so").write_bytes(b"half")
    assert drivers.installed() == []
    repository.add_swiftshader("156.0-1")
    drivers.fetch("swiftshader")
    assert sorted(path.name for path in (cache / "drivers").iterdir()) == [".lock", "swiftshader-156.0"]


def test_an_interruption_leaves_nothing(
    repository: Repository, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.add_swiftshader("156.0-1")

    def interrupt(what: str, fraction: float) -> None:
        if what != "package lists":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        drivers.fetch("swiftshader", interrupt)
    assert [path.name for path in (cache / "drivers").iterdir()] == [".lock"]


def test_concurrent_fetches_make_one_driver(repository: Repository, cache: Path) -> None:
    repository.add_swiftshader("156.0-1")
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: drivers.fetch("swiftshader"), range(4)))
    assert all(driver == made[0] for driver in made)
    assert sorted(path.name for path in (cache / "drivers").iterdir()) == [".lock", "swiftshader-156.0"]


def test_libraries_that_the_host_lacks_come_along_in_the_order_to_load_them(repository: Repository) -> None:
    repository.add_swiftshader("156.0-1")
    repository.add_library("unneeded", "libvkgroup-test-unneeded.so.1")
    repository.add_library("deeper", _DEEPER)
    repository.add_library("lacking", _LACKING, (_DEEPER,), "deeper, unneeded")
    repository.add_lavapipe("25.0-1", (_LACKING, "libc.so.6"), "lacking")
    driver = drivers.fetch("lavapipe")
    assert [path.name for path in driver.preload] == [_DEEPER, _LACKING]
    with pytest.raises(OSError, match=_LACKING):
        ctypes.CDLL(str(driver.folder / "libvulkan_lvp.so"))
    assert drivers.fetch("lavapipe") == driver


def test_a_library_that_nothing_has_is_named(repository: Repository, cache: Path) -> None:
    repository.add_swiftshader("156.0-1")
    repository.add_lavapipe("25.0-1", (_LACKING,))
    with pytest.raises(DriverFetchError, match=_LACKING):
        drivers.fetch("lavapipe")
    assert [path.name for path in (cache / "drivers").iterdir()] == [".lock"]


def test_packages_are_unpacked_with_what_they_need(repository: Repository, tmp_path: Path) -> None:
    repository.add_library("tool-library", "libtool.so.1")
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    repository.add("tool", "2:1.0-1", {"usr/bin/tool": tmp_path / "tool"}, "tool-library")
    folder = drivers.fetch_package(["tool"], tmp_path / "some where")
    assert (folder / "usr/bin/tool").read_text() == "#!/bin/sh\n"
    assert (folder / "usr/lib/x86_64-linux-gnu/libtool.so.1").is_file()
    alone = drivers.fetch_package(["tool"], tmp_path / "alone", dependencies=False)
    assert not (alone / "usr/lib").exists()
    with pytest.raises(DriverFetchError, match="have no `nonesuch`"):
        drivers.fetch_package(["nonesuch"], tmp_path / "x")


def test_progress_reaches_its_end(repository: Repository) -> None:
    repository.add_swiftshader("156.0-1")
    seen: list[tuple[str, float]] = []
    drivers.fetch("swiftshader", lambda what, fraction: seen.append((what, fraction)))
    assert seen[-1] == ("chromium-common", 1.0)
    assert all(0 <= fraction <= 1 for _, fraction in seen)


def test_a_version_that_appeared_since_is_found(repository: Repository) -> None:
    repository.add_swiftshader("156.0-1")
    drivers.fetch("swiftshader")
    repository.add_swiftshader("157.0-1")
    stamp = next((drivers.cache_folder() / "apt").glob("*/verified"))
    os.utime(stamp, (stamp.stat().st_atime, stamp.stat().st_mtime - 3600))
    assert drivers.fetch("swiftshader-157.0").version == "157.0"


def test_the_list_has_what_is_there_and_what_could_be(repository: Repository) -> None:
    repository.add_swiftshader("156.0-1")
    archive = repository.add_lavapipe("25.0-1")
    repository.add_lavapipe("22.3-1")
    drivers.fetch("lavapipe-22.3")
    listed = drivers.list_drivers()
    assert [status.name for status in listed] == ["swiftshader-156.0", "lavapipe-25.0", "lavapipe-22.3"]
    assert [status.driver is not None for status in listed] == [False, False, True]
    assert listed[1].download_size == archive.stat().st_size


def test_the_list_has_a_driver_that_is_no_longer_offered(repository: Repository, cache: Path) -> None:
    repository.add_swiftshader("156.0-1")
    drivers.fetch("swiftshader")
    repository.clear()
    shutil.rmtree(cache / "apt")
    (status,) = drivers.list_drivers()
    assert (status.name, status.download_size, status.suite) == ("swiftshader-156.0", None, "")
    assert status.driver == drivers.path("swiftshader-156.0")


@pytest.mark.parametrize(
    "name", ["", "Lavapipe", "lavapipe-", "lavapipe-x", "swift shader", "radeon", "../x"]
)
def test_a_name_that_no_driver_has(cache: Path, name: str) -> None:
    for function in (drivers.path, drivers.fetch):
        with pytest.raises(
            InvalidInput, match="Choose from honeykrisp, lavapipe, nvk, radv, swiftshader, turnip"
        ):
            function(name)


def test_a_version_that_is_not_offered(repository: Repository) -> None:
    repository.add_swiftshader("156.0-1")
    with pytest.raises(DriverFetchError, match=r"it offers swiftshader-156\.0"):
        drivers.fetch("swiftshader-99")


def test_elsewhere_than_on_debian_it_says_what_to_install(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(DriverFetchError, match="no `apt-get`") as caught:
        drivers.fetch("lavapipe")
    for manager in ("apt-get install", "dnf install", "pacman -S", "make bundle"):
        assert manager in str(caught.value)


@pytest.mark.parametrize("name", ["swiftshader", "lavapipe", "radv", "nvk-26.1.6"])
def test_without_network_it_says_what_to_install(
    cache: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    nowhere = "deb http://nowhere.invalid/debian stable main"
    monkeypatch.setattr(apt.Apt, "_source_lists", lambda _: [nowhere])
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with pytest.raises(DriverFetchError, match=r"nowhere\.invalid") as caught:
        drivers.fetch(name)
    # No package of a distribution compiles for absent GPUs.
    assert ("apt-get install" in str(caught.value)) == (name in ("swiftshader", "lavapipe"))
    assert f"make bundle DRIVERS={name}`" in str(caught.value)
    assert drivers.installed() == []


def test_a_user_without_a_home_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VKGROUP_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/nonexistent")
    with pytest.raises(NoDevice, match=r"HOME.*VKGROUP_CACHE"):
        drivers.path("radv")


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("VKGROUP_CACHE", str(tmp_path / "file"))
    assert drivers.installed() == []
    with pytest.raises(DriverFetchError, match="VKGROUP_CACHE"):
        drivers.fetch("swiftshader")


def test_a_package_is_downloaded_once_for_several_drivers(repository: Repository, tmp_path: Path) -> None:
    package = repository.add_lavapipe("1:25.0.7-2~bpo12+1")
    downloads = tmp_path / "downloads"
    downloads.mkdir()
    sources = apt.Apt(tmp_path / "apt", repository.source, downloads)
    sources.update()
    for folder in ("first", "second"):
        sources.unpack([sources.newest("mesa-vulkan-drivers")], tmp_path / folder)
        assert list((tmp_path / folder).rglob("libvulkan_radeon.so"))
        package.unlink(missing_ok=True)
    with pytest.raises(DriverFetchError):
        apt.Apt(tmp_path / "apt").unpack([sources.newest("mesa-vulkan-drivers")], tmp_path / "third")


def test_the_lists_of_packages_stay_small(repository: Repository, cache: Path) -> None:
    repository.add_swiftshader("156.0-1")
    drivers.fetch("swiftshader")
    drivers.list_drivers()
    files = [path.name for path in (cache / "apt").rglob("*") if path.is_file()]
    assert [name for name in files if "_Packages" in name]
    assert not [name for name in files if name.endswith(("_Packages", "cache.bin"))]


@pytest.mark.parametrize("has_backports", [True, False])
def test_a_release_with_backports_is_downloaded_once(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_backports: bool
) -> None:
    monkeypatch.setattr(apt, "is_debian", lambda: True)
    monkeypatch.setattr(apt, "os_release", lambda: {"VERSION_CODENAME": "trixie"})
    monkeypatch.setattr(apt, "debian_sources", lambda release, keys: repository.source)
    system = apt.Apt(tmp_path / "apt")
    system.update()
    if has_backports:
        (tmp_path / "apt" / "lists" / "deb.debian.org_debian_dists_trixie-backports_InRelease").touch()
    assert (system.debian("trixie") is system) == has_backports
    assert system.debian("sid") is not system


def test_several_drivers_are_fetched_by_one_call(repository: Repository, cache: Path) -> None:
    repository.add_swiftshader("156.0-1")
    repository.add_lavapipe("25.0-1")
    fetched = list(drivers.fetch_all(["swiftshader", "lavapipe"]))
    assert [driver.name for driver in fetched] == ["swiftshader-156.0", "lavapipe-25.0"]
    names = [path.name for path in (cache / "drivers").iterdir()]
    assert sorted(names) == [".lock", "lavapipe-25.0", "swiftshader-156.0"]


@pytest.mark.parametrize(
    ("family", "versions"),
    [("radv", ["26.1.6", "25.0.7"]), ("turnip", ["26.1.6"]), ("honeykrisp", ["26.1.6"])],
)
def test_versions_without_the_library_are_not_offered(
    repository: Repository, tmp_path: Path, family: str, versions: list[str]
) -> None:
    for version in ("25.0.7-2", "26.1.6-1"):
        repository.add_lavapipe(version)
        repository.add("mesa-drm-shim", version, {})
    sources = apt.Apt(tmp_path / "apt", repository.source)
    sources.update()
    offered = own_c_library.packages_with_shim(sources, drivers.FAMILIES[family])
    assert [package.upstream for package in offered] == versions
