"""pytest plugin for hardware in the loop: runs plans on targets and measures the result.

See docs/hardware-in-loop.md. `entry` is what pytest finds, `plugin` what it loads; nothing else is
imported by that before a test asks for a fixture.
"""
