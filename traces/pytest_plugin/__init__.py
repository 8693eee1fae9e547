"""Hardware in the loop: a pytest plugin that runs plans on targets and measures what they did.

See docs/hardware-in-loop.md. `plugin` is what pytest loads; nothing else is imported by it before
a test asks for a fixture.
"""
