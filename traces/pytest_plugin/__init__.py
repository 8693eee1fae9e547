"""Hardware in the loop: a pytest plugin that runs plans on targets and measures what they did.

See docs/hardware-in-loop.md. `entry` is what pytest finds, `plugin` what it loads; nothing else is
imported by that before a test asks for a fixture.
"""
