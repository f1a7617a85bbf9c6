//! Tables for families of processors, and where the values of a job come from: the file that a user names, over the
//! family's table, over the defaults.
//!
//! Whoever starts a job chooses for all its ranks ([`Tuning::for_job`]), whatever processors they have, and hands the
//! outcome down ([`Tuning::of_job`]).

use super::{Row, Tuning};

/// A processor as CPUID names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Processor {
    /// Who makes it.
    pub vendor: String,
    /// Its family.
    pub family: u32,
    /// Its model.
    pub model: u32,
}

/// Processors that have one table.
struct Family {
    name: &'static str,
    vendor: &'static str,
    family: u32,
    models: &'static [std::ops::RangeInclusive<u32>],
    /// What differs from the defaults.
    values: &'static [(&'static str, usize)],
}

/// Those that were measured, the newest first: a processor as near to two gets the newer one's table. The defaults are
/// those of Zen 3.
const FAMILIES: &[Family] = &[
    // docs/decisions/0099
    Family {
        name: "Zen 4",
        vendor: "AuthenticAMD",
        family: 25,
        models: &[0x10..=0x1f, 0x60..=0x7f, 0xa0..=0xaf],
        values: &[
            ("single_copy_min", 24 << 10),
            ("both_copy_min", 48 << 10),
            ("both_copy_min_both_ways", 2 << 20),
            ("broadcast_slots_below", 18 << 10),
            ("reduce_in_turns_max", 16 << 10),
            ("allreduce_in_turns_max", 8 << 10),
        ],
    },
    Family { name: "Zen 3", vendor: "AuthenticAMD", family: 25, models: &[0x00..=0x0f, 0x20..=0x5f], values: &[] },
];

impl Family {
    /// How different a processor is that is not of this family; 0: it is.
    fn distance(&self, processor: &Processor) -> u32 {
        let other_vendor = if self.vendor == processor.vendor { 0 } else { 1 << 16 };
        let is_model = self.models.iter().any(|models| models.contains(&processor.model));
        // Models of another family are numbered anew.
        let other_model = u32::from(self.family != processor.family || !is_model);
        other_vendor + 2 * self.family.abs_diff(processor.family) + other_model
    }
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Nothing says anything else.
    Default,
    /// The table of that family of processors.
    Family(&'static str),
    /// The file that the user names.
    File,
}

/// The values of a job, and why they are so.
#[derive(Debug)]
pub struct Chosen {
    /// The values.
    pub tuning: Tuning,
    /// The family whose table they begin with.
    pub family: &'static str,
    /// Whether the processor is of that family, or it is the nearest only.
    pub is_known: bool,
    of_family: Tuning,
    in_file: Vec<&'static str>,
}

impl Chosen {
    /// Where the value of a row comes from.
    pub fn source(&self, row: &Row) -> Source {
        if self.in_file.contains(&row.name) {
            Source::File
        } else if self.of_family.get(row) != row.default {
            Source::Family(self.family)
        } else {
            Source::Default
        }
    }
}

impl Tuning {
    /// The environment variable that names a file of values.
    pub const VARIABLE: &'static str = rwmpi_transport::settings::TUNING;
    /// The one by which whoever starts a job hands its values down, as [`Tuning::changes`] says them.
    pub const TABLE_VARIABLE: &'static str = rwmpi_transport::settings::TUNING_TABLE;

    /// What to use on a `processor`, if the user's file says `text`.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn for_job(processor: &Processor, text: &str) -> Result<Chosen, String> {
        let (mut nearest, mut least) = (&FAMILIES[0], u32::MAX);
        for family in FAMILIES {
            let distance = family.distance(processor);
            if distance < least {
                (nearest, least) = (family, distance);
            }
        }
        let mut of_family = Tuning::DEFAULT;
        nearest.values.iter().try_for_each(|&(name, value)| of_family.set(name, value).map(drop))?;
        let mut tuning = of_family;
        let in_file = tuning.read(text)?;
        Ok(Chosen { tuning, family: nearest.name, is_known: least == 0, of_family, in_file })
    }

    /// The values of the job that this process belongs to, be it our launcher's or another's.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn of_job() -> Result<Tuning, String> {
        let mut tuning = Tuning::DEFAULT;
        if let Some((text, origin)) = rwmpi_transport::settings::tuning()? {
            tuning.read(&text).map_err(|what| format!("{origin}: {what}"))?;
        }
        Ok(tuning)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn processor(vendor: &str, family: u32, model: u32) -> Processor {
        Processor { vendor: vendor.to_owned(), family, model }
    }

    fn chosen(processor: &Processor, text: &str) -> Chosen {
        Tuning::for_job(processor, text).unwrap()
    }

    #[test]
    fn a_processor_has_the_table_of_its_family_or_the_nearest() {
        let milan = chosen(&processor("AuthenticAMD", 25, 1), "");
        assert_eq!((milan.family, milan.is_known, milan.tuning), ("Zen 3", true, Tuning::DEFAULT));
        let genoa = chosen(&processor("AuthenticAMD", 25, 0x11), "");
        assert_eq!((genoa.family, genoa.is_known), ("Zen 4", true));
        for other in [processor("AuthenticAMD", 26, 2), processor("Genuine", 6, 207)] {
            let chosen = chosen(&other, "");
            assert_eq!((chosen.family, chosen.is_known), ("Zen 4", false), "{other:?}");
        }
    }

    #[test]
    fn each_family_can_have_the_values_that_it_names() {
        for family in FAMILIES {
            let first = processor(family.vendor, family.family, *family.models[0].start());
            let chosen = chosen(&first, "");
            assert_eq!((chosen.family, chosen.is_known), (family.name, true));
            for &(name, value) in family.values {
                let row = Tuning::ROWS.iter().find(|row| row.name == name).unwrap();
                assert_eq!((chosen.tuning.get(row), chosen.source(row)), (value, Source::Family(family.name)));
            }
        }
    }

    #[test]
    fn the_file_wins_and_is_named() {
        let chosen = chosen(&processor("AuthenticAMD", 25, 1), "slots_below = 4096\n");
        let sources: Vec<_> = Tuning::ROWS.iter().filter(|row| chosen.source(row) == Source::File).collect();
        assert_eq!((sources.len(), sources[0].name, chosen.tuning.slots_below), (1, "slots_below", 4096));
        assert!(Tuning::for_job(&processor("", 0, 0), "x").is_err());
    }
}
