"""GPUs for which a driver compiles without the hardware: their names, and how a driver learns which it is.

Mesa's package ``mesa-drm-shim`` has libraries that answer in place of the kernel's driver. They accept all
work and execute nothing. An environment variable chooses the GPU.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from vkgroup.base.suggestions import similar


@dataclass(frozen=True)
class Gpu:
    """A GPU that a driver can compile for."""

    family: str  # the driver's family, such as ``radv``
    name: str  # its name after the colon of ``--device radv:navi31``, with the file of another build
    value: str  # the value of the driver's variable; empty if the driver knows one GPU only
    generation: str  # the vendor's name of the architecture
    products: str  # examples of products
    since: str = ""  # the first version of Debian's package that knows it; empty if all versions do
    llvm: str = ""  # LLVM's name of an AMD GPU's instruction set, which several GPUs may have

    @property
    def choice(self) -> str:
        """The value of ``--device``, without a version: ``radv:navi31``."""
        return f"{self.family}:{self.name}"


def _radv(name: str, llvm: str, generation: str, products: str, since: str = "") -> Gpu:
    return Gpu("radv", name, name, generation, products, since, llvm)


def _nvk(name: str, chipset: int, generation: str, products: str, since: str = "") -> Gpu:
    return Gpu("nvk", name, f"{chipset:#x}", generation, products, since)


def _turnip(name: str, generation: str, products: str) -> Gpu:
    return Gpu("turnip", name, name, generation, f"Adreno {name}, {products}")


GPUS = (
    _radv("polaris10", "gfx803", "GCN 4", "Radeon RX 470, RX 480, RX 570, RX 580"),
    _radv("polaris12", "gfx803", "GCN 4", "Radeon RX 550"),
    _radv("vega10", "gfx900", "GCN 5", "Radeon RX Vega 56, RX Vega 64"),
    _radv("vega20", "gfx906", "GCN 5", "Radeon VII, Radeon Pro VII", since="26"),
    _radv("raven", "gfx902", "GCN 5", "Ryzen 2000 and 3000 with Radeon Vega"),
    _radv("raven2", "gfx909", "GCN 5", "Ryzen 3 3200U, Athlon 300U"),
    _radv("renoir", "gfx90c", "GCN 5", "Ryzen 4000 with Radeon Graphics"),
    _radv("navi10", "gfx1010", "RDNA 1", "Radeon RX 5600 XT, RX 5700 XT"),
    _radv("navi21", "gfx1030", "RDNA 2", "Radeon RX 6800, RX 6900 XT"),
    _radv("vangogh", "gfx1033", "RDNA 2", "Steam Deck"),
    _radv("rembrandt", "gfx1035", "RDNA 2", "Ryzen 6000 with Radeon 680M", since="26"),
    _radv("raphael_mendocino", "gfx1036", "RDNA 2", "Ryzen 7000 desktop, Ryzen 7020"),
    _radv("navi31", "gfx1100", "RDNA 3", "Radeon RX 7900 XT, RX 7900 XTX"),
    _radv("navi33", "gfx1102", "RDNA 3", "Radeon RX 7600", since="26"),
    _radv("phoenix", "gfx1103", "RDNA 3", "Ryzen 7040 with Radeon 780M", since="26"),
    _radv("strix1", "gfx1150", "RDNA 3.5", "Ryzen AI 300 with Radeon 890M", since="26"),
    _radv("gfx1201", "gfx1201", "RDNA 4", "Radeon RX 9070, RX 9070 XT", since="26"),
    _nvk("gk104", 0xE4, "Kepler", "GeForce GTX 680", since="26"),
    _nvk("gm107", 0x117, "Maxwell 1", "GeForce GTX 750 Ti", since="26"),
    _nvk("gm204", 0x124, "Maxwell 2", "GeForce GTX 970, GTX 980", since="26"),
    _nvk("gp102", 0x132, "Pascal", "GeForce GTX 1080 Ti", since="26"),
    _nvk("gp104", 0x134, "Pascal", "GeForce GTX 1070, GTX 1080", since="26"),
    _nvk("gv100", 0x140, "Volta", "Titan V, Tesla V100", since="26"),
    _nvk("tu102", 0x162, "Turing", "GeForce RTX 2080 Ti"),
    _nvk("tu104", 0x164, "Turing", "GeForce RTX 2080"),
    _nvk("tu116", 0x168, "Turing", "GeForce GTX 1660"),
    _nvk("ga100", 0x170, "Ampere", "A100"),
    _nvk("ga102", 0x172, "Ampere", "GeForce RTX 3080, RTX 3090"),
    _nvk("ga104", 0x174, "Ampere", "GeForce RTX 3070"),
    _nvk("ga106", 0x176, "Ampere", "GeForce RTX 3060"),
    _turnip("618", "Adreno 6xx", "Snapdragon 730"),
    _turnip("630", "Adreno 6xx", "Snapdragon 845"),
    _turnip("660", "Adreno 6xx", "Snapdragon 888"),
    _turnip("702", "Adreno 6xx", "QCM2290"),
    _turnip("730", "Adreno 7xx", "Snapdragon 8 Gen 1"),
    _turnip("740", "Adreno 7xx", "Snapdragon 8 Gen 2"),
    _turnip("750", "Adreno 7xx", "Snapdragon 8 Gen 3"),
    _turnip("810", "Adreno 8xx", "Snapdragon 7s Gen 3"),
    _turnip("830", "Adreno 8xx", "Snapdragon 8 Elite"),
    Gpu("honeykrisp", "m1", "", "Apple G13", "Apple M1"),
)
"""All GPUs, those of a driver from old to new."""

WITHOUT_SHIM = ("intel", "anv", "arc", "iris", "mali", "immortalis", "panvk")
"""Words for drivers of Mesa and GPUs for which ``mesa-drm-shim`` has no library."""

_VENDORS = {
    "radv": "amd radv radeon rx ryzen vega",
    "nvk": "nvidia nvk geforce rtx gtx quadro tesla",
    "turnip": "qualcomm turnip adreno snapdragon",
    "honeykrisp": "apple honeykrisp",
}
"""Words of names of GPUs by the family of the driver that compiles for them."""


def gpus_of(family: str) -> tuple[Gpu, ...]:
    """Return the GPUs that a family of drivers compiles for; none for drivers that execute."""
    return tuple(gpu for gpu in GPUS if gpu.family == family)


def is_emulated(gpu: Gpu) -> bool:
    """Return whether a GPU's machine code can be executed without it: AMD's, by `vkgroup.amd`."""
    return gpu.family == "radv"


def gpu_of_product(name: str) -> Gpu | None:
    """Return the first GPU with a product, with or without ``Radeon`` or ``GeForce``, or a name of LLVM."""
    word = _plain(name) or "none"
    return next((gpu for gpu in GPUS if word in (gpu.llvm, *map(_plain, gpu.products.split(",")))), None)


def _plain(product: str) -> str:
    return product.lower().replace("radeon ", "").replace("geforce ", "").strip()


def why_absent(name: str) -> str:
    """Return why there are no GPUs of a driver or product to compile for; empty if there may be."""
    text = (
        f"There are no compile-only devices of `{name}`: Debian's package mesa-drm-shim has no library"
        " that answers in place of its kernel driver."
    )
    return text if {*WITHOUT_SHIM} & {*re.findall("[a-z]+", name.lower())} else ""


def compile_only_hint(name: str, fetched_drivers: Collection[str]) -> str:
    """Return which GPUs a name that fits no device may mean, or why there are none; empty if unknown."""
    words = {*re.findall("[a-z]+", name.lower())}
    family = next((family for family, names in _VENDORS.items() if words & {*names.split()}), None)
    if family is None or why_absent(name):
        return why_absent(name)
    products = {
        _plain(product): f"{product.strip()} ({gpu.choice})"
        for gpu in gpus_of(family)
        for product in gpu.products.split(",")
    }
    longer = (other for other in products if _plain(name) in other)
    near = list(dict.fromkeys([*longer, *similar(_plain(name), products, 3)]))[:3]
    listed = f" Similar: {', '.join(map(products.__getitem__, near))}." if near else ""
    is_fetched = any(driver.startswith(f"{family}-") for driver in fetched_drivers)
    fetch = "" if is_fetched else f" `vkgroup drivers fetch {family}` fetches their driver."
    return (
        f"Absent GPUs are named {family}:GPU, as in {gpus_of(family)[-1].choice}, or by a product;"
        f" '{family}:*' are all, and `vkgroup devices` lists them.{listed}{fetch}"
    )
