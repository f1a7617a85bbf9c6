//! The types of events, and what an event of each tells.

use rwmpi_core::Info;
use rwmpi_core::datatype::Basic;
use rwmpi_core::event::{Event, EventKind, MessageWay};

use super::super::enumeration::Enumeration;
use super::super::performance::About;
use super::super::{entry, give, offer, offer_text, run};
use crate::argument::{Out, OutArray, Text, TextOut, c_int, c_void};
use crate::datatype::handle_of_basic;
use crate::info::add_info;
use crate::interface::Abi;

/// A type of events.
pub(in super::super) struct EventType {
    pub(in super::super) name: &'static str,
    description: &'static str,
    pub(in super::super) about: About,
    /// How many of [`ELEMENTS`] an event of this type has.
    pub(in super::super) elements: usize,
}

/// An element of an event: its name, where it lies, and whether it is an `unsigned long long`, not an `int`.
pub(in super::super) struct Element {
    pub(in super::super) name: &'static str,
    pub(super) displacement: usize,
    pub(super) is_wide: bool,
}

/// The elements, of which all types have the first four.
pub(in super::super) const ELEMENTS: [Element; 5] = [
    Element { name: "process: the number in the job of the one at the other end", displacement: 0, is_wide: false },
    Element { name: "tag", displacement: 4, is_wide: false },
    Element { name: "bytes: the length of the message", displacement: 8, is_wide: true },
    Element { name: "collective: 1 if it is part of a collective, else 0", displacement: 16, is_wide: false },
    Element { name: "way: a number that the info of the type names", displacement: 20, is_wide: false },
];

/// All types, in the order of [`number_of`].
pub(in super::super) const TYPES: [EventType; 4] = [
    EventType {
        name: "message_way",
        description: "The sender of a message has decided by which way it goes",
        about: About::Messages,
        elements: 5,
    },
    EventType {
        name: "unexpected_message",
        description: "A message has come for which no receive was posted",
        about: About::Unexpected,
        elements: 4,
    },
    EventType {
        name: "late_receiver",
        description: "A receive was posted after its message had come",
        about: About::Unexpected,
        elements: 4,
    },
    EventType {
        name: "late_sender",
        description: "A message has come whose receive was posted before",
        about: About::Unexpected,
        elements: 4,
    },
];

/// The type of an event.
pub(super) fn number_of(event: &Event) -> usize {
    match event.kind {
        EventKind::WayDecided(_) => 0,
        EventKind::Unexpected => 1,
        EventKind::LateReceiver => 2,
        EventKind::LateSender => 3,
    }
}

impl Element {
    fn len(&self) -> usize {
        if self.is_wide { 8 } else { 4 }
    }
}

/// The element with that index of an event, as it lies in memory.
pub(super) fn element(event: &Event, index: usize) -> Vec<u8> {
    let number = match index {
        0 => event.process,
        1 => event.tag,
        2 => return event.bytes.to_ne_bytes().to_vec(),
        3 => event.is_collective.into(),
        _ => match event.kind {
            EventKind::WayDecided(way) => way.number() as u32,
            _ => 0,
        },
    };
    number.to_ne_bytes().to_vec()
}

/// All elements of an event, where [`ELEMENTS`] says.
pub(super) fn whole(event: &Event) -> Vec<u8> {
    let elements = &ELEMENTS[..TYPES[number_of(event)].elements];
    let end = elements.iter().map(|one| one.displacement + one.len()).max().unwrap_or(0);
    let mut all = vec![0; end];
    for (index, one) in elements.iter().enumerate() {
        all[one.displacement..][..one.len()].copy_from_slice(&element(event, index));
    }
    all
}

/// What an info object says about a type: which numbers are which ways.
fn info_of<A: Abi>(event_type: &EventType) -> Result<A::Handle, c_int> {
    let mut info = Info::new();
    if event_type.elements == ELEMENTS.len() {
        for (number, (_, name)) in MessageWay::NAMED.iter().enumerate() {
            info.set(&format!("way {number}"), name).map_err(|_| A::T_ERR_MEMORY)?;
        }
    }
    add_info::<A>(info).map_err(|_| A::T_ERR_OUT_OF_HANDLES)
}

/// MPI_T_event_get_num (MPI-5.0 section 15.3.8).
pub fn t_event_get_num<A: Abi>(number: Out<c_int>) -> c_int {
    give::<A, _>(number, TYPES.len() as c_int)
}

/// MPI_T_event_get_info (MPI-5.0 section 15.3.8): the enumeration names the elements.
pub fn t_event_get_info<A: Abi>(
    index: c_int,
    name: TextOut,
    name_len: Out<c_int>,
    verbosity: Out<c_int>,
    datatypes: OutArray<A::Handle>,
    displacements: OutArray<i64>,
    elements: Out<c_int>,
    enumeration: Out<*mut c_void>,
    info: Out<A::Handle>,
    description: TextOut,
    description_len: Out<c_int>,
    bind: Out<c_int>,
) -> c_int {
    run::<A>(|| {
        let (index, event_type) = entry::<A, _>(&TYPES, index)?;
        let of_type = &ELEMENTS[..event_type.elements];
        let room = usize::try_from(elements.get().unwrap_or(0)).unwrap_or(0);
        for (place, one) in of_type.iter().take(room).enumerate() {
            let basic = if one.is_wide { Basic::UnsignedLongLong } else { Basic::Int };
            // The program may want one of the arrays only.
            let _ = datatypes.set(place, handle_of_basic::<A>(basic));
            let _ = displacements.set(place, one.displacement as i64);
        }
        offer(elements, of_type.len() as c_int);
        offer_text(name, name_len, event_type.name);
        offer_text(description, description_len, event_type.description);
        offer(verbosity, A::T_VERBOSITY_USER_DETAIL);
        offer(enumeration, Enumeration::Elements(index).handle());
        offer(bind, A::T_BIND_NO_OBJECT);
        if !info.is_null() {
            offer(info, info_of::<A>(event_type)?);
        }
        Ok(())
    })
}

/// MPI_T_event_get_index (MPI-5.0 section 15.3.8).
pub fn t_event_get_index<A: Abi>(name: Text, index: Out<c_int>) -> c_int {
    run::<A>(|| {
        let name = name.get().map_err(|_| A::T_ERR_INVALID_NAME)?;
        let found = TYPES.iter().position(|known| known.name == name).ok_or(A::T_ERR_INVALID_NAME)?;
        index.set(found as c_int).map_err(|_| A::T_ERR_INVALID)
    })
}
