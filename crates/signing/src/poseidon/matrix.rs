//! The little linear algebra needed to prepare the fast permutation. Runs once per width.

use ark_ff::{AdditiveGroup, Field as _};

use crate::field::Fq;
use crate::wide::dot;

/// A dense matrix as a list of rows.
pub(crate) type Matrix = Vec<Vec<Fq>>;

/// row · matrix.
pub(crate) fn row_times(row: &[Fq], matrix: &Matrix) -> Vec<Fq> {
    let columns = transpose(matrix);
    columns.iter().map(|column| dot(row, column)).collect()
}

/// matrix · column.
pub(crate) fn times_column(matrix: &Matrix, column: &[Fq]) -> Vec<Fq> {
    matrix.iter().map(|row| dot(row, column)).collect()
}

/// left · right.
pub(crate) fn product(left: &Matrix, right: &Matrix) -> Matrix {
    left.iter().map(|row| row_times(row, right)).collect()
}

/// Rows become columns.
pub(crate) fn transpose(matrix: &Matrix) -> Matrix {
    let width = matrix.first().map_or(0, Vec::len);
    (0..width)
        .map(|j| matrix.iter().map(|row| row[j]).collect())
        .collect()
}

/// The inverse of a square matrix, or nothing if it is singular.
pub(crate) fn inverse(matrix: &Matrix) -> Option<Matrix> {
    let n = matrix.len();
    let mut work: Matrix = matrix.clone();
    let mut result: Matrix = (0..n)
        .map(|i| (0..n).map(|j| Fq::from(u64::from(i == j))).collect())
        .collect();
    for column in 0..n {
        let pivot = (column..n).find(|&row| work[row][column] != Fq::ZERO)?;
        work.swap(column, pivot);
        result.swap(column, pivot);
        let scale = work[column][column].inverse()?;
        for cell in work[column].iter_mut().chain(result[column].iter_mut()) {
            *cell *= scale;
        }
        let (work_pivot, result_pivot) = (work[column].clone(), result[column].clone());
        for row in (0..n).filter(|&row| row != column) {
            let factor = work[row][column];
            let pairs = work[row]
                .iter_mut()
                .zip(&work_pivot)
                .chain(result[row].iter_mut().zip(&result_pivot));
            for (cell, pivot_cell) in pairs {
                *cell -= factor * pivot_cell;
            }
        }
    }
    Some(result)
}
