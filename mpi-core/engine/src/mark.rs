//! What a message says about the type of its data, so that sender and receiver who disagree get an error.
//!
//! A *mark* is 24 bits in the first word of a message's header, where its kind leaves them free. Builds with debug
//! assertions send and check marks; in others they are nothing, neither in memory nor on the wire. A message without
//! one, from a release build, of raw bytes or from C, fits every receive.

/// Words that a mark has in this build.
const WORDS: usize = cfg!(debug_assertions) as usize;

/// The bits of a header's first word that say what kind of cell it is.
const KIND_BITS: u32 = 8;

/// Of marks that are no single basic type.
const COMPOSED: u32 = 1 << 23;

/// What a message says about its type; possibly nothing.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark([u32; WORDS]);

impl Mark {
    /// Whether there is anything to look at.
    pub const CHECKED: bool = WORDS > 0;

    pub const NONE: Mark = Mark([0; WORDS]);

    /// Of text, whose bytes may also be received as such.
    pub const TEXT: Mark = Mark([BASICS.len() as u32; WORDS]);

    /// Of elements with that signature. Raw bytes may be anything.
    pub const fn of(signature: Signature) -> Mark {
        let bits = match signature.only {
            EMPTY | UNKNOWN | BYTES => 0,
            SEVERAL => COMPOSED | signature.hash & (COMPOSED - 1),
            basic => basic as u32,
        };
        Mark([bits; WORDS])
    }

    /// Of values whose bytes only their type understands: by its name, without the modules it is in, which two programs
    /// may call differently.
    pub fn named(name: &str) -> Mark {
        if WORDS == 0 {
            return Mark::NONE;
        }
        let parts = name.split_inclusive(|sign: char| !(sign.is_alphanumeric() || sign == '_' || sign == ':'));
        let bytes = parts.flat_map(|part| part.rsplit("::").next().unwrap_or(part).bytes());
        let hash = bytes.fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        Mark([COMPOSED | (hash ^ hash >> 23) & (COMPOSED - 1); WORDS])
    }

    const fn bits(self) -> u32 {
        match self.0.as_slice() {
            [bits] => *bits,
            _ => 0,
        }
    }

    /// As part of the first word of a header.
    #[inline]
    pub fn word(self) -> u32 {
        self.bits() << KIND_BITS
    }

    /// What the first word of a header says.
    #[inline]
    pub fn heard(word: u32) -> Mark {
        Mark([word >> KIND_BITS; WORDS])
    }

    /// Whether both say something, and not the same.
    #[inline]
    pub fn contradicts(self, other: Mark) -> bool {
        self.bits() != 0 && other.bits() != 0 && self != other
    }

    /// What it stands for, as far as it can be told.
    pub fn name(self) -> &'static str {
        BASICS.get((self.bits() as usize).wrapping_sub(1)).copied().unwrap_or("another type")
    }
}

impl Default for Mark {
    fn default() -> Self {
        Mark::NONE
    }
}

/// The basic types in the order of a value's packed bytes: of `[f64; 2]` the same as of two `f64`, as in MPI's type
/// signatures.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    hash: u32,
    /// What the hash of whatever stands before is multiplied with.
    power: u32,
    /// The number of the only basic type that occurs, or one of the following.
    only: u8,
}

const EMPTY: u8 = 0;
const BYTES: u8 = 200;
const SEVERAL: u8 = 201;
const UNKNOWN: u8 = 202;

/// By their numbers, from 1 on. Text is the last.
const BASICS: [&str; 14] =
    ["u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "i128", "f32", "f64", "bool", "char", "text"];

/// Odd, so that nothing is lost by multiplying with it.
const BASE: u32 = 0x9e37_79b1;

impl Signature {
    /// Of a type that says nothing.
    pub const UNKNOWN: Signature = Signature { hash: 0, power: 1, only: UNKNOWN };
    pub const EMPTY: Signature = Signature { hash: 0, power: 1, only: EMPTY };

    const fn numbered(only: u8) -> Signature {
        Signature { hash: (only as u32 + 1).wrapping_mul(0x85eb_ca6b), power: BASE, only }
    }

    pub const fn unsigned(size: usize) -> Signature {
        match size {
            1 => Signature::numbered(BYTES),
            2 => Signature::numbered(1),
            4 => Signature::numbered(2),
            8 => Signature::numbered(3),
            _ => Signature::numbered(4),
        }
    }

    pub const fn signed(size: usize) -> Signature {
        Signature::numbered(5 + size.trailing_zeros() as u8)
    }

    pub const fn float(size: usize) -> Signature {
        Signature::numbered(if size == 4 { 10 } else { 11 })
    }

    pub const BOOL: Signature = Signature::numbered(12);
    pub const CHAR: Signature = Signature::numbered(13);

    const fn then(self, next: Signature) -> Signature {
        let only = match (self.only, next.only) {
            (UNKNOWN, _) | (_, UNKNOWN) => UNKNOWN,
            (EMPTY, only) | (only, EMPTY) => only,
            (only, same) if only == same => only,
            _ => SEVERAL,
        };
        let hash = self.hash.wrapping_mul(next.power).wrapping_add(next.hash);
        Signature { hash, power: self.power.wrapping_mul(next.power), only }
    }

    /// Of what has these parts, one behind the other.
    pub const fn sequence(parts: &[Signature]) -> Signature {
        let (mut all, mut part) = (Signature::EMPTY, 0);
        while part < parts.len() {
            all = all.then(parts[part]);
            part += 1;
        }
        all
    }

    pub const fn repeated(self, mut times: usize) -> Signature {
        let (mut all, mut square) = (Signature::EMPTY, self);
        while times > 0 {
            if times % 2 == 1 {
                all = all.then(square);
            }
            square = square.then(square);
            times /= 2;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_known_by_its_name_in_any_module() {
        assert_eq!(Mark::named("a::Task<b::c::Vec<u32>>"), Mark::named("Task<Vec<u32>>"));
        assert!(Mark::named("Task<Vec<u32>>").contradicts(Mark::named("Task<Vec<u64>>")));
    }
}
