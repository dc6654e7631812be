//! Fenced blocks of pages, and the commands in them. Tests of examples include this file.

/// Lines that are left out of blocks, with the reason.
pub(crate) const LEFT_OUT: [(&str, &str); 6] = [
    ("cargo xtask test", "it runs all tests, the test of this page among them"),
    ("kind ", "kind needs Docker, and no test has a container runtime"),
    ("cargo xtask image", "it makes a release build; the tests of `xtask` make images of finished binaries"),
    ("cargo build --release", "it takes minutes, and only the image needs it"),
    ("kubectl wait --for=condition=Ready pod/", "no kubelet starts pods"),
    ("kubectl logs web", "no kubelet starts pods"),
];

/// A fenced block of a page.
pub(crate) struct Block {
    pub(crate) info: String,
    pub(crate) text: String,
}

impl Block {
    pub(crate) fn all(page: &str) -> Vec<Self> {
        let (mut blocks, mut open): (Vec<Self>, Option<(usize, Self)>) = (Vec::new(), None);
        for line in page.lines() {
            let bare = line.trim_start();
            match (&mut open, bare.strip_prefix("```")) {
                (None, Some(info)) => {
                    let block = Self { info: info.to_owned(), text: String::new() };
                    open = Some((line.len() - bare.len(), block));
                }
                (Some(_), Some("")) => blocks.extend(open.take().map(|(_, block)| block)),
                (Some((indent, block)), _) => {
                    block.text.push_str(line.get(*indent..).unwrap_or_default());
                    block.text.push('\n');
                }
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "a block has no end");
        blocks
    }

    pub(crate) fn has_commands(&self) -> bool {
        matches!(self.info.as_str(), "console" | "sh")
    }

    /// The name of the file, if the block is a file.
    pub(crate) fn file(&self) -> Option<&str> {
        let (_, name) = self.info.split_once(' ').filter(|(kind, _)| matches!(*kind, "yaml" | "json"))?;
        Some(name)
    }

    /// The script with values for placeholders.
    pub(crate) fn script_with(&self, values: &[(&str, &str)]) -> String {
        values.iter().fold(self.script(), |script, (written, here)| {
            assert!(script.contains(written), "{script}: {written}");
            script.replace(written, here)
        })
    }

    /// The commands without their output, as one script.
    pub(crate) fn script(&self) -> String {
        self.split().0
    }

    /// The output of the commands, if the block shows it.
    pub(crate) fn output(&self) -> String {
        self.split().1
    }

    fn split(&self) -> (String, String) {
        let (mut script, mut output) = (String::new(), String::new());
        let mut lines = self.text.lines();
        while let Some(line) = lines.next() {
            let Some(mut typed) = (if self.info == "sh" { Some(line) } else { line.strip_prefix("$ ") })
            else {
                output += &format!("{line}\n");
                continue;
            };
            let is_left_out = LEFT_OUT.iter().any(|(command, _)| typed.starts_with(command));
            loop {
                if !is_left_out {
                    script += &format!("{typed}\n");
                }
                if !typed.ends_with(['\\', '|']) {
                    break;
                }
                typed = lines.next().unwrap();
            }
        }
        (script, output)
    }
}
