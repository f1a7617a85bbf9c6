//! How values look in a file (MPI-5.0 section 14.5), and what turns them into what they are in memory.

use std::fmt;
use std::rc::Rc;

use rwmpi_core::datatype::{Basic, Datatype};
use rwmpi_core::untyped::Elements;
use rwmpi_core::{Error, ErrorClass, Result};

/// How values look in the file.
#[derive(Clone, Debug)]
pub enum Representation {
    /// As in memory.
    Native,
    /// As all libraries of this implementation understand it: as in memory.
    Internal,
    /// As all implementations understand it.
    External32,
    /// As the program converts it.
    Registered(Rc<dyn Conversion>),
}

/// A representation that the program has made known.
pub trait Conversion: fmt::Debug {
    /// Its name.
    fn name(&self) -> &str;
    /// Bytes of a predefined datatype in the file.
    ///
    /// # Errors
    /// What the program says.
    fn size(&self, basic: Basic) -> Result<u64>;
    /// Turns bytes of the file into elements.
    ///
    /// # Errors
    /// What the program says.
    fn decode(&self, elements: &Elements, bytes: &mut [u8]) -> Result<()>;
    /// Turns elements into bytes for the file.
    ///
    /// # Errors
    /// What the program says.
    fn encode(&self, elements: &Elements, bytes: &mut [u8]) -> Result<()>;
}

impl Representation {
    /// That of the standard's with the name.
    pub fn of_name(name: &str) -> Option<Self> {
        let all = [Representation::Native, Representation::Internal, Representation::External32];
        all.into_iter().find(|one| one.name() == name)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Representation::Native => "native",
            Representation::Internal => "internal",
            Representation::External32 => "external32",
            Representation::Registered(conversion) => conversion.name(),
        }
    }

    /// Whether values look as in memory.
    pub(crate) fn is_as_in_memory(&self) -> bool {
        matches!(self, Representation::Native | Representation::Internal)
    }

    /// What elements of a datatype are in the file.
    pub(crate) fn in_file(&self, datatype: &Datatype) -> Result<Datatype> {
        match self {
            Representation::Native | Representation::Internal => Ok(datatype.clone()),
            Representation::External32 => datatype.with_sizes(&|basic| Ok(basic.external_size())),
            Representation::Registered(conversion) => datatype.with_sizes(&|basic| conversion.size(basic)),
        }
    }

    /// Turns bytes of the file into elements.
    pub(crate) fn decode(&self, elements: &Elements, bytes: &mut [u8]) -> Result<()> {
        match self {
            Representation::Native | Representation::Internal => unpack(elements, bytes),
            Representation::External32 => elements.unpack_external(bytes).map(drop),
            Representation::Registered(conversion) => conversion.decode(elements, bytes),
        }
    }

    /// Turns elements into bytes for the file.
    pub(crate) fn encode(&self, elements: &Elements, bytes: &mut [u8]) -> Result<()> {
        match self {
            Representation::Native | Representation::Internal => pack(elements, bytes),
            Representation::External32 => elements.pack_external(bytes).map(drop),
            Representation::Registered(conversion) => conversion.encode(elements, bytes),
        }
    }
}

/// That elements have as many bytes in memory as there are of the file.
fn check_size(elements: &Elements, bytes: &[u8]) -> Result<()> {
    let size = elements.datatype().packed_size(elements.count())?;
    if size == bytes.len() as u64 {
        return Ok(());
    }
    let what = format!("{size} bytes in memory are {} in the file, and no function converts them", bytes.len());
    Err(Error::new(ErrorClass::Conversion, what))
}

/// Takes bytes as they are into elements.
///
/// # Errors
/// They are not as many as the elements have.
pub fn unpack(elements: &Elements, bytes: &[u8]) -> Result<()> {
    check_size(elements, bytes)?;
    elements.unpack_at(0, bytes);
    Ok(())
}

/// Takes elements as they are to bytes.
///
/// # Errors
/// They are not as many as the elements have.
pub fn pack(elements: &Elements, bytes: &mut [u8]) -> Result<()> {
    check_size(elements, bytes)?;
    elements.pack_at(0, bytes);
    Ok(())
}
