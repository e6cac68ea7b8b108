//! The same signature scheme on arkworks as it comes: generic scalar multiplication, the permutation as specified.
//!
//! Its results must be accepted by the crate it is compared with, which makes it a second opinion as well.

use ark_ec::{AffineRepr, CurveGroup};
use ark_ed_on_bn254::{EdwardsAffine, EdwardsProjective, Fq, Fr};
use ark_ff::{AdditiveGroup, BigInteger, Field, MontFp, PrimeField};
use blake2::digest::consts::U32;
use blake2::{Blake2b, Digest};
use sha2::Sha512;

/// arkworks has the curve with a = 1: its x is this times the x of the wire.
const SCALE: Fq =
    MontFp!("7214280148105020021932206872019688659210616427216992810330019057549499971851");
const BASE_X: Fq =
    MontFp!("16540640123574156134436876038791482806971768689494387082833631921987005038935");
const BASE_Y: Fq =
    MontFp!("20819045374670962167435360035096875258406992893633759881276124905556507972311");

/// The permutation for one width.
pub struct Poseidon {
    partial: usize,
    constants: Vec<Fq>,
    mds: Vec<Vec<Fq>>,
}

impl Poseidon {
    pub fn new(width: usize, partial: usize) -> Self {
        let m = chain(b"poseidon_matrix_0000", 2 * width);
        let cell = |i: usize, j: usize| (m[i] - m[width + j]).inverse().expect("distinct");
        Self {
            partial,
            constants: chain(b"poseidon_constants", 6 + partial),
            mds: (0..width)
                .map(|i| (0..width).map(|j| cell(i, j)).collect())
                .collect(),
        }
    }

    pub fn hash(&self, inputs: &[Fq]) -> Fq {
        let mut state = inputs.to_vec();
        state.resize(self.mds.len(), Fq::ZERO);
        for (round, constant) in self.constants.iter().enumerate() {
            state.iter_mut().for_each(|cell| *cell += constant);
            let full = round < 3 || round >= 3 + self.partial;
            let cells = if full { state.len() } else { 1 };
            state[..cells]
                .iter_mut()
                .for_each(|cell| *cell *= cell.square().square());
            let mix = |row: &Vec<Fq>| row.iter().zip(&state).map(|(m, cell)| *m * cell).sum();
            state = self.mds.iter().map(mix).collect();
        }
        state[0]
    }
}

fn chain(label: &[u8], count: usize) -> Vec<Fq> {
    let first = Blake2b::<U32>::digest(label);
    let links = std::iter::successors(Some(first), |link| Some(Blake2b::<U32>::digest(link)));
    links
        .take(count)
        .map(|link| Fq::from_le_bytes_mod_order(&link))
        .collect()
}

/// A key pair.
pub struct Key {
    secret: Fr,
    public: EdwardsAffine,
    base: EdwardsAffine,
    unscale: Fq,
    challenge: Poseidon,
}

/// R in the wire's coordinates and S below the group order.
pub struct Signature {
    pub x: Fq,
    pub y: Fq,
    pub s: Fr,
}

impl Key {
    pub fn new(secret: u64) -> Self {
        let base = EdwardsAffine::new(BASE_X * SCALE, BASE_Y);
        let secret = Fr::from(secret);
        let public = (base * secret).into_affine();
        let unscale = SCALE.inverse().expect("not zero");
        Self {
            secret,
            public,
            base,
            unscale,
            challenge: Poseidon::new(6, 52),
        }
    }

    pub fn sign(&self, message: Fq) -> Signature {
        let mut input = self.secret.into_bigint().to_bytes_le();
        input.extend(message.into_bigint().to_bytes_le());
        let nonce = Fr::from_le_bytes_mod_order(&Sha512::digest(&input));
        let point = (self.base * nonce).into_affine();
        let t = self.challenge(point.x * self.unscale, point.y, message);
        let s = nonce + self.secret * Fr::from_le_bytes_mod_order(&t.into_bigint().to_bytes_le());
        Signature {
            x: point.x * self.unscale,
            y: point.y,
            s,
        }
    }

    pub fn verify(&self, message: Fq, signature: &Signature) -> bool {
        let t = self.challenge(signature.x, signature.y, message);
        let r = EdwardsAffine::new_unchecked(signature.x * SCALE, signature.y);
        let right: EdwardsProjective = self.public.mul_bigint(t.into_bigint()) + r;
        r.is_on_curve() && self.base.mul_bigint(signature.s.into_bigint()) == right
    }

    fn challenge(&self, x: Fq, y: Fq, message: Fq) -> Fq {
        self.challenge
            .hash(&[x, y, self.public.x * self.unscale, self.public.y, message])
    }
}
