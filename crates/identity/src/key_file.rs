//! Reads files that may hold a private key.

use std::fs::File;
use std::io::{self, ErrorKind, Read};

use zeroize::Zeroizing;

/// A certificate or key file is smaller, and a Secret holds no more.
const MAX_BYTES: u64 = 1024 * 1024;

/// The text of a file of at most 1 MiB, erased when dropped; bytes that are not UTF-8 are replaced.
pub(crate) fn read(file: File) -> io::Result<Zeroizing<String>> {
    let length = file.metadata()?.len();
    if length > MAX_BYTES {
        return Err(io::Error::new(ErrorKind::FileTooLarge, "it is larger than 1 MiB"));
    }
    // A buffer that grows would leave copies of a key in freed memory.
    let mut bytes = Zeroizing::new(Vec::with_capacity(usize::try_from(length).unwrap_or_default() + 1));
    file.take(length).read_to_end(&mut bytes)?;
    // A comment between PEM blocks may be Latin-1; a file in DER has no block, and is reported as such.
    let mut text =
        Zeroizing::new(String::with_capacity(bytes.len() * char::REPLACEMENT_CHARACTER.len_utf8()));
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
    Ok(text)
}
