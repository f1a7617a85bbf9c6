//! The bytes of messages, as they are written and read.

use smallvec::SmallVec;

/// Messages up to this length need no memory of their own.
const SHORT: usize = 64;

/// Values within values, at most: bytes that nest without end must not exhaust the stack.
const DEPTH_MAX: u32 = 500;

/// Why a value can't be made into bytes, or bytes into a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CodecError(String);

impl CodecError {
    /// In words that fit behind "the bytes are no such value:".
    pub fn new(why: impl Into<String>) -> Self {
        CodecError(why.into())
    }

    #[cold]
    pub(super) fn too_short(needed: usize, left: usize) -> Self {
        CodecError(format!("they end where {needed} more are needed and {left} are left"))
    }

    #[cold]
    pub(super) fn left_over(bytes: usize) -> Self {
        CodecError(format!("{bytes} bytes are left over"))
    }
}

/// The bytes of a message that is being written.
#[doc = example!(1
    "use rwmpi::message::{CodecError, Message, Reader, Writer};"
    "/// Few bits that are set, of many."
    "#[derive(Clone, Debug, PartialEq)]"
    "struct Places { name: String, set: Vec<u32> }"
    "impl Message for Places {"
    "    fn encode(&self, to: &mut Writer) -> Result<(), CodecError> {"
    "        to.put_count(self.name.len());"
    "        to.put(self.name.as_bytes());"
    "        to.put_count(self.set.len());"
    "        to.put_with(4 * self.set.len(), |bytes| {"
    "            for (bytes, place) in bytes.chunks_exact_mut(4).zip(&self.set) {"
    "                bytes.copy_from_slice(&place.to_le_bytes());"
    "            }"
    "        });"
    "        assert!(!to.bytes().is_empty());"
    "        Ok(())"
    "    }"
    "    fn decode(from: &mut Reader<'_>) -> Result<Self, CodecError> {"
    "        let len = from.take_count()?;"
    "        let name = String::from_utf8(from.take(len)?.to_vec()).map_err(|error| CodecError::new(error.to_string()))?;"
    "        // A number of things of four bytes each is only believed if so many bytes are left."
    "        let count = from.take_count_of(Some(4))?;"
    "        assert!(from.len() >= 4 * count && from.is_empty() == (from.len() == 0));"
    "        let set = from.nested(|from| (0..count).map(|_| u32::decode(from)).collect())?;"
    "        Ok(Places { name, set })"
    "    }"
    "}"
    "let places = Places { name: \"full\".into(), set: vec![3, 5, 8] };"
    "world.send_value(&places, 0, 0)?;"
    "assert_eq!(world.recv_value::<Places>(0, 0)?.0, places);"
)]
#[derive(Debug, Default)]
pub struct Writer {
    bytes: SmallVec<[u8; SHORT]>,
}

impl Writer {
    /// Appends bytes.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends `len` bytes, which `fill` writes.
    #[inline]
    pub fn put_with(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) {
        let start = self.bytes.len();
        self.bytes.resize(start + len, 0);
        fill(&mut self.bytes[start..]);
    }

    /// Appends a number of things: one byte if it is small.
    pub fn put_count(&mut self, mut count: usize) {
        while count >= 0x80 {
            self.bytes.push(count as u8 | 0x80);
            count >>= 7;
        }
        self.bytes.push(count as u8);
    }

    /// What has been written.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The bytes of a message that is being read.
#[derive(Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    depth: u32,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, depth: 0 }
    }

    /// How many bytes are left.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether none are left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next `len` bytes.
    ///
    /// # Errors
    /// There are fewer.
    #[inline]
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], CodecError> {
        let Some((taken, rest)) = self.bytes.split_at_checked(len) else {
            return Err(CodecError::too_short(len, self.bytes.len()));
        };
        self.bytes = rest;
        Ok(taken)
    }

    /// All bytes that are left, which stay.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// A number of things, as [`Writer::put_count`] wrote it.
    ///
    /// # Errors
    /// There is none.
    pub fn take_count(&mut self) -> Result<usize, CodecError> {
        let mut count = 0_usize;
        for shift in (0..usize::BITS).step_by(7) {
            let byte = self.take(1)?[0];
            let bits = usize::from(byte & 0x7f);
            if (bits << shift) >> shift != bits {
                break;
            }
            count |= bits << shift;
            if byte < 0x80 {
                return Ok(count);
            }
        }
        Err(CodecError::new("a length exceeds 64 bits"))
    }

    /// As [`Reader::take_count`], of values of which each has `size` bytes, or at least one: never more than the bytes
    /// can be.
    ///
    /// # Errors
    /// The bytes that are left are too few.
    pub fn take_count_of(&mut self, size: Option<usize>) -> Result<usize, CodecError> {
        let count = self.take_count()?;
        // What has no bytes is counted all the same; so many may be.
        let most = self.len().checked_div(size.unwrap_or(1)).unwrap_or(u16::MAX.into());
        if count > most {
            return Err(CodecError::new(format!("they name {count} values where {most} are possible at most")));
        }
        Ok(count)
    }

    /// Reads what lies within a value that may contain others of its kind.
    ///
    /// # Errors
    /// As `read`, or if there is too much within each other.
    pub fn nested<R>(&mut self, read: impl FnOnce(&mut Self) -> Result<R, CodecError>) -> Result<R, CodecError> {
        if self.depth == DEPTH_MAX {
            return Err(CodecError::new(format!("more than {DEPTH_MAX} values lie within each other")));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }
}
