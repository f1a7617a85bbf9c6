//! Categories of variables (MPI-5.0 section 15.3.9). They never change.

use rwmpi_core::settings::SETTINGS;

use super::event::types::TYPES;
use super::performance::{About, VARIABLES};
use super::{control, entry, give, offer, offer_text, run};
use crate::argument::{Out, OutArray, Text, TextOut, c_int};
use crate::interface::Abi;

/// A category, and what belongs to it.
struct Category {
    name: &'static str,
    description: &'static str,
    holds: Holds,
}

#[derive(Clone, Copy)]
enum Holds {
    Settings,
    Tuning,
    Counted(About),
}

const CATEGORIES: &[Category] = &[
    Category {
        name: "settings",
        description: "What users set by environment variables, for the whole job",
        holds: Holds::Settings,
    },
    Category {
        name: "tuning",
        description: "Lengths and numbers of ranks from which other ways pay",
        holds: Holds::Tuning,
    },
    Category {
        name: "messages",
        description: "Messages that this rank has sent, and by which way",
        holds: Holds::Counted(About::Messages),
    },
    Category {
        name: "requests for send",
        description: "How receivers asked for messages, and what became of it",
        holds: Holds::Counted(About::Requests),
    },
    Category {
        name: "unexpected messages",
        description: "Messages that have arrived before their receives were posted",
        holds: Holds::Counted(About::Unexpected),
    },
];

impl Category {
    fn control_variables(&self) -> Vec<c_int> {
        let range = match self.holds {
            Holds::Settings => 0..SETTINGS.len(),
            Holds::Tuning => SETTINGS.len()..control::number(),
            Holds::Counted(_) => 0..0,
        };
        range.map(|index| index as c_int).collect()
    }

    fn performance_variables(&self) -> Vec<c_int> {
        let Holds::Counted(about) = self.holds else { return Vec::new() };
        let all = VARIABLES.iter().zip(0..);
        all.filter(|(variable, _)| variable.about == about).map(|(_, index)| index).collect()
    }

    fn events(&self) -> Vec<c_int> {
        let Holds::Counted(about) = self.holds else { return Vec::new() };
        TYPES.iter().zip(0..).filter(|(event, _)| event.about == about).map(|(_, index)| index).collect()
    }
}

/// Gives as many of these indices as have room.
fn list<A: Abi>(index: c_int, len: c_int, places: OutArray<c_int>, of: fn(&Category) -> Vec<c_int>) -> c_int {
    run::<A>(|| {
        let indices = of(entry::<A, _>(CATEGORIES, index)?.1);
        let room = usize::try_from(len).unwrap_or(0);
        let all = indices.into_iter().take(room).enumerate();
        all.into_iter().try_for_each(|(place, index)| places.set(place, index)).map_err(|_| A::T_ERR_INVALID)
    })
}

/// MPI_T_category_get_num (MPI-5.0 section 15.3.9).
pub fn t_category_get_num<A: Abi>(number: Out<c_int>) -> c_int {
    give::<A, _>(number, CATEGORIES.len() as c_int)
}

/// MPI_T_category_changed (MPI-5.0 section 15.3.9).
pub fn t_category_changed<A: Abi>(changes: Out<c_int>) -> c_int {
    give::<A, _>(changes, 0)
}

/// MPI_T_category_get_info (MPI-5.0 section 15.3.9).
pub fn t_category_get_info<A: Abi>(
    index: c_int,
    name: TextOut,
    name_len: Out<c_int>,
    description: TextOut,
    description_len: Out<c_int>,
    control_variables: Out<c_int>,
    performance_variables: Out<c_int>,
    categories: Out<c_int>,
) -> c_int {
    run::<A>(|| {
        let (_, category) = entry::<A, _>(CATEGORIES, index)?;
        offer_text(name, name_len, category.name);
        offer_text(description, description_len, category.description);
        offer(control_variables, category.control_variables().len() as c_int);
        offer(performance_variables, category.performance_variables().len() as c_int);
        offer(categories, 0);
        Ok(())
    })
}

/// MPI_T_category_get_num_events (MPI-5.0 section 15.3.9).
pub fn t_category_get_num_events<A: Abi>(index: c_int, number: Out<c_int>) -> c_int {
    run::<A>(|| entry::<A, _>(CATEGORIES, index).map(|(_, category)| offer(number, category.events().len() as c_int)))
}

/// MPI_T_category_get_index (MPI-5.0 section 15.3.9).
pub fn t_category_get_index<A: Abi>(name: Text, index: Out<c_int>) -> c_int {
    run::<A>(|| {
        let name = name.get().map_err(|_| A::T_ERR_INVALID_NAME)?;
        let found = CATEGORIES.iter().position(|known| known.name == name).ok_or(A::T_ERR_INVALID_NAME)?;
        index.set(found as c_int).map_err(|_| A::T_ERR_INVALID)
    })
}

/// MPI_T_category_get_cvars (MPI-5.0 section 15.3.9).
pub fn t_category_get_cvars<A: Abi>(index: c_int, len: c_int, indices: OutArray<c_int>) -> c_int {
    list::<A>(index, len, indices, Category::control_variables)
}

/// MPI_T_category_get_pvars (MPI-5.0 section 15.3.9).
pub fn t_category_get_pvars<A: Abi>(index: c_int, len: c_int, indices: OutArray<c_int>) -> c_int {
    list::<A>(index, len, indices, Category::performance_variables)
}

/// MPI_T_category_get_events (MPI-5.0 section 15.3.9).
pub fn t_category_get_events<A: Abi>(index: c_int, len: c_int, indices: OutArray<c_int>) -> c_int {
    list::<A>(index, len, indices, Category::events)
}

/// MPI_T_category_get_categories (MPI-5.0 section 15.3.9): there are none in another.
pub fn t_category_get_categories<A: Abi>(index: c_int, len: c_int, indices: OutArray<c_int>) -> c_int {
    list::<A>(index, len, indices, |_| Vec::new())
}
