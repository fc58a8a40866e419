"""HTTP for every transport over it: requests, errors, disconnects, bounds."""
