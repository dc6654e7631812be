//! tmp
pub(crate) fn write() -> anyhow::Result<()> { Ok(()) }
pub(crate) fn compare() -> anyhow::Result<()> { Ok(()) }
