"""The only compiled code: free functions over contiguous arrays."""
