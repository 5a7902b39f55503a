"""Campaigns: random programs on a device, compared with the reference interpreter or another device."""
