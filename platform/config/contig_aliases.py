"""Other names a contig of a new reference goes by: 1, chr1 and NC_000001.11, where name and length prove which sequence it is."""

from orders.intake.contig_names import human_accessions, usual_names

# Lengths of the nuclear chromosomes 1 … 22, X, Y, by assembly: no two are equal, so a length tells one of each.
_LENGTHS = {
    "GRCh37": (
        249250621, 243199373, 198022430, 191154276, 180915260, 171115067, 159138663, 146364022, 141213431, 135534747, 135006516,
        133851895, 115169878, 107349540, 102531392, 90354753, 81195210, 78077248, 59128983, 63025520, 48129895, 51304566,
        155270560, 59373566,
    ),
    "GRCh38": (
        248956422, 242193529, 198295559, 190214555, 181538259, 170805979, 159345973, 145138636, 138394717, 133797422, 135086622,
        133275309, 114364328, 107043718, 101991189, 90338345, 83257441, 80373285, 58617616, 64444167, 46709983, 50818468,
        156040895, 57227415,
    ),
}  # fmt: skip
_HUMAN = {  # length → its accession and its bare name
    length: accession_and_name
    for assembly, lengths in _LENGTHS.items()
    for length, accession_and_name in zip(lengths, human_accessions(assembly).items(), strict=True)
}


def aliases(name: str, length: int) -> tuple[str, ...]:
    """Every other name of a contig that may be used without asking."""
    accession, bare = _HUMAN.get(length, ("", ""))
    human = {bare, f"chr{bare}", accession} if bare else set[str]()
    return tuple(sorted((human if name in human else {*usual_names(name, length)}) - {name}))
