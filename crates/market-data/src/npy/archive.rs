//! Reads the bytes of an array from a plain file, or from the member `data` of an archive.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use flate2::bufread::DeflateDecoder;
use rawzip::{CompressionMethod, ZipArchive};

use crate::defect::Defect;

/// The member with the rows, as NumPy names it in an archive.
const MEMBER: &[u8] = b"data.npy";

/// First bytes of an archive, and of an array.
const ARCHIVE: &[u8] = b"PK";

/// Bytes of an array. At the end of an archive's member its checksum is verified.
pub struct Bytes {
    input: Box<dyn Read + Send>,
    seal: Option<Seal>,
}

struct Seal {
    hasher: crc32fast::Hasher,
    crc: u32,
    left: u64,
}

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bytes").finish_non_exhaustive()
    }
}

impl Bytes {
    pub fn plain(input: impl Read + Send + 'static) -> Self {
        Self {
            input: Box::new(input),
            seal: None,
        }
    }

    /// The array in a file, or in an archive.
    pub fn of_file(mut file: File) -> Result<Self, Defect> {
        let mut first = [0; ARCHIVE.len()];
        let got = file.read(&mut first)?;
        file.rewind()?;
        if got == first.len() && first == ARCHIVE {
            Self::of_archive(file)
        } else {
            Ok(Self::plain(file))
        }
    }

    fn of_archive(file: File) -> Result<Self, Defect> {
        let unreadable = |error: rawzip::Error| Defect::Truncated {
            what: format!("the archive's directory cannot be read ({error})"),
        };
        let mut buffer = vec![0; rawzip::RECOMMENDED_BUFFER_SIZE];
        let archive = ZipArchive::from_file(file, &mut buffer).map_err(unreadable)?;
        let mut entries = archive.entries(&mut buffer);
        let mut names = Vec::new();
        let (method, wayfinder, crc, size) = loop {
            let Some(entry) = entries.next_entry().map_err(unreadable)? else {
                return Err(Defect::Format {
                    what: format!(
                        "the archive has no member data.npy; it has {}",
                        names.join(", ")
                    ),
                });
            };
            let name = entry.file_path();
            if name.as_ref() == MEMBER {
                break (
                    entry.compression_method(),
                    entry.wayfinder(),
                    entry.crc32(),
                    entry.uncompressed_size_hint(),
                );
            }
            if names.len() < 10 {
                names.push(String::from_utf8_lossy(name.as_ref()).into_owned());
            }
        };
        let entry = archive.get_entry(wayfinder).map_err(unreadable)?;
        let (from, to) = entry.compressed_data_range();
        let mut file = archive.into_inner().into_inner();
        file.seek(SeekFrom::Start(from))?;
        let member = file.take(to - from);
        let input: Box<dyn Read + Send> = match method {
            CompressionMethod::STORE => Box::new(member),
            CompressionMethod::DEFLATE => Box::new(DeflateDecoder::new(BufReader::with_capacity(
                64 << 10,
                member,
            ))),
            other => {
                return Err(Defect::Format {
                    what: format!(
                        "member data.npy is compressed by method {}, but only stored and deflated \
                         ones can be read",
                        other.as_u16()
                    ),
                });
            }
        };
        let seal = Seal {
            hasher: crc32fast::Hasher::new(),
            crc,
            left: size,
        };
        Ok(Self {
            input,
            seal: Some(seal),
        })
    }

    /// The defect of a failed read.
    pub fn defect(error: io::Error) -> Defect {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Defect::Truncated {
                what: error.to_string(),
            },
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => Defect::Damaged {
                what: error.to_string(),
            },
            _ => Defect::Io(error),
        }
    }
}

impl Read for Bytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.input.read(buffer)?;
        let Some(seal) = &mut self.seal else {
            return Ok(got);
        };
        seal.hasher.update(&buffer[..got]);
        seal.left = seal.left.checked_sub(got as u64).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                "the member is longer than the archive's directory states",
            )
        })?;
        if got == 0 && !buffer.is_empty() {
            if seal.left > 0 {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    format!("{} bytes of the archive's member are missing", seal.left),
                ));
            }
            if seal.hasher.clone().finalize() != seal.crc {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "the checksum of the archive's member does not match",
                ));
            }
            self.seal = None;
        }
        Ok(got)
    }
}
