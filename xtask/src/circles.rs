//! Checks that no files of a crate import from each other in a circle.
//!
//! A file may import from the modules that it is within: `a/b.rs` and `a.rs` are read together. Imports are `use` declarations and
//! paths outside of macros; an import of a name that a module re-exports counts for the file that defines it.

mod file;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, bail};
use syn::visit::Visit;

use self::file::File;
use crate::{cargo, files};

/// The folders whose crates are checked.
const FOLDERS: [&str; 4] = ["bench", "crates", "examples", "xtask"];

/// A module by the names on its path from the crate's root.
type Module = Vec<String>;

/// Checks every crate; prints each circle.
pub(crate) fn run() -> anyhow::Result<()> {
    let mut sources = BTreeSet::new();
    for folder in FOLDERS {
        for file in files::below(&cargo::workspace().join(folder))? {
            let is_example = |path: &Path| path.parent().is_some_and(|parent| parent.ends_with("examples"));
            let is_source =
                |path: &&Path| path.ends_with("src") || (is_example(path) && path.join("main.rs").is_file());
            sources.extend(file.ancestors().find(is_source).map(Path::to_owned));
        }
    }
    let mut found = 0;
    for source in &sources {
        if let Some(circle) = circle(&imports(&modules(source)?)) {
            found += 1;
            let files = circle.iter().map(|module| module.join("::"));
            eprintln!(
                "\n{}: {}",
                source.strip_prefix(cargo::workspace()).unwrap_or(source).display(),
                files.collect::<Vec<_>>().join(" -> ")
            );
        }
    }
    if found > 0 {
        bail!(
            "files import from each other in a circle; move what both need to a file of its own, or pass it as an argument"
        );
    }
    println!("circles: none in {} crates and programs", sources.len());
    Ok(())
}

/// The files below `source` that are not for tests.
fn modules(source: &Path) -> anyhow::Result<BTreeMap<Module, File>> {
    let mut modules = BTreeMap::new();
    for path in files::below(source)? {
        let inner = path.strip_prefix(source)?.with_extension("");
        let module: Module = inner.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        let is_test = module.iter().any(|name| name == "tests");
        let is_program = module.first().is_some_and(|first| first == "bin");
        if is_test || is_program || path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let is_root = module == ["lib"] || module == ["main"];
        let syntax = syn::parse_file(&files::read(&path)?).with_context(|| path.display().to_string())?;
        let mut file = File::default();
        file.visit_file(&syntax);
        modules.insert(if is_root { Module::new() } else { module }, file);
    }
    Ok(modules)
}

/// For each module, the modules that it imports from.
fn imports(modules: &BTreeMap<Module, File>) -> BTreeMap<&Module, BTreeSet<Module>> {
    let of = |module: &Module, file: &File| {
        let targets = file.paths.iter().filter_map(|path| target(modules, module, path, MAX_REEXPORTS));
        targets.filter(|target| !module.starts_with(target)).collect()
    };
    modules.iter().map(|(module, file)| (module, of(module, file))).collect()
}

/// A re-export of a re-export, and so on; names that import each other have no end.
const MAX_REEXPORTS: usize = 8;

