//! The links of the finished book. mdBook moves pages, so a link that is right in `docs/` can be wrong in the book.

use std::path::Path;

use crate::files;

/// Pages that mdBook makes itself: all chapters in one, the page of a missing address, the list of chapters.
const MADE_BY_MDBOOK: [&str; 3] = ["print.html", "404.html", "toc.html"];

/// The links below `folder` that lead to no file, each after its page.
pub(super) fn broken(folder: &Path) -> anyhow::Result<Vec<String>> {
    let mut broken = Vec::new();
    for path in files::below(folder)? {
        let name = files::name(&path);
        if name.ends_with(".html") && !MADE_BY_MDBOOK.contains(&name.as_str()) {
            let page = files::read(&path)?;
            let wrong = targets(&page).filter(|target| !path.with_file_name(target).exists());
            broken.extend(wrong.map(|target| format!("{}: {target}", path.display())));
        }
    }
    broken.sort();
    Ok(broken)
}

/// The files that a page links to or loads, relative to it.
fn targets(page: &str) -> impl Iterator<Item = &str> {
    let values = ["href=\"", "src=\""].into_iter().flat_map(|attribute| page.split(attribute).skip(1));
    let links = values.filter_map(|rest| rest.split('"').next());
    let paths = links.filter(|link| !link.contains(':')).filter_map(|link| link.split('#').next());
    paths.filter(|path| !path.is_empty())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn links_to_files_that_do_not_exist_are_listed() {
        let folder = tempfile::tempdir().unwrap();
        let links = "<a href=\"a/index.html#x\"><a href=\"a/README.html\"><img src=\"b.svg\"><a href=\"#x\"><a href=\"https://example.com\">";
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(folder.path().join("index.html"), links).unwrap();
        fs::write(folder.path().join("a/index.html"), "<a href=\"../index.html\">").unwrap();
        fs::write(folder.path().join("print.html"), "<a href=\"none.html\">").unwrap();
        let page = folder.path().join("index.html").display().to_string();
        assert_eq!(
            broken(folder.path()).unwrap(),
            [format!("{page}: a/README.html"), format!("{page}: b.svg")]
        );
    }
}
