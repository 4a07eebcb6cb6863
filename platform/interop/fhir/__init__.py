"""FHIR R4 below /fhir/: orders taken in, followed, and their released results, by the same services as pages and API."""
