//! Tars whose bytes depend on their files alone: no times, no users of the build machine.

use std::collections::BTreeMap;
use std::io::Write;

use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};

/// The files of an archive by path, with their modes.
pub(crate) type Contents = BTreeMap<String, (u32, Vec<u8>)>;

/// Adds a file that belongs to root.
pub(crate) fn append(
    tar: &mut tar::Builder<Vec<u8>>,
    path: &str,
    mode: u32,
    contents: &[u8],
) -> anyhow::Result<()> {
    Ok(tar.append_data(&mut header(mode, contents.len() as u64), path, contents)?)
}

/// The header of a file that belongs to root and has no time.
pub(crate) fn header(mode: u32, size: u64) -> tar::Header {
    let mut header = tar::Header::new_ustar();
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}

/// gzip without a name and a time.
pub(crate) fn pack(tar: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut packer = GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), Compression::best());
    packer.write_all(tar)?;
    Ok(packer.finish()?)
}

/// SHA-256 in hexadecimal digits.
pub(crate) fn sha256(contents: &[u8]) -> String {
    Sha256::digest(contents).iter().map(|byte| format!("{byte:02x}")).collect()
}
