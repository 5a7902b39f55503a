"""Machine code as text, by the disassembler of the LLVM library that the driver itself uses."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from ctypes import c_char_p, c_int, c_size_t, c_uint64, c_void_p
from itertools import combinations

from vkgroup.amd.errors import EmulationError, MissingPart

_TRIPLE = b"amdgcn-mesa-mesa3d"
_UPPER_HALF = re.compile(r"v(\d+)/\*Invalid register, operand has 'VGPR_32_Lo128' register class\*/")
LONGEST = 20  # bytes of the longest instruction


class Disassembler:
    """Texts of instructions of one GPU.

    Parameters
    ----------
    library : path of ``libLLVM.so``.
    gpu : LLVM's name of the GPU, such as ``gfx1100``.
    wave : lanes of a wave, 32 or 64, which decides the size of lane masks in the text.
    """

    def __init__(self, library: str, gpu: str, wave: int) -> None:
        llvm = ctypes.CDLL(library)
        try:
            for name in ("TargetInfo", "TargetMC", "Disassembler"):
                getattr(llvm, f"LLVMInitializeAMDGPU{name}")()
            create, self._read = llvm.LLVMCreateDisasmCPUFeatures, llvm.LLVMDisasmInstruction
        except AttributeError:
            raise EmulationError(f"{library} has no disassembler for AMD's GPUs") from None
        create.restype = c_void_p
        create.argtypes = [c_char_p, c_char_p, c_char_p, c_void_p, c_int, c_void_p, c_void_p]
        self._read.restype = c_size_t
        self._read.argtypes = [c_void_p, c_char_p, c_uint64, c_uint64, c_char_p, c_size_t]
        features = f"+wavefrontsize{wave}" if gpu.startswith("gfx1") else ""
        self._has_halves = gpu.startswith(("gfx11", "gfx12"))
        # LLVM knows some instructions of 16 bits only without names for the halves of registers.
        choices = [f"{features},+real-true16", features] if self._has_halves else [features]
        self._contexts = [
            create(_TRIPLE, gpu.encode(), choice.encode(), None, 0, None, None) for choice in choices
        ]
        if None in self._contexts:
            raise EmulationError(f"{library} does not know {gpu}")
        self._lists_addresses = gpu.startswith("gfx12")
        self._text = ctypes.create_string_buffer(512)
        self._known: dict[bytes, tuple[int, str]] = {}

    def forget(self) -> None:
        """Forget the instructions that were read before."""
        self._known.clear()

    def _text_of(self, code: bytes) -> tuple[int, str]:
        """Return what LLVM reads: the length in bytes and the text; 0 if it knows no such instruction."""
        for context in self._contexts:
            length = self._read(context, code[:LONGEST], min(len(code), LONGEST), 0, self._text, 512)
            text = self._text.value.decode().strip()
            if self._has_halves:
                text = _UPPER_HALF.sub(lambda found: f"v{int(found[1]) - 128}.h", text)
            if length and "Invalid register" not in text:
                return int(length), text
        return 0, ""

    def read(self, code: bytes) -> tuple[int, str]:
        """Return the length in bytes and the text of the first instruction of some code.

        Raises MissingPart: the bytes are no instruction of this GPU.
        """
        for length in (4, 8, 12):
            known = self._known.get(code[:length])
            if known is not None:
                return known
        length, text = self._text_of(code)
        if not length:
            length, text = 4, _exchange_of_halves(code) if self._has_halves else ""
            others = [with_upper_halves] if self._has_halves else [with_sign_extension, with_moved_lanes]
            for other in others:
                if not text:
                    length, text = other(self._text_of, code)
            if not text:
                raise MissingPart(
                    f"the code {code[:8].hex(' ', 4)}", "no instruction for LLVM's disassembler"
                )
        if self._lists_addresses and text.startswith("image_"):
            text += _addresses(code)
        result = int(length), " ".join(with_chosen_halves(text, code).split())
        self._known[code[:length]] = result
        return result


def _exchange_of_halves(code: bytes) -> str:
    """Return the text of v_swap_b16, which LLVM reads from version 20 on; empty for other instructions."""
    word = int.from_bytes(code[:4], "little")
    if word >> 25 != 0x3F or word >> 9 & 0xFF != 0x66 or not word & 0x100:
        return ""
    result, source = word >> 17 & 0xFF, word & 0xFF
    names = [f"v{number & 0x7F}.{'h' if number & 0x80 else 'l'}" for number in (result, source)]
    return f"v_swap_b16_e32 {names[0]}, {names[1]}"


def with_upper_halves(read: Callable[[bytes], tuple[int, str]], code: bytes) -> tuple[int, str]:
    """Return length and text of an instruction of 32 bits with upper halves that LLVM does not know there.

    Registers from 128 on are upper halves: without their highest bits, LLVM reads the instruction. `read` is
    its reading. The text is empty if no such change helps.
    """
    word = int.from_bytes(code[:4], "little")
    if word >> 31 or word >> 25 == 0x3E:  # neither VOP1 nor VOP2
        return 4, ""
    two = word >> 25 != 0x3F
    places = [(0, 24, True), (1, 7, bool(word & 0x100)), (2, 16, two)]  # operand, bit, if it is a vector's
    upper = [(operand, bit) for operand, bit, is_vector in places if is_vector and word >> bit & 1]
    for chosen in (some for count in range(1, 4) for some in combinations(upper, count)):
        changed = word & ~sum(1 << bit for _, bit in chosen)
        length, text = read(changed.to_bytes(4, "little") + code[4:])
        name, _, rest = text.partition(" ")
        operands = rest.split(", ")
        if not length or "16" not in name or len(operands) <= max(operand for operand, _ in chosen):
            continue
        for operand, _ in chosen:
            if name == "v_fmamk_f16" and operand == 2:
                operand = 3  # the constant stands before the second source
            operands[operand] = f"{operands[operand].removesuffix('.l')}.h"
        return length, f"{name} {', '.join(operands)}"
    return 4, ""


def with_sign_extension(read: Callable[[bytes], tuple[int, str]], code: bytes) -> tuple[int, str]:
    """Return length and text of an SDWA instruction whose signs LLVM does not extend, as v_cndmask_b32.

    `read` is its reading. The text is empty if it is no such instruction.
    """
    first, second = (int.from_bytes(code[at : at + 4], "little") for at in (0, 4))
    bits = [(1, 19), (2, 27)]  # operand, its bit of sign extension
    chosen = [(operand, bit) for operand, bit in bits if second >> bit & 1]
    if first & 0x1FF != 0xF9 or not chosen:
        return 4, ""
    changed = second & ~sum(1 << bit for _, bit in chosen)
    length, text = read(code[:4] + changed.to_bytes(4, "little") + code[8:])
    if not length:
        return 4, ""
    operands = text.split(", ")
    for operand, _ in chosen:
        word, space, rest = operands[operand].partition(" ")
        operands[operand] = f"sext({word}){space}{rest}"
    return length, ", ".join(operands)


def with_moved_lanes(read: Callable[[bytes], tuple[int, str]], code: bytes) -> tuple[int, str]:
    """Return length and text of a comparison with DPP, which LLVM knows from RDNA 3 on; empty for others.

    `read` is its reading: of the comparison without DPP, and of a move with the same DPP.
    """
    first, second = (int.from_bytes(code[at : at + 4], "little") for at in (0, 4))
    kind = first & 0x1FF  # DPP8 has two numbers, and no signs of sources
    if first >> 25 != 0x3E or kind not in (0xE9, 0xEA, 0xFA):
        return 4, ""
    signs = second >> 20 & 0xF if kind == 0xFA else 0
    plain, moved = first & ~0x1FF | 0x100 | second & 0xFF, second & ~(signs << 20)
    _, text = read(plain.to_bytes(4, "little") + code[8:])
    _, move = read((0x7E000200 | kind).to_bytes(4, "little") + moved.to_bytes(4, "little"))
    if not (text and move):
        return 4, ""
    name, _, rest = text.partition(" ")
    operands = rest.split(", ")
    for source, place in ((0, -2), (1, -1)):  # v_cmpx has no result before them on RDNA
        bits = signs >> 2 * source & 3
        operands[place] = "-" * (bits & 1) + (f"|{operands[place]}|" if bits & 2 else operands[place])
    return 8, f"{name.replace('_e32', '')}_dpp {', '.join(operands)} {' '.join(move.split()[3:])}"


def with_chosen_halves(text: str, code: bytes) -> str:
    """Return a text with the choice of halves that LLVM leaves out for some instructions of 16 bits."""
    word = int.from_bytes(code[:4], "little")
    chosen = word >> 11 & 15
    name, _, rest = text.partition(" ")
    if word >> 26 != 0x35 or not chosen or "16" not in name or "permlane" in name:
        return text
    if "op_sel" in text or ".h" in text:
        return text
    operands = rest.split(", ")
    sources = len(operands) - (not name.startswith("v_cmpx"))  # the result of v_cmpx is EXEC, without a name
    bits = [chosen >> place & 1 for place in range(sources)]
    if not name.startswith("v_cmp"):
        bits.append(chosen >> 3)
    return f"{text} op_sel:[{','.join(map(str, bits))}]"


def _addresses(code: bytes) -> str:
    """Return a modifier with the address registers of an image instruction of RDNA 4, which LLVM 19 omits."""
    second, third = (int.from_bytes(code[at : at + 4], "little") for at in (4, 8))
    registers = [third >> 8 * place & 0xFF for place in range(4)] + [second >> 24]
    return f" vaddr:[{','.join(f'v{register}' for register in registers)}]"
