//! Checks that the licence of every dependency is allowed.

use anyhow::bail;
use spdx::{Expression, ParseMode};

use crate::metadata::Metadata;

/// The licences of the present dependencies; a new one needs a decision.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    // Mozilla's list of root certificates, as data.
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Zlib",
];

/// Checks the licence of every package of the graph.
pub(crate) fn run() -> anyhow::Result<()> {
    let metadata = Metadata::of_everything()?;
    let mut refused = Vec::new();
    for package in &metadata.packages {
        let licence = package.license.as_deref().unwrap_or("none given");
        if !allowed(licence) {
            refused.push(format!("{} {}: {licence}", package.name, package.version));
        }
    }
    if !refused.is_empty() {
        bail!(
            "these crates come under licences that {} does not list:\n  {}\nChoose another crate, or add the licence there \
             after reading it.",
            file!(),
            refused.join("\n  ")
        );
    }
    println!("licences: {} packages, all allowed", metadata.packages.len());
    Ok(())
}

/// Whether an SPDX expression, or the older `MIT/Apache-2.0`, can be met with allowed licences.
fn allowed(expression: &str) -> bool {
    let parsed = Expression::parse_mode(expression, ParseMode::LAX);
    parsed.is_ok_and(|parsed| {
        parsed.evaluate(|requirement| ALLOWED.contains(&requirement.to_string().as_str()))
    })
}

#[cfg(test)]
mod tests {
    use super::allowed;

    #[test]
    fn one_allowed_alternative_is_enough() {
        for expression in [
            "MIT",
            "MIT/Apache-2.0",
            "Unlicense OR MIT",
            "MIT OR Apache-2.0 OR LGPL-2.1-or-later",
            "ISC AND (Apache-2.0 OR OpenSSL)",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-3.0",
        ] {
            assert!(allowed(expression), "{expression}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for expression in [
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "MIT OR",
            "(MIT",
            "MIT)",
            "MIT Apache-2.0",
            "GPL-2.0 WITH Classpath-exception-2.0",
            "none given",
            "",
        ] {
            assert!(!allowed(expression), "{expression}");
        }
    }
}
