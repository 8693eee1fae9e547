"""Command that writes the files made from the register maps: `python -m firmware.registers`."""

from __future__ import annotations

from firmware.registers.generated_files import generated


def main() -> None:
    """Write every generated file that is stale or missing."""
    for path, text in generated().items():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            print(path)


if __name__ == "__main__":
    main()
