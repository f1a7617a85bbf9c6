//! Whose numbers the members of a group are.
//!
//! Numbers are those of the rank's job, or of a file that it has in common with ranks of another job. Of such a file
//! only its own job's ranks have numbers in the job. So groups are compared by the job's numbers, and ranks of other
//! jobs are the same only where their numbers come from the same file.

use rwmpi_rank::Numbers;

use super::Group;

impl Group {
    /// The numbers of a file for so many, in which the members have those from `first` on.
    pub(crate) fn numbers_in_file(&self, size: usize, first: usize) -> Numbers {
        let in_job = |peer: u32| self.numbers.as_ref().map_or(Some(peer), |numbers| numbers.in_job(peer));
        Numbers::new((0..size).map(|number| self.peer(number.checked_sub(first)?).and_then(in_job)))
    }

    /// The same members, which are those of that file.
    pub(crate) fn numbered_by(self, numbers: Option<&Numbers>) -> Group {
        Group { numbers: numbers.cloned(), ..self }
    }

    /// Whether the members of both have numbers of the same kind.
    pub(super) fn has_numbers_of(&self, other: &Group) -> bool {
        match (&self.numbers, &other.numbers) {
            (None, None) => true,
            (Some(one), Some(other)) => one.are(other),
            _ => false,
        }
    }

    /// The number here of whoever has that one in `other`.
    pub(super) fn number_of(&self, peer: u32, other: &Group) -> Option<u32> {
        if self.has_numbers_of(other) || self.size() == 0 {
            return Some(peer);
        }
        let in_job = other.numbers.as_ref().map_or(Some(peer), |numbers| numbers.in_job(peer))?;
        match &self.numbers {
            None => Some(in_job),
            Some(numbers) => numbers.of(in_job),
        }
    }

    /// The rank here of whoever has that number in `other`.
    pub(crate) fn find_of(&self, peer: u32, other: &Group) -> Option<usize> {
        self.number_of(peer, other).and_then(|peer| self.find(peer))
    }

    /// Whether it has the members of `other`, in the same order.
    pub(super) fn has_members_of(&self, other: &Group) -> bool {
        let mut both = self.peers.iter().zip(other.peers.iter());
        self.size() == other.size() && both.all(|(&one, &peer)| self.number_of(peer, other) == Some(one))
    }

    /// The same members with the numbers that `other` has for them; `None` if it has none for one of them.
    pub(crate) fn as_numbered_by(&self, other: &Group) -> Option<Group> {
        if self.has_numbers_of(other) {
            return Some(self.clone());
        }
        let peers = self.peers.iter().map(|&peer| other.number_of(peer, self)).collect::<Option<Vec<u32>>>()?;
        let me = self.me().and_then(|me| other.number_of(me, self));
        Some(Group::new(peers, me).numbered_by(other.numbers.as_ref()).of_session(self.session))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Comparison;

    fn world(peers: &[u32]) -> Group {
        Group::new(peers.to_vec(), Some(5))
    }

    #[test]
    fn ranks_of_one_job_are_known_in_both() {
        // Ranks 5 and 3 of the job have the numbers 1 and 2 of a file for 4.
        let numbers = world(&[5, 3]).numbers_in_file(4, 1);
        let in_file = |peers: &[u32]| Group::new(peers.to_vec(), Some(1)).numbered_by(Some(&numbers));
        let (all, both) = (in_file(&[0, 1, 2, 3]), in_file(&[1, 2]));
        assert_eq!(both, world(&[5, 3]));
        assert_eq!(both.compare(&world(&[3, 5])), Comparison::Similar);
        assert_eq!(all.translate_ranks(&[0, 1, 2], &world(&[0, 3, 5])).unwrap(), [None, Some(2), Some(1)]);
        assert_eq!(world(&[0, 3]).translate_ranks(&[0, 1], &all).unwrap(), [None, Some(2)]);
        assert_eq!(all.difference(&world(&[5])), in_file(&[0, 2, 3]));
        assert_eq!(world(&[1, 3]).intersection(&all), world(&[3]));
        assert_eq!(both.as_numbered_by(&world(&[0])).map(|group| group.peers().to_vec()), Some(vec![5, 3]));
        assert!(all.as_numbered_by(&world(&[0])).is_none(), "0 and 3 are of another job");
        assert_eq!(both.of_session(7).as_numbered_by(&world(&[0])).map(|group| group.session()), Some(7));
        assert_eq!(world(&[5]).union(&all).size(), 2);
        assert_eq!(Group::empty().union(&all), all);
        assert_ne!(in_file(&[0]), world(&[0]));
    }

    #[test]
    fn other_files_ranks_of_other_jobs_are_others() {
        let [one, other] = [0, 1].map(|first| world(&[5]).numbers_in_file(3, first));
        let [one, other] = [one, other].map(|numbers| Group::new(vec![0, 1, 2], None).numbered_by(Some(&numbers)));
        assert_eq!(one.translate_ranks(&[0, 1, 2], &other).unwrap(), [Some(1), None, None]);
    }
}
