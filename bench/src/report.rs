//! Figures as tables, a file, a page and a picture.

pub(crate) mod page;
pub(crate) mod picture;
pub(crate) mod results;
pub(crate) mod table;