/// The module that defines what `path` names in the module `from`; [`None`] for other crates and for names of `from` itself.
fn target(
    modules: &BTreeMap<Module, File>,
    from: &Module,
    path: &[String],
    reexports: usize,
) -> Option<Module> {
    let first = path.first()?;
    let (mut module, mut rest) = match first.as_str() {
        "crate" => (Module::new(), &path[1..]),
        "super" | "self" => {
            let up = path.iter().take_while(|name| *name == "super" || *name == "self").count();
            let levels = path[..up].iter().filter(|name| *name == "super").count();
            (from[..from.len().checked_sub(levels)?].to_vec(), &path[up..])
        }
        _ if modules.contains_key(&[from.as_slice(), &path[..1]].concat()) => (from.clone(), path),
        // A module that is imported by itself, or an item with a path behind it.
        _ => {
            let used = modules.get(from)?.uses.get(first);
            let used = used.filter(|used| reexports > 0 && path.len() > 1 && used.first() != Some(first))?;
            return target(modules, from, &[used, &path[1..]].concat(), reexports - 1);
        }
    };
    while let Some((name, further)) = rest.split_first() {
        let below = [module.as_slice(), std::slice::from_ref(name)].concat();
        if !modules.contains_key(&below) {
            let used = modules.get(&module)?.uses.get(name).filter(|used| used.as_slice() != path);
            let whole = used.map(|used| [used.as_slice(), further].concat()).filter(|_| reexports > 0);
            let found = whole.and_then(|whole| target(modules, &module, &whole, reexports - 1));
            return Some(found.unwrap_or(module));
        }
        (module, rest) = (below, further);
    }
    // The module itself is named, to use its items by their paths.
    None
}

/// A circle of imports, if there is one. Its first module is the last one too.
fn circle<'m>(imports: &BTreeMap<&'m Module, BTreeSet<Module>>) -> Option<Vec<&'m Module>> {
    let mut left: BTreeSet<&Module> = imports.keys().copied().collect();
    let next = |module: &Module, left: &BTreeSet<&'m Module>| {
        left.iter().copied().find(|other| imports[module].contains(*other))
    };
    // A module that imports from none that is left is in no circle.
    while let Some(end) = left.iter().copied().find(|module| next(module, &left).is_none()) {
        left.remove(end);
    }
    let mut way = vec![*left.first()?];
    loop {
        let module = next(way.last()?, &left)?;
        if let Some(start) = way.iter().position(|other| *other == module) {
            way.push(module);
            return Some(way.split_off(start));
        }
        way.push(module);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{circle, imports, modules};

    /// The circle of a crate with these files.
    fn circle_of(sources: &[(&str, &str)]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in sources {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let modules = modules(folder.path()).unwrap();
        let circle = circle(&imports(&modules))?;
        Some(circle.iter().map(|module| module.join("::")).collect::<Vec<_>>().join(" -> "))
    }

    #[test]
    fn files_that_import_from_each_other_are_a_circle() {
        let one = ("one.rs", "use crate::two::Two; pub struct One(Two);");
        assert_eq!(circle_of(&[one, ("two.rs", "pub struct Two;")]), None);
        for two in [
            "use super::one::One;",
            "fn f() { super::one::f(); }",
            "use super::{one::One as Other, three};",
            "use crate::one; fn f() { one::f(); }",
            "use crate::one::*;",
            "mod inner { use super::super::one::One; }",
            r#"#[cfg(any(test, feature = "x"))] use crate::one::One;"#,
        ] {
            assert_eq!(circle_of(&[one, ("two.rs", two)]).unwrap(), "one -> two -> one", "{two}");
        }
        for two in [
            "#[cfg(test)] mod tests { use crate::one::One; }",
            "#[cfg(all(test, unix))] const ONE: crate::one::One = crate::one::ONE;",
            "struct Two; impl Two { #[cfg(test)] fn one() -> crate::one::One {} }",
            "mod one { pub struct One; } mod inner { use super::one::One; }",
        ] {
            assert_eq!(circle_of(&[one, ("two.rs", two)]), None, "{two}");
        }
    }

    #[test]
    fn a_reexport_counts_for_the_file_that_defines_the_name() {
        let root = ("lib.rs", "mod one; mod two; pub use one::One;");
        let sources = [root, ("one.rs", "use crate::two::Two;"), ("two.rs", "use crate::One;")];
        assert_eq!(circle_of(&sources).unwrap(), "one -> two -> one");
    }

    #[test]
    fn a_file_may_import_from_the_module_it_is_within() {
        let sources = [("one.rs", "mod two; use two::Two;"), ("one/two.rs", "use super::One;")];
        assert_eq!(circle_of(&sources), None);
    }
}
