//! The outermost layers of a box across x and y, which lie in pieces: copied to buffers, and from buffers to the
//! ghosts.

use super::shape::Shape;

/// How many points a layer across x or y has. The ghosts of a layer belong to it along the axes that were done before.
pub fn layer_points(shape: Shape, axis: usize) -> usize {
    let ([length, ..], [_, rows, planes]) = (shape.extents(), shape.interior);
    if axis == 0 { rows * planes } else { length * planes }
}

/// Copies the outermost layers across x or y to buffers: both at once, as the end of a row is beside the next one's
/// beginning.
pub fn copy_out(shape: Shape, axis: usize, inside: &[f64], [first, last]: [&mut [f64]; 2]) {
    let ([length, ..], [columns, rows, planes]) = (shape.extents(), shape.interior);
    if axis == 0 {
        let points = first.iter_mut().zip(last);
        for ((first, last), (y, z)) in points.zip(shape.interior_rows().of(0..planes).ascending()) {
            let row = &inside[shape.row(y, z)];
            (*first, *last) = (row[1], row[columns]);
        }
    } else {
        for ((first, last), z) in first.chunks_exact_mut(length).zip(last.chunks_exact_mut(length)).zip(0..planes) {
            first.copy_from_slice(&inside[shape.row(1, z)]);
            last.copy_from_slice(&inside[shape.row(rows, z)]);
        }
    }
}

/// Copies buffers to the layers of ghosts across x or y.
pub fn copy_in(shape: Shape, axis: usize, [below, above]: [&[f64]; 2], inside: &mut [f64]) {
    let ([length, ..], [columns, rows, planes]) = (shape.extents(), shape.interior);
    if axis == 0 {
        for ((below, above), (y, z)) in below.iter().zip(above).zip(shape.interior_rows().of(0..planes).ascending()) {
            let row = &mut inside[shape.row(y, z)];
            (row[0], row[columns + 1]) = (*below, *above);
        }
    } else {
        for ((below, above), z) in below.chunks_exact(length).zip(above.chunks_exact(length)).zip(0..planes) {
            inside[shape.row(0, z)].copy_from_slice(below);
            inside[shape.row(rows + 1, z)].copy_from_slice(above);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_end_in_the_ghosts_on_the_same_side() {
        let shape = Shape { interior: [2, 3, 4] };
        let inside: Vec<f64> = shape.inside().map(|point| point as f64).collect();
        for (axis, points, step) in [(0, 3 * 4, 1.0), (1, 4 * 4, 4.0)] {
            assert_eq!(layer_points(shape, axis), points);
            let (mut copy, mut layers) = (vec![-1.0; inside.len()], [vec![0.0; points], vec![0.0; points]]);
            copy_out(shape, axis, &inside, layers.each_mut().map(|layer| &mut layer[..]));
            copy_in(shape, axis, layers.each_ref().map(|layer| &layer[..]), &mut copy);
            let touched: Vec<_> = copy.iter().zip(&inside).filter(|(copy, _)| **copy >= 0.0).collect();
            assert_eq!(touched.len(), 2 * points);
            assert!(touched.iter().all(|(copy, original)| (*copy - *original).abs() == step));
        }
    }
}
