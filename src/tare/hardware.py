"""What the hardware says of itself: processor, caches, memory modules, disks."""
