"""What every search stands on."""
