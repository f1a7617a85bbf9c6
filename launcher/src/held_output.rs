//! Output that is kept for later in a file without a name, so that it may be long.

use rustix::fs::{MemfdFlags, Mode, OFlags};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// How much is taken up at once.
const PIECE_BYTES: usize = 1 << 18;

/// The file.
#[derive(Debug)]
pub(crate) struct Held {
    file: File,
    /// How much of it was taken up again.
    taken: u64,
    len: u64,
    /// Whether it is to be written by now.
    pub(crate) is_let_go: bool,
}

impl Held {
    pub(crate) fn new() -> io::Result<Held> {
        let on_disk = rustix::fs::open(
            std::env::temp_dir(),
            OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC,
            Mode::RUSR | Mode::WUSR,
        );
        let file = on_disk.or_else(|_| rustix::fs::memfd_create("output", MemfdFlags::CLOEXEC))?;
        Ok(Held { file: file.into(), taken: 0, len: 0, is_let_go: false })
    }

    /// Adds to what is kept.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, self.len)?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    pub(crate) fn let_go(&mut self) {
        self.is_let_go = true;
    }

    /// What comes next; nothing: that was all.
    pub(crate) fn next_piece(&mut self) -> Vec<u8> {
        let len = (self.len - self.taken).min(PIECE_BYTES as u64) as usize;
        let mut piece = vec![0; len];
        if self.file.read_exact_at(&mut piece, self.taken).is_err() {
            piece.clear();
        }
        self.taken += piece.len() as u64;
        piece
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_in_order() {
        let mut held = Held::new().unwrap();
        let text: Vec<u8> = (0..PIECE_BYTES + 1000).map(|place| (place % 251) as u8).collect();
        text.chunks(777).for_each(|part| held.append(part).unwrap());
        let mut read = held.next_piece();
        assert_eq!(read.len(), PIECE_BYTES);
        held.append(b"more").unwrap();
        read.extend(held.next_piece());
        assert_eq!(read, [&text[..], b"more"].concat());
        assert!(held.next_piece().is_empty());
    }
}
