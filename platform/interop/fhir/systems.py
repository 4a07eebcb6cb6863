"""Names of our code systems and extensions, and of those of others that we speak. Names are stable; none is an address."""

OURS = "https://helicase.example/fhir"
TEST = f"{OURS}/CodeSystem/test"  # codes of a laboratory's tests
REASON = f"{OURS}/CodeSystem/reason"  # docs/reason-codes.md
PROGRESS = f"{OURS}/CodeSystem/progress"  # Task.businessStatus
SCORE = f"{OURS}/CodeSystem/score"  # what a score is: no code of a diagnosis
ACCESSION = f"{OURS}/NamingSystem/accession"
INTAKE = f"{OURS}/NamingSystem/intake"  # uploads, checked by the API
ORGANISATION = f"{OURS}/NamingSystem/organisation"
REPORT = f"{OURS}/NamingSystem/report"
STAT_REASON = f"{OURS}/StructureDefinition/stat-reason"
LATE_ENTRY = f"{OURS}/StructureDefinition/late-entry"
VCF_SAMPLE = f"{OURS}/StructureDefinition/vcf-sample"

NPI = "http://hl7.org/fhir/sid/us-npi"
LOINC = "http://loinc.org"
IDENTIFIER_TYPE = "http://terminology.hl7.org/CodeSystem/v2-0203"
TASK_CODE = "http://hl7.org/fhir/CodeSystem/task-code"
SECTION = "http://terminology.hl7.org/CodeSystem/v2-0074"
CATEGORY = "http://terminology.hl7.org/CodeSystem/observation-category"
ABSENT = "http://terminology.hl7.org/CodeSystem/data-absent-reason"
SUBSETTED = "http://terminology.hl7.org/CodeSystem/v3-ObservationValue"
