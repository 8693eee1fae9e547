"""Command that renews the table of compiled kernels: `python -m firmware.compiler`."""

from __future__ import annotations

from firmware.compiler.compiled_table import PAGE, page_text


def main() -> None:
    """Write the page where its table is stale."""
    text = PAGE.read_text(encoding="utf-8")
    renewed = page_text(text)
    if renewed != text:
        PAGE.write_text(renewed, encoding="utf-8")
        print(PAGE)


if __name__ == "__main__":
    main()
