//! Reads `containers`: the blocks for existing containers.

use vestibule_patch::Schema;

use super::reader::Reader;
use crate::diagnostic;
use crate::format;
use crate::rule::{Block, BlockList, Policy, Select, SelectBy};
use crate::yaml::Node;

/// The lists of a container that a block can add to, with their default conflict policies.
const LISTS: &[(&str, Policy)] = &[
    ("env", Policy::Keep),
    ("envFrom", Policy::Keep),
    ("ports", Policy::KeepOwn),
    ("volumeDevices", Policy::SkipRule),
    ("volumeMounts", Policy::SkipRule),
];

impl Reader {
    pub(super) fn blocks(&mut self, spec: &Node, pod_spec: Schema<'_>) -> Vec<Block> {
        let Some(node) = spec.get("containers") else { return Vec::new() };
        let container = pod_spec.field("containers").item();
        let mut blocks = Vec::new();
        for (index, node) in self.list(node, "containers").iter().enumerate() {
            self.fields(node, &format::BLOCK);
            let on_conflict = self.policy(node).or(self.on_conflict);
            let clause = format!("containers[{index}]");
            let select = self.select(node);
            let mut lists = Vec::new();
            for (member, default) in LISTS {
                let Some(list) = node.get(member) else { continue };
                let policy = on_conflict.unwrap_or(*default);
                let items =
                    self.items(list, member, &format!("{clause}.{member}"), container.field(member), policy);
                lists.push(BlockList { member, items });
            }
            let policy = on_conflict.unwrap_or(Policy::Keep);
            let parts = self.parts_of_container(node, &clause, container, policy);
            let Some(select) = select else { continue };
            blocks.push(Block { select, lists, parts });
        }
        blocks
    }

    fn select(&mut self, block: &Node) -> Option<Select> {
        const ONE_OF: &str = "`select` has exactly one of `all: true`, `names`, `images` and `index`";
        let node = block.get("select")?;
        self.fields(node, &format::SELECT);
        let mut found = Vec::new();
        if let Some(all) = node.get("all")
            && self.boolean(all, "all")?
        {
            found.push(SelectBy::All);
        }
        if let Some(names) = node.get("names") {
            found.push(SelectBy::Names(self.texts(names, "names")));
        }
        if let Some(images) = node.get("images") {
            found.push(SelectBy::Images(self.texts(images, "images")));
        }
        if let Some(index) = node.get("index") {
            found.push(SelectBy::Index(self.integer(index, "index")?));
        }
        let exclude = node.get("exclude").map(|names| self.texts(names, "exclude")).unwrap_or_default();
        let init = node.get("init").and_then(|init| self.boolean(init, "init")).unwrap_or_default();
        match (found.pop(), found.is_empty()) {
            (Some(which), true) => Some(Select { which, exclude, init }),
            _ => {
                self.error(&diagnostic::WRONG_VALUE, node.at(), ONE_OF);
                None
            }
        }
    }
}
