"""The commands of `python -m pyramid_env`, one a module."""
