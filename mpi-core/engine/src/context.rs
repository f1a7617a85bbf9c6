//! What an engine knows of contexts and tags: which messages are the library's own.

/// Contexts of one communicator. The first is for point-to-point messages.
pub const BLOCK: u32 = 3;

/// Agreements have tags from here on.
pub const AGREEMENT: u32 = 1 << 31;

/// Whether messages in that context are the library's own: collectives, and the creation of communicators.
pub fn is_collective(context: u32) -> bool {
    !context.is_multiple_of(BLOCK)
}

/// Whether a message with that tag is of an agreement, which goes on whatever fails. Tags of programs are smaller.
pub fn is_agreement(tag: Option<u32>) -> bool {
    tag.is_some_and(|tag| tag >= AGREEMENT)
}
