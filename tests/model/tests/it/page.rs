//! The page that people read names what the checker walks.

use model::{INVARIANTS, catalogue};

const PAGE: &str = include_str!("../../../../docs/explanation/model.md");

#[test]
fn each_case_of_the_catalogue_has_a_row() {
    let scenarios = catalogue::scenarios().into_iter().map(|(name, _)| format!("| `{name}` |"));
    let mutation_cases = catalogue::mutation_cases().into_iter().map(|case| format!("| {}", case.mutation));
    let invariants = INVARIANTS.iter().map(|invariant| format!("| {} |", invariant.says));
    for row in scenarios.chain(mutation_cases).chain(invariants) {
        assert!(PAGE.contains(&row), "no row `{row}`: `cargo xtask model --write`");
    }
}
