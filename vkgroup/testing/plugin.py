"""pytest plugin: fixture `vkgroup_device`, option ``--vkgroup-device``, and mark `subgroup_sizes`.

pytest loads the plugin in every run where vkgroup is installed. Therefore other modules of vkgroup are
imported only when a test uses a device.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from vkgroup.dispatch import Device

OPTION = "--vkgroup-device"

_MARK = (
    "subgroup_sizes(*sizes): run a test that uses vkgroup_device once at each subgroup size: on the "
    f"reference device, or with {OPTION} on that device, if it supports the size"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option ``--vkgroup-device``."""
    parser.getgroup("vkgroup").addoption(
        OPTION,
        metavar="D",
        help="device of the fixture vkgroup_device: as for `vkgroup run --device` (default: the best one; "
        "for tests with the mark subgroup_sizes the reference device)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark `subgroup_sizes`."""
    config.addinivalue_line("markers", _MARK)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Return the header line with the requested device."""
    choice = config.getoption(OPTION)
    return f"vkgroup device: {choice}" if choice else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests with the mark once at each size."""
    mark = metafunc.definition.get_closest_marker("subgroup_sizes")
    if mark is None:
        return
    if "vkgroup_device" not in metafunc.fixturenames:
        raise pytest.UsageError(
            f"{metafunc.definition.nodeid}: the mark subgroup_sizes needs the fixture vkgroup_device: "
            "add it to the arguments of the test."
        )
    metafunc.parametrize(
        "vkgroup_device", _sizes(mark, metafunc), indirect=True, ids=lambda size: f"size{size}"
    )


def _sizes(mark: pytest.Mark, metafunc: pytest.Metafunc) -> tuple[int, ...]:
    """Return the sizes of a mark."""
    good = all(type(size) is int and 1 <= size <= 128 and size & (size - 1) == 0 for size in mark.args)
    if mark.kwargs or not mark.args or not good:
        raise pytest.UsageError(
            f"{metafunc.definition.nodeid}: subgroup_sizes needs powers of two up to 128, as in "
            "@pytest.mark.subgroup_sizes(8, 32, 64)."
        )
    return tuple(dict.fromkeys(mark.args))


class _Devices:
    """Open devices of a pytest run; a lost device is opened again."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._open: dict[tuple[str | None, int | None], Device] = {}

    def get(self, choice: str | None, size: int | None) -> Device:
        """Return an open device, opened at the first call."""
        import vkgroup

        known = self._open.get((choice, size))
        if known is not None and not known.closed and not known.lost:
            return known
        opened = self._stack.enter_context(vkgroup.open(choice, subgroup_size=size))
        self._open[choice, size] = opened
        return opened

    def close(self) -> None:
        """Close all devices."""
        self._stack.close()


@pytest.fixture(scope="session")
def _vkgroup_devices() -> Iterator[_Devices]:
    devices = _Devices()
    yield devices
    devices.close()


@pytest.fixture
def vkgroup_device(request: pytest.FixtureRequest, _vkgroup_devices: _Devices) -> Device:
    """Return an open device: that of ``--vkgroup-device``, else the best one.

    In tests with the mark `subgroup_sizes` it is the reference device with the current size; with
    ``--vkgroup-device`` it is that device with the size required. If the device lacks the size, the test is
    skipped.
    """
    from vkgroup.base.errors import NoDevice, VkgroupError

    choice: str | None = request.config.getoption(OPTION)
    size: int | None = getattr(request, "param", None)
    try:
        if size is None:
            return _vkgroup_devices.get(choice, None)
        if choice is None or choice.lower().partition(":")[0] == "reference":
            return _vkgroup_devices.get("reference", size)
        return _of_size(_vkgroup_devices, choice, size)
    except VkgroupError as error:
        no_device = isinstance(error, NoDevice) and choice is not None
        why = f"{OPTION} {choice}: {error}" if no_device else str(error)
    pytest.fail(why, pytrace=False)


def _of_size(devices: _Devices, choice: str, size: int) -> Device:
    """Return a device with a subgroup size; skip the test if the device does not support the size."""
    device = devices.get(choice, None)
    control, declared = device.capabilities.size_control, device.capabilities.subgroup.size
    can_require = control.supported and "compute" in control.required_size_stages
    if can_require and control.min_size <= size <= control.max_size:
        return devices.get(choice, size)
    if size == declared and not (can_require and control.min_size < control.max_size):
        return device
    least, most = (control.min_size, control.max_size) if can_require else (declared, declared)
    range_ = str(least) if least == most else f"{least} to {most}"
    pytest.skip(
        f"{device.name} does not support subgroup size {size} (only {range_}); without {OPTION} the "
        "reference device runs this test at each size"
    )
