//! `cargo xtask docs`: the pages of `docs/` as a book, with search, by mdBook.
//!
//! The pages are read in the repository too, where they link to sources and examples. The book is built from a copy in which such a
//! link leads to the repository's site. mdBook is installed on demand into the cache. A test, not the build, checks that
//! `SUMMARY.md` has every page.

mod links;

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::bail;

use crate::metadata::Metadata;
use crate::{cargo, files};

const MDBOOK: &str = "0.5.4";
/// mdBook writes `README.md` as the index of its folder, and does not change links to it.
const INDEX: &str = "index.md";
const REPOSITORY: &str = "https://github.com/vestibule-dev/vestibule";

/// Builds the book.
pub(crate) fn run() -> anyhow::Result<()> {
    let target = Metadata::of_workspace()?.target_directory.join("book");
    if target.exists() {
        fs::remove_dir_all(&target)?;
    }
    let source = target.join("src");
    let root = cargo::workspace();
    let pages = pages()?;
    for page in &pages {
        let text = files::read(&root.join("docs").join(page))?;
        let copy = source.join(page);
        fs::create_dir_all(copy.parent().unwrap_or(&source))?;
        files::write(&copy, with_links(&text, page, &root))?;
    }
    for picture in ["reference/performance.svg", "reference/watching-run.svg"] {
        fs::copy(root.join("docs").join(picture), source.join(picture))?;
    }
    fs::write(target.join("book.toml"), settings())?;
    let mdbook = cargo::tool("mdbook", MDBOOK, &["--no-default-features", "--features", "search"])?;
    cargo::finish(Command::new(mdbook).arg("build").current_dir(&target))?;
    let broken = links::broken(&target.join("book"))?;
    if !broken.is_empty() {
        bail!("links of the book lead to no file:\n{}", broken.join("\n"));
    }
    println!("{} pages: {}", pages.len(), target.join("book/index.html").display());
    Ok(())
}

fn settings() -> String {
    format!(
        "[book]\ntitle = \"Vestibule\"\nlanguage = \"en\"\n\n[output.html]\ngit-repository-url = \"{REPOSITORY}\"\n\
         edit-url-template = \"{REPOSITORY}/edit/main/docs/{{path}}\"\n"
    )
}

/// Every page below `docs`, sorted, by its path there.
pub(crate) fn pages() -> anyhow::Result<Vec<PathBuf>> {
    let docs = cargo::workspace().join("docs");
    let files = files::below(&docs)?;
    let pages = files.iter().filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages.map(|path| Ok(path.strip_prefix(&docs)?.to_owned())).collect()
}

/// The text of `page` with links out of `docs` made absolute. Code blocks stay as they are.
fn with_links(text: &str, page: &Path, root: &Path) -> String {
    let (mut done, mut is_code) = (String::new(), false);
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let mut rest = line;
        while let Some((before, after)) = rest.split_once("](").filter(|_| !is_code) {
            done.push_str(before);
            done.push_str("](");
            let (link, after) = after.split_once(')').unwrap_or((after, ""));
            done.push_str(&of_book(link, page, root));
            done.push(')');
            rest = after;
        }
        done.push_str(rest);
        done.push('\n');
    }
    done
}

/// The link as the book has it: `link` of `page`, a path below `docs`.
fn of_book(link: &str, page: &Path, root: &Path) -> String {
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    if path.is_empty() || path.contains("://") {
        return link.to_owned();
    }
    let target = plain(&Path::new("docs").join(page.parent().unwrap_or(page)).join(path));
    let anchor = anchor.map(|anchor| format!("#{anchor}")).unwrap_or_default();
    let is_folder = root.join(&target).is_dir();
    if target.starts_with("docs") && is_folder && root.join(&target).join("README.md").is_file() {
        return format!("{}/{INDEX}{anchor}", path.trim_end_matches('/'));
    }
    if target.starts_with("docs") && !is_folder {
        let folder =
            path.strip_suffix("README.md").filter(|folder| folder.is_empty() || folder.ends_with('/'));
        // mdBook looks for the chapters of its summary in files.
        let is_page = page != Path::new("SUMMARY.md");
        return match folder.filter(|_| is_page) {
            Some(folder) => format!("{folder}{INDEX}{anchor}"),
            None => link.to_owned(),
        };
    }
    let kind = if is_folder { "tree" } else { "blob" };
    let target =
        target.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/");
    format!("{REPOSITORY}/{kind}/main/{target}{anchor}")
}

