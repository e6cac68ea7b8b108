//! Small dense matrices: products and an inverse by elimination.

use crate::error::{Error, Result};

/// A matrix by rows; all rows are as long as the first.
#[derive(Clone, Debug)]
pub(super) struct Matrix {
    rows: Vec<Vec<f64>>,
}

impl Matrix {
    pub fn from_rows(rows: Vec<Vec<f64>>) -> Self {
        Self { rows }
    }

    pub fn column(values: &[f64]) -> Self {
        Self::from_rows(values.iter().map(|value| vec![*value]).collect())
    }

    pub fn into_column(self) -> Vec<f64> {
        self.rows.into_iter().flatten().collect()
    }

    pub fn row(&self, row: usize) -> &[f64] {
        &self.rows[row]
    }

    pub fn one_minus(&self) -> Self {
        let rows = self.rows.iter().enumerate().map(|(i, row)| {
            let element = |(j, value): (usize, &f64)| f64::from(u8::from(i == j)) - value;
            row.iter().enumerate().map(element).collect()
        });
        Self::from_rows(rows.collect())
    }

    pub fn times(&self, right: &Self) -> Self {
        let width = right.rows.first().map_or(0, Vec::len);
        let rows = self.rows.iter().map(|row| {
            let mut sums = vec![0.0; width];
            for (factor, other) in row.iter().zip(&right.rows) {
                for (sum, value) in sums.iter_mut().zip(other) {
                    *sum += factor * value;
                }
            }
            sums
        });
        Self::from_rows(rows.collect())
    }

    pub fn add(&mut self, other: &Self) {
        for (row, other) in self.rows.iter_mut().zip(&other.rows) {
            for (value, other) in row.iter_mut().zip(other) {
                *value += other;
            }
        }
    }

    /// The largest absolute value.
    pub fn largest(&self) -> f64 {
        let values = self.rows.iter().flatten();
        values.fold(0.0, |largest, value| value.abs().max(largest))
    }
}

/// The inverse, by Gauss–Jordan elimination with partial pivoting.
pub(super) fn invert(matrix: &Matrix) -> Result<Matrix> {
    const SINGULAR: Error = Error::NoSolution {
        name: "transitions",
    };
    let size = matrix.rows.len();
    let mut left = matrix.rows.clone();
    let mut right: Vec<Vec<f64>> = (0..size)
        .map(|i| (0..size).map(|j| f64::from(u8::from(i == j))).collect())
        .collect();
    for column in 0..size {
        let pivot = (column..size)
            .max_by(|a, b| left[*a][column].abs().total_cmp(&left[*b][column].abs()))
            .ok_or(SINGULAR)?;
        let value = left[pivot][column];
        if value.is_nan() || value.abs() <= 1e-14 {
            return Err(SINGULAR);
        }
        left.swap(column, pivot);
        right.swap(column, pivot);
        for element in left[column].iter_mut().chain(&mut right[column]) {
            *element /= value;
        }
        let (own_left, own_right) = (left[column].clone(), right[column].clone());
        for row in (0..size).filter(|row| *row != column) {
            let factor = left[row][column];
            if factor != 0.0 {
                subtract(&mut left[row], &own_left, factor);
                subtract(&mut right[row], &own_right, factor);
            }
        }
    }
    Ok(Matrix::from_rows(right))
}

fn subtract(row: &mut [f64], other: &[f64], factor: f64) {
    for (value, other) in row.iter_mut().zip(other) {
        *value -= factor * other;
    }
}
