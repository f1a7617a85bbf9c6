//! The classes of SP: sizes and reference values.

use crate::Class;
use crate::multipartition::{Problem, Reference};

/// What `class` consists of.
#[allow(clippy::too_many_lines)] // a table
pub fn problem(class: Class) -> Problem {
    match class {
        Class::S => Problem {
            n: 12,
            steps: 100,
            time_step: 0.015,
            reference: Reference {
                residual: [
                    2.7470315451339479e-2,
                    1.0360746705285417e-2,
                    1.6235745065095532e-2,
                    1.5840557224455615e-2,
                    3.4849040609362460e-2,
                ],
                error: [
                    2.7289258557377227e-5,
                    1.0364446640837285e-5,
                    1.6154798287166471e-5,
                    1.5750704994480102e-5,
                    3.4177666183390531e-5,
                ],
            },
        },
        Class::W => Problem {
            n: 36,
            steps: 400,
            time_step: 0.0015,
            reference: Reference {
                residual: [
                    0.1893253733584e-2,
                    0.1717075447775e-3,
                    0.2778153350936e-3,
                    0.2887475409984e-3,
                    0.3143611161242e-2,
                ],
                error: [
                    0.7542088599534e-4,
                    0.6512852253086e-5,
                    0.1049092285688e-4,
                    0.1128838671535e-4,
                    0.1212845639773e-3,
                ],
            },
        },
        Class::A => Problem {
            n: 64,
            steps: 400,
            time_step: 0.0015,
            reference: Reference {
                residual: [
                    2.4799822399300195,
                    1.1276337964368832,
                    1.5028977888770491,
                    1.4217816211695179,
                    2.1292113035138280,
                ],
                error: [
                    1.0900140297820550e-4,
                    3.7343951769282091e-5,
                    5.0092785406541633e-5,
                    4.7671093939528255e-5,
                    1.3621613399213001e-4,
                ],
            },
        },
        Class::B => Problem {
            n: 102,
            steps: 400,
            time_step: 0.001,
            reference: Reference {
                residual: [
                    0.6903293579998e2,
                    0.3095134488084e2,
                    0.4103336647017e2,
                    0.3864769009604e2,
                    0.5643482272596e2,
                ],
                error: [
                    0.9810006190188e-2,
                    0.1022827905670e-2,
                    0.1720597911692e-2,
                    0.1694479428231e-2,
                    0.1847456263981e-1,
                ],
            },
        },
        Class::C => Problem {
            n: 162,
            steps: 400,
            time_step: 0.00067,
            reference: Reference {
                residual: [
                    0.5881691581829e3,
                    0.2454417603569e3,
                    0.3293829191851e3,
                    0.3081924971891e3,
                    0.4597223799176e3,
                ],
                error: [0.2598120500183, 0.2590888922315e-1, 0.5132886416320e-1, 0.4806073419454e-1, 0.5483377491301],
            },
        },
    }
}