/// The path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::Normal(name) => plain.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Titles and paths of the summary.
    fn summary() -> Vec<(String, PathBuf)> {
        let text = files::read_here("docs/SUMMARY.md").unwrap();
        let entry = |line: &str| {
            let (title, path) = line.split_once('[')?.1.split_once("](")?;
            Some((title.to_owned(), PathBuf::from(path.strip_suffix(')')?)))
        };
        text.lines().filter_map(entry).collect()
    }

    #[test]
    fn the_summary_has_every_page_once_under_its_own_title() {
        let listed = summary();
        let paths: BTreeSet<_> = listed.iter().map(|(_, path)| path.clone()).collect();
        assert_eq!(paths.len(), listed.len(), "a page is listed twice");
        let mut pages: BTreeSet<_> = pages().unwrap().into_iter().collect();
        assert!(pages.remove(Path::new("SUMMARY.md")));
        let missing: Vec<_> = pages.difference(&paths).collect();
        assert!(missing.is_empty(), "docs/SUMMARY.md lacks {missing:?}");
        let stale: Vec<_> = paths.difference(&pages).collect();
        assert!(stale.is_empty(), "docs/SUMMARY.md lists {stale:?}, which do not exist");
        for (title, path) in listed {
            let text = files::read(&cargo::workspace().join("docs").join(&path)).unwrap();
            let heading = text.lines().next().unwrap().trim_start_matches('#').trim();
            assert_eq!(title, heading.replace(['[', ']'], ""), "{}", path.display());
        }
    }

    /// The three doors are the parts of the summary and the headings of the first page.
    #[test]
    fn the_book_begins_with_three_doors() {
        let headings = |file: &str, mark: &str| -> Vec<String> {
            let text = files::read_here(file).unwrap();
            text.lines().filter_map(|line| line.strip_prefix(mark)).map(str::to_owned).collect()
        };
        let doors = headings("docs/README.md", "## ");
        assert_eq!(
            doors,
            ["I operate a cluster", "I write a webhook", "I keep certificates for my operator"]
        );
        assert_eq!(headings("docs/SUMMARY.md", "# ")[1..4], doors);
    }

    /// Every link of every page leads to a page of the book, to a heading, or to a file of the repository.
    #[test]
    fn links_of_the_book_resolve() {
        let root = cargo::workspace();
        let pages: BTreeSet<_> = pages().unwrap().into_iter().collect();
        let (mut inside, mut outside) = (0, 0);
        for page in &pages {
            let text = files::read(&root.join("docs").join(page)).unwrap();
            for link in
                with_links(&text, page, &root).split("](").skip(1).filter_map(|rest| rest.split_once(')'))
            {
                let path = link.0.split('#').next().unwrap();
                if let Some(path) = path.strip_prefix(REPOSITORY) {
                    let path = path.strip_prefix("/blob/main/").or_else(|| path.strip_prefix("/tree/main/"));
                    let Some(path) = path else { continue };
                    assert!(root.join(path).exists(), "{}: {path}", page.display());
                    outside += 1;
                } else if !path.is_empty() && !path.contains("://") && !path.contains(['<', ' ']) {
                    let path = path.replace(INDEX, "README.md");
                    let target = plain(&page.parent().unwrap().join(path));
                    let is_image = target.extension().is_some_and(|extension| extension == "svg");
                    assert!(pages.contains(&target) || is_image, "{}: {}", page.display(), link.0);
                    inside += 1;
                }
            }
        }
        assert!(inside > 300 && outside > 20, "{inside} and {outside} links");
    }

    #[test]
    fn links_out_of_docs_lead_to_the_repository() {
        let root = cargo::workspace();
        let of = |link: &str| of_book(link, Path::new("how-to/install.md"), &root);
        assert_eq!(of("make-an-image.md#x"), "make-an-image.md#x");
        assert_eq!(of("#remove"), "#remove");
        assert_eq!(of("https://example.com/a"), "https://example.com/a");
        assert_eq!(of("../adr"), "../adr/index.md");
        assert_eq!(of("alerts/README.md#a"), "alerts/index.md#a");
        assert_eq!(of("../README.md"), "../index.md");
        assert_eq!(of_book("README.md", Path::new("SUMMARY.md"), &root), "README.md");
        assert_eq!(of("../../examples/rules"), format!("{REPOSITORY}/tree/main/examples/rules"));
        assert_eq!(of("../../SECURITY.md#report"), format!("{REPOSITORY}/blob/main/SECURITY.md#report"));
        let text = "[a](../../LICENSE) and [b](alerts/README.md)\n```\n[c](../../LICENSE)\n```\n";
        let expected = format!(
            "[a]({REPOSITORY}/blob/main/LICENSE) and [b](alerts/index.md)\n```\n[c](../../LICENSE)\n```\n"
        );
        assert_eq!(with_links(text, Path::new("how-to/install.md"), &root), expected);
    }
}
