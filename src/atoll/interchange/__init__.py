"""The only room in which foreign objects are recognised and atoll's arrays are shown to others."""
