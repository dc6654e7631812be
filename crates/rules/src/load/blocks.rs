//! Reads `containerPatches`: the blocks for existing containers.

use vestibule_patch::Schema;

use super::reader::Reader;
use crate::diagnostic::WRONG_VALUE;
use crate::format;
use crate::rule::{Block, BlockList, OnConflict, Select, SelectBy};
use crate::yaml::Node;

/// The lists of a container that a block can add to, each with its default of `onConflict`.
const LISTS: &[(&str, OnConflict)] = &[
    ("env", OnConflict::Keep),
    ("envFrom", OnConflict::Keep),
    ("ports", OnConflict::KeepOwn),
    ("volumeDevices", OnConflict::SkipRule),
    ("volumeMounts", OnConflict::SkipRule),
];

impl Reader {
    pub(super) fn blocks(&mut self, spec: &Node, pod_spec: Schema<'_>) -> Vec<Block> {
        let container = pod_spec.field("containers").item();
        let mut blocks = Vec::new();
        for (index, node) in spec.items("containerPatches").iter().enumerate() {
            self.fields(node, &format::BLOCK);
            let on_conflict = self.read_on_conflict(node).or(self.on_conflict);
            let clause = format!("containerPatches[{index}]");
            let select = self.select(node);
            let mut lists = Vec::new();
            for (member, default) in LISTS {
                let Some(list) = node.get(member) else { continue };
                let on_conflict = on_conflict.unwrap_or(*default);
                let items = self.items(
                    list,
                    member,
                    &format!("{clause}.{member}"),
                    container.field(member),
                    on_conflict,
                );
                lists.push(BlockList { member, items });
            }
            let on_conflict = on_conflict.unwrap_or(OnConflict::Keep);
            let parts = self.parts_of_container(node, &clause, container, on_conflict);
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
        if node.get("all").is_some() && node.flag("all")? {
            found.push(SelectBy::All);
        }
        if node.get("names").is_some() {
            found.push(SelectBy::Names(node.texts("names")));
        }
        if node.get("images").is_some() {
            found.push(SelectBy::Images(node.texts("images")));
        }
        if node.get("index").is_some() {
            found.push(SelectBy::Index(node.integer("index").and_then(|index| index.try_into().ok())?));
        }
        let (exclude, init) = (node.texts("exclude"), node.flag("init").unwrap_or_default());
        match (found.pop(), found.is_empty()) {
            (Some(which), true) => Some(Select { which, exclude, init }),
            _ => {
                self.error(&WRONG_VALUE, node.at(), ONE_OF, "");
                None
            }
        }
    }
}
