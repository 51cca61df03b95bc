"""A hierarchy as a drawing of lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class _Node:
    label: str
    children: dict[str, _Node] = field(default_factory=dict)

    @property
    def values(self) -> int:
        return sum(child.values for child in self.children.values()) if self.children else 1


def drawn(rows: Sequence[Sequence[str]], *, leaves: bool = False) -> str:
    """The tree of rows `leaf;…;root`: a line per group, and per value where they are asked for."""
    root = _Node(rows[0][-1])
    for row in rows:
        node = root
        for label in list(reversed(row))[1:]:
            node = node.children.setdefault(label, _Node(label))
    return "\n".join([_line(root), *_below(root, "", leaves)])


def _below(node: _Node, indent: str, leaves: bool) -> list[str]:
    shown = [child for child in node.children.values() if leaves or child.children]
    hidden = len(node.children) - len(shown)
    lines = []
    for place, child in enumerate(shown):
        last = place == len(shown) - 1 and not (hidden and shown)
        lines.append(f"{indent}{'└── ' if last else '├── '}{_line(child)}")
        lines += _below(child, indent + ("    " if last else "│   "), leaves)
    if hidden and shown:
        lines.append(f"{indent}└── {hidden} value{'s' if hidden > 1 else ''}")
    return lines


def _line(node: _Node) -> str:
    if not node.children:
        return node.label
    return f"{node.label} ({node.values} value{'s' if node.values != 1 else ''})"
