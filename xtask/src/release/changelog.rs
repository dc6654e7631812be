//! The section of a version in CHANGELOG.md: there is one changelog for all crates.

use anyhow::Context;

/// The text below `## VERSION` until the next version. The heading may go on with a date.
pub(super) fn section(changelog: &str, version: &str) -> anyhow::Result<String> {
    let mut lines = changelog.lines().skip_while(|line| !is_heading_of(line, version));
    lines.next().with_context(|| format!("CHANGELOG.md has no heading `## {version} - DATE`"))?;
    let section: Vec<_> = lines.take_while(|line| !line.starts_with("## ")).collect();
    Ok(section.join("\n").trim().to_owned() + "\n")
}

fn is_heading_of(line: &str, version: &str) -> bool {
    line.strip_prefix("## ").and_then(|heading| heading.split_whitespace().next()) == Some(version)
}

#[cfg(test)]
mod tests {
    use super::section;

    #[test]
    fn a_section_ends_at_the_next_version() {
        let text = "# Changelog\n\n## Unreleased\n\n- c\n\n## 0.1.1 - 2027-01-02\n\n### Fixed\n\n- b\n\n## 0.1.0 - 2027-01-01\n\n- a\n";
        assert_eq!(section(text, "0.1.1").unwrap(), "### Fixed\n\n- b\n");
        assert_eq!(section(text, "0.1.0").unwrap(), "- a\n");
        assert!(section(text, "0.1").unwrap_err().to_string().contains("## 0.1 - DATE"));
    }
}
