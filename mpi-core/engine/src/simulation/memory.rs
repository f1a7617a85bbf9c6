//! The buffers of simulated ranks, and who may touch them when.
//!
//! A block is lent to an engine from the start of an operation until the operation has been collected. Whoever touches
//! a block that is not lent, or writes one that was lent to be read, breaks the engine's promise about the life of
//! buffers.

use std::cell::RefCell;
use std::collections::BTreeMap;

use rwmpi_transport::{ReadSpan, RemoteAddress, WriteSpan};

use crate::Scattered;

/// Bytes after each buffer that nobody may change.
const MARGIN: usize = 16;
/// What lent memory holds before anybody has written it.
const FRESH: u8 = 0xa5;
/// What memory holds that has been given back.
const RETURNED: u8 = 0x5a;

/// What a block is lent for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Send,
    Receive,
}

/// A buffer that the engine has to take as if its bytes were scattered.
#[derive(Debug)]
pub(super) struct Apart(pub(super) WriteSpan<'static>);

impl Scattered for Apart {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn pack(&self, at: usize, into: &mut [u8]) {
        self.0.as_read().part(at, into.len()).copy_to(into.into());
    }

    fn unpack(&self, at: usize, bytes: &[u8]) {
        ReadSpan::from(bytes).copy_to(self.0.part(at, bytes.len()));
    }
}

/// Names a block.
pub(super) type BlockId = usize;

struct Block {
    span: WriteSpan<'static>,
    lent: Option<Use>,
    /// How many bytes are lent.
    len: usize,
    /// How much of it has been in use, margin included.
    used: usize,
}

thread_local! {
    /// Memory of earlier runs, to be used again: spans have to live for ever.
    static SPARE: RefCell<Vec<WriteSpan<'static>>> = const { RefCell::new(Vec::new()) };
}

/// All blocks of one run.
#[derive(Default)]
pub(super) struct Memory {
    blocks: Vec<Block>,
    by_start: BTreeMap<usize, BlockId>,
}

fn place(span: ReadSpan<'_>) -> usize {
    span.start() as usize
}

fn fill(span: WriteSpan<'_>, byte: u8) {
    ReadSpan::from(&vec![byte; span.len()][..]).copy_to(span);
}

/// The bytes of a span.
pub(super) fn bytes(span: ReadSpan<'_>) -> Vec<u8> {
    let mut bytes = vec![0; span.len()];
    span.copy_to(bytes.as_mut_slice().into());
    bytes
}

impl Memory {
    /// Lends `len` bytes.
    pub(super) fn lend(&mut self, len: usize, lent: Use) -> (BlockId, WriteSpan<'static>) {
        let size = (len + MARGIN).next_power_of_two().max(64);
        let free = self.blocks.iter().position(|block| block.lent.is_none() && block.span.len() == size);
        let id = free.unwrap_or_else(|| self.add(size));
        let block = &mut self.blocks[id];
        block.lent = Some(lent);
        block.len = len;
        block.used = block.used.max(len + MARGIN);
        fill(block.span.part(0, len + MARGIN), FRESH);
        (id, block.span.part(0, len))
    }

    fn add(&mut self, size: usize) -> BlockId {
        let spare = SPARE.with_borrow_mut(|spare| {
            let place = spare.iter().position(|span| span.len() == size)?;
            Some(spare.swap_remove(place))
        });
        let span = spare.unwrap_or_else(|| Box::leak(vec![0; size].into_boxed_slice()).into());
        self.blocks.push(Block { span, lent: None, len: 0, used: 0 });
        let id = self.blocks.len() - 1;
        self.by_start.insert(place(span.as_read()), id);
        id
    }

    /// Takes a block back. `Err`: somebody has written beyond the buffer.
    pub(super) fn give_back(&mut self, id: BlockId, span: WriteSpan<'static>) -> Result<(), String> {
        let block = &mut self.blocks[id];
        let margin = bytes(block.span.part(span.len(), MARGIN).as_read());
        fill(block.span.part(0, block.used), RETURNED);
        block.lent = None;
        if margin.iter().all(|&byte| byte == FRESH) { Ok(()) } else { Err("bytes behind a buffer changed".into()) }
    }

    /// The address of a span. Space 0: the shared heap; 1: other memory; 2: memory that no peer can reach.
    pub(super) fn address_of(&self, span: ReadSpan<'_>) -> RemoteAddress {
        let space = self.block_of(place(span)).map_or(2, |id| id as u64 % 2);
        RemoteAddress { space, place: place(span) as u64, len: span.len() as u64 }
    }

    fn block_of(&self, place: usize) -> Option<BlockId> {
        let (&start, &id) = self.by_start.range(..=place).next_back()?;
        (place - start < self.blocks[id].span.len()).then_some(id)
    }

    /// The span at an address, if it may now be used that way.
    pub(super) fn at(
        &self,
        address: &RemoteAddress,
        offset: u64,
        len: usize,
    ) -> Result<(WriteSpan<'static>, Use), String> {
        let nobody = "an address that nobody handed out";
        let place = address.place.checked_add(offset).ok_or(nobody)? as usize;
        let id = self.block_of(place).ok_or(nobody)?;
        let block = &self.blocks[id];
        let lent = block.lent.ok_or("a buffer that has been given back")?;
        let start = place - self.block_start(id);
        if start + len > block.len {
            return Err("more than was lent".to_owned());
        }
        Ok((block.span.part(start, len), lent))
    }

    fn block_start(&self, id: BlockId) -> usize {
        place(self.blocks[id].span.as_read())
    }

    /// Whether an own span may be written now. Memory that is no block belongs to the engine.
    pub(super) fn writable(&self, span: WriteSpan<'_>) -> bool {
        let block = self.block_of(place(span.as_read()));
        block.is_none_or(|id| self.blocks[id].lent == Some(Use::Receive))
    }

    /// Whether what was given back is as it was then.
    pub(super) fn check_returned(&self) -> Result<(), String> {
        let changed = |block: &&Block| {
            block.lent.is_none() && bytes(block.span.part(0, block.used).as_read()).iter().any(|&byte| byte != RETURNED)
        };
        match self.blocks.iter().find(changed) {
            None => Ok(()),
            Some(_) => Err("somebody wrote into a buffer that had been given back".into()),
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        SPARE.with_borrow_mut(|spare| spare.extend(self.blocks.iter().map(|block| block.span)));
    }
}
