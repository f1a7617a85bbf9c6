//! FT, the Fourier transform benchmark: a diffusion equation solved in wave space. Each step multiplies by a Gaussian and
//! transforms back; every three-dimensional transform is one transpose of the whole grid among the ranks.

mod grid;
mod lines;
mod reference;

use crate::benchmark::Definition;
use crate::outcome::Outcome;
use crate::random::Generator;
use crate::timer::Stopwatch;
use crate::verify::Verification;
use crate::{Class, Options};
use grid::{Extent, Grid};
use rwmpi::{Buffer, Communicator, Result, Universe};

/// Real and imaginary part.
type Complex = [f64; 2];

/// What the frame must know of it.
pub const DEFINITION: Definition = Definition {
    process_counts: "a power of two",
    allows: |class, processes| {
        let Extent { y, z, .. } = extent(class);
        processes.is_power_of_two() && processes <= y * z
    },
    memory_per_rank: |class, processes| {
        let Extent { x, y, z } = extent(class);
        (4 * x * y * z / processes * size_of::<Complex>()) as u64 + (1 << 20)
    },
    has_any_source: false,
    operation_type: "floating point",
    run,
};

const SEED: u64 = 314_159_265;
const DIFFUSION: f64 = 1e-6;

fn extent(class: Class) -> Extent {
    let (x, y, z) = match class {
        Class::S => (64, 64, 64),
        Class::W => (128, 128, 32),
        Class::A => (256, 256, 128),
        Class::B => (512, 256, 256),
        Class::C => (512, 512, 512),
    };
    Extent { x, y, z }
}

fn points(class: Class) -> f64 {
    let Extent { x, y, z } = extent(class);
    (x * y * z) as f64
}

fn operations(class: Class) -> f64 {
    let (n, iterations) = (points(class), reference::checksums(class).len() as f64);
    n * (14.8157 + 7.19641 * n.ln() + (5.23518 + 7.21113 * n.ln()) * iterations)
}

/// The factors by which one step damps the waves, one for each axis: `exp(-4 alpha pi^2 k^2)` for the centred wave number k.
fn damping(length: usize) -> Vec<f64> {
    let exponent = -4.0 * DIFFUSION * std::f64::consts::PI * std::f64::consts::PI;
    let centred = |k: usize| ((k + length / 2) % length) as f64 - (length / 2) as f64;
    (0..length).map(|k| (exponent * centred(k) * centred(k)).exp()).collect()
}

/// The state of a run.
struct Problem {
    grid: Grid,
    /// The solution in wave space, and room for it in space.
    waves: Buffer<Complex>,
    space: Buffer<Complex>,
    damping: [Vec<f64>; 3],
}

impl Problem {
    fn new(world: &Communicator, universe: &Universe, class: Class) -> Result<Self> {
        let extent = extent(class);
        let grid = Grid::new(world, universe, extent)?;
        let (waves, space) = (universe.alloc(grid.len()), universe.alloc(grid.len()));
        Ok(Problem { grid, waves, space, damping: Default::default() })
    }

    /// Random initial values, transformed to wave space.
    fn begin(&mut self, corrupt: bool) -> Result<()> {
        let Extent { x, y, z } = self.grid.extent;
        self.damping = [x, y, z].map(damping);
        let (planes, rows) = self.grid.space_shape();
        for (plane, values) in self.waves.chunks_exact_mut(rows * x).enumerate() {
            let row = (self.grid.place_z * planes + plane) * y + self.grid.place_y * rows;
            let mut generator = Generator::new(SEED);
            generator.jump((2 * x * row) as u64);
            generator.fill(values.as_flattened_mut());
        }
        if corrupt {
            self.waves[0][0] += 0.5;
        }
        self.grid.forward(&mut self.waves)
    }

    /// One step of diffusion; `space` gets the solution after it.
    fn step(&mut self) -> Result<()> {
        let (rows, row_len) = self.grid.wave_shape();
        let (first_y, first_x) = (self.grid.place_z * rows, self.grid.place_y * row_len);
        let [along_x, along_y, along_z] = &self.damping;
        let along_x = &along_x[first_x..first_x + row_len];
        let lines = self.waves.chunks_exact_mut(row_len).zip(self.space.chunks_exact_mut(row_len));
        for (row, (waves, space)) in lines.enumerate() {
            let factor = along_z[row / rows] * along_y[first_y + row % rows];
            for ((wave, space), along_x) in waves.iter_mut().zip(space).zip(along_x) {
                *wave = wave.map(|part| part * (factor * along_x));
                *space = *wave;
            }
        }
        self.grid.inverse(&mut self.space)
    }

    /// The sum of 1024 scattered values, at rank 0.
    fn checksum(&self, world: &Communicator) -> Result<Complex> {
        let Extent { x, y, z } = self.grid.extent;
        let (planes, rows) = self.grid.space_shape();
        let mut sum = [0.0; 2];
        for j in 1..=1024 {
            let (px, py, pz) = (j % x, 3 * j % y, 5 * j % z);
            if (pz / planes, py / rows) == (self.grid.place_z, self.grid.place_y) {
                let [re, im] = self.space[(pz % planes * rows + py % rows) * x + px];
                sum = [sum[0] + re, sum[1] + im];
            }
        }
        let mut total = [[0.0; 2]];
        world.reduce(&[sum], &mut total, |a: &Complex, b: &Complex| [a[0] + b[0], a[1] + b[1]], 0)?;
        Ok(total[0].map(|part| part / (x * y * z) as f64))
    }
}

fn verify(checksums: &[Complex], class: Class) -> Verification {
    let mut verification = Verification::new();
    for (step, (sum, expected)) in checksums.iter().zip(reference::checksums(class)).enumerate() {
        let error = (sum[0] - expected[0]).hypot(sum[1] - expected[1]) / expected[0].hypot(expected[1]);
        let name = format!("checksum {} (modulus)", step + 1);
        verification.with_error(name, sum[0].hypot(sum[1]), expected[0].hypot(expected[1]), error, 1e-12);
    }
    verification
}

fn run(world: &Communicator, universe: &Universe, class: Class, options: &Options) -> Result<Outcome> {
    let corrupt = options.corrupt && world.rank() == world.size() - 1;
    // The first pass touches all memory and is not timed.
    let mut problem = Problem::new(world, universe, class)?;
    problem.begin(corrupt)?;
    world.barrier()?;
    let stopwatch = Stopwatch::start(universe);
    problem.begin(corrupt)?;
    let mut checksums = Vec::new();
    for _ in reference::checksums(class) {
        problem.step()?;
        checksums.push(problem.checksum(world)?);
    }
    let measurement = stopwatch.stop(universe);
    let Extent { x, y, z } = extent(class);
    Ok(Outcome {
        size: format!("{x}x{y}x{z}"),
        iterations: checksums.len() as u32,
        operations: operations(class),
        measurement,
        verification: verify(&checksums, class),
    })
}
