//! Reads the imports of a file from its syntax tree.

use std::collections::{BTreeMap, BTreeSet};

use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};

/// The names that a file imports and the paths that it uses.
#[derive(Default)]
pub(super) struct File {
    /// The paths in `use` declarations, by the name that they get here.
    pub(super) uses: BTreeMap<String, Vec<String>>,
    pub(super) paths: BTreeSet<Vec<String>>,
    /// The number of modules in the file that the visited item is within.
    inner: usize,
}

impl File {
    fn use_tree(&mut self, tree: &syn::UseTree, prefix: &[String]) {
        let with = |name: &str| [prefix, &[name.to_owned()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.use_tree(&path.tree, &with(&path.ident.to_string())),
            syn::UseTree::Name(name) if name.ident == "self" => self.use_as(prefix.last(), prefix),
            syn::UseTree::Name(name) => {
                let name = name.ident.to_string();
                self.use_as(Some(&name), &with(&name));
            }
            syn::UseTree::Rename(renamed) => {
                self.use_as(Some(&renamed.rename.to_string()), &with(&renamed.ident.to_string()));
            }
            syn::UseTree::Glob(_) => self.add(&with("*")),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.use_tree(tree, prefix)),
        }
    }

    fn use_as(&mut self, name: Option<&String>, path: &[String]) {
        if self.inner == 0 {
            self.uses.extend(name.map(|name| (name.clone(), path.to_vec())));
        }
        self.add(path);
    }

    fn add(&mut self, path: &[String]) {
        let up = path.iter().take(self.inner).take_while(|name| *name == "super").count();
        // The file itself, where the path leads out of no more than the inner modules.
        if up == 0 || path.get(up).is_some_and(|name| name == "super") {
            self.paths.insert(path[up..].to_vec());
        }
    }
}

impl<'ast> Visit<'ast> for File {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes: &[_] = match item {
            syn::Item::Const(item) => &item.attrs,
            syn::Item::Enum(item) => &item.attrs,
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Static(item) => &item.attrs,
            syn::Item::Struct(item) => &item.attrs,
            syn::Item::Trait(item) => &item.attrs,
            syn::Item::Type(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            _ => &[],
        };
        if !is_for_tests(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_for_tests(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.inner += 1;
        visit::visit_item_mod(self, item);
        self.inner -= 1;
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.use_tree(&item.tree, &[]);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.add(&path.segments.iter().map(|segment| segment.ident.to_string()).collect::<Vec<_>>());
        visit::visit_path(self, path);
    }
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args().is_ok_and(|condition| needs_test(&condition))
    })
}

/// Whether `condition` holds in builds of tests only.
fn needs_test(condition: &syn::Meta) -> bool {
    match condition {
        syn::Meta::List(list) if list.path.is_ident("all") => {
            let all = list.parse_args_with(Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated);
            all.is_ok_and(|all| all.iter().any(needs_test))
        }
        condition => condition.path().is_ident("test"),
    }
}
