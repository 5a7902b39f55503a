"""Makes ``vkgroup/spec/roadmap.json`` from Khronos' files: python roadmap_table.py VP_KHR_roadmap.json vk.xml

Both are in the repository Vulkan-Docs, under ``xml/profiles`` and ``xml``. Extensions of the instance, which
are of window systems, are left out.
"""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[2] / "vkgroup" / "spec" / "roadmap.json"


def structure_types(registry: ElementTree.Element) -> dict[str, int]:
    """Return the number of each VkStructureType that an extension or a version adds."""
    found = {}
    for part in [*registry.iter("extension"), *registry.iter("feature")]:
        for enum in part.iter("enum"):
            if enum.get("extends") == "VkStructureType" and enum.get("offset"):
                number = int(enum.get("extnumber") or part.get("number", "1"))
                value = 1000000000 + (number - 1) * 1000 + int(enum.get("offset", "0"))
                found[enum.get("name", "")] = value
    for enum in registry.iter("enum"):
        if re.fullmatch(r"VK_STRUCTURE_TYPE\w+", enum.get("name", "")) and enum.get("value", "").isdigit():
            found[enum.get("name", "")] = int(enum.get("value", ""))
    return found


def main(profiles_file: str, registry_file: str) -> None:
    """Write the table."""
    profiles = json.loads(Path(profiles_file).read_text())
    registry = ElementTree.parse(registry_file).getroot()
    structs = {one.get("name", ""): one for one in registry.iter("type") if one.get("category") == "struct"}
    types = structure_types(registry)
    owners = {
        required.get("name"): extension.get("name")
        for extension in registry.iter("extension")
        for required in extension.iter("type")
    }
    promoted = {one.get("name", ""): one.get("promotedto", "") for one in registry.iter("extension")}
    of_instance = {one.get("name") for one in registry.iter("extension") if one.get("type") == "instance"}
    used: dict[str, Any] = {}
    extensions: dict[str, str] = {}
    table: dict[str, Any] = {}

    def use(name: str) -> None:
        if name in used or name in ("VkPhysicalDeviceFeatures", "VkPhysicalDeviceProperties"):
            return
        members = structs[structs[name].get("alias", name)].findall("member")
        core = re.fullmatch(r"VkPhysicalDeviceVulkan(\d)(\d)(Features|Properties)", name)
        used[name] = {
            "type": types[members[0].get("values", "")],
            "needs": f"{core[1]}.{core[2]}" if core else owners[name],
            "members": [member.findtext("name") for member in members[2:]],
        }

    def add(profile: dict[str, Any], capability: dict[str, Any]) -> None:
        wanted = [name for name in capability.get("extensions", ()) if name not in of_instance]
        profile["extensions"] += wanted
        for name, members in capability.get("features", {}).items():
            use(name)
            profile["features"] += [member for member, value in members.items() if value]
        for name, members in capability.get("properties", {}).items():
            use(name)
            for member, value in members.get("limits", members).items():
                old = profile["limits"].get(member)
                is_less = isinstance(value, int) and isinstance(old, int) and value < old
                profile["limits"][member] = old if is_less else value
        for name in wanted:
            extensions[name] = promoted[name].removeprefix("VK_VERSION_").replace("_", ".")

    for key, profile in reversed(profiles["profiles"].items()):
        title = key.removeprefix("VP_KHR_").replace("_", " ").capitalize()
        entry: dict[str, Any] = {"extensions": [], "features": [], "limits": {}, "one_of": []}
        parents = [profiles["profiles"][name] for name in profile.get("profiles", ())]
        for part in [*parents, profile]:
            for name in part["capabilities"]:
                if isinstance(name, str):
                    add(entry, profiles["capabilities"][name])
                    continue
                for choice in name:
                    other: dict[str, Any] = {"extensions": [], "features": [], "limits": {}}
                    add(other, profiles["capabilities"][choice])
                    entry["one_of"] += other["features"]
        for field in ("extensions", "features", "one_of"):
            entry[field] = sorted(set(entry[field]))
        table[title] = {"version": [int(part) for part in profile["api-version"].split(".")], **entry}
    version = re.search(r"VK_HEADER_VERSION</name> (\d+)", Path(registry_file).read_text())
    assert version is not None
    data = {
        "source": f"VP_KHR_roadmap.json and vk.xml of Vulkan-Docs 1.4.{version[1]}",
        "smaller_is_better": ["bufferImageGranularity", "pointSizeGranularity", "lineWidthGranularity"],
        "extensions": {name: extensions[name] for name in sorted(extensions)},
        "structs": used,
        "profiles": table,
    }
    text = json.dumps(data, indent=1)
    text = re.sub(r"\[\s+([^\[\]]*?)\s+\]", lambda found: "[" + " ".join(found[1].split()) + "]", text)
    TARGET.write_text(text + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
