//! Reads messages of Protocol Buffers field by field, without a schema and without copies.

/// Content of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content<'b> {
    /// An integer.
    Number(u64),
    /// A message, a string or packed numbers.
    Bytes(&'b [u8]),
    /// A number of fixed size, which nothing here needs.
    Fixed,
}

/// The fields of a message that are left, each with its number. The first one that is malformed ends them.
#[derive(Debug, Clone)]
pub struct Fields<'b>(pub &'b [u8]);

/// A field ends after its message, or has an unknown encoding.
#[derive(Debug)]
pub struct Malformed;

impl<'b> Fields<'b> {
    /// Takes an integer of variable size.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn bytes(&mut self, size: u64) -> Option<&'b [u8]> {
        let (found, rest) = self.0.split_at_checked(usize::try_from(size).ok()?)?;
        self.0 = rest;
        Some(found)
    }

    fn field(&mut self) -> Option<(u64, Content<'b>)> {
        let tag = self.number()?;
        let content = match tag & 7 {
            0 => Content::Number(self.number()?),
            1 => self.bytes(8).map(|_| Content::Fixed)?,
            2 => {
                let size = self.number()?;
                Content::Bytes(self.bytes(size)?)
            }
            5 => self.bytes(4).map(|_| Content::Fixed)?,
            _ => return None,
        };
        Some((tag >> 3, content))
    }

    /// Returns the packed integers.
    pub fn packed(mut self) -> Result<Vec<i64>, Malformed> {
        let mut numbers = Vec::new();
        while !self.0.is_empty() {
            numbers.push(self.number().ok_or(Malformed)? as i64);
        }
        Ok(numbers)
    }

    /// Calls `take` with the content of each field that has a number, which are bytes.
    pub fn each<E: From<Malformed>>(
        self,
        number: u64,
        mut take: impl FnMut(&'b [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        for field in self {
            if let (found, Content::Bytes(bytes)) = field?
                && found == number
            {
                take(bytes)?;
            }
        }
        Ok(())
    }

    /// Returns the content of the last field that has a number.
    pub fn last(self, number: u64) -> Result<Option<Content<'b>>, Malformed> {
        let mut last = None;
        for field in self {
            let (found, content) = field?;
            last = if found == number { Some(content) } else { last };
        }
        Ok(last)
    }

    /// Returns the message or the string in the last field that has a number; empty without one.
    pub fn part(self, number: u64) -> Result<Fields<'b>, Malformed> {
        Ok(match self.last(number)? {
            Some(Content::Bytes(bytes)) => Fields(bytes),
            Some(Content::Number(_) | Content::Fixed) | None => Fields(&[]),
        })
    }

    /// Returns the integer in the last field that has a number; 0 without one.
    pub fn integer(self, number: u64) -> Result<u64, Malformed> {
        Ok(match self.last(number)? {
            Some(Content::Number(found)) => found,
            Some(Content::Bytes(_) | Content::Fixed) | None => 0,
        })
    }
}

impl<'b> Iterator for Fields<'b> {
    type Item = Result<(u64, Content<'b>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.0 = &[];
        }
        Some(field.ok_or(Malformed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_end_with_their_message() {
        let message = [0x08, 0x96, 0x01, 0x12, 0x02, b'a', b'b', 0x1d, 0, 0, 0, 0, 0x08, 0x05];
        let fields: Vec<_> = Fields(&message).map(Result::unwrap).collect();
        assert_eq!(fields[..2], [(1, Content::Number(150)), (2, Content::Bytes(b"ab"))]);
        assert_eq!(Fields(&message).integer(1).unwrap(), 5);
        assert_eq!(Fields(&message).part(2).unwrap().0, b"ab");
        assert_eq!(Fields(&[0x96, 0x01, 0x02]).packed().unwrap(), [150, 2]);
        for wrong in [&message[..2], &message[..6], &[0xff; 11], &[0x0b], &[0x12, 0xff, 0xff, 0xff, 0xff, 0x0f]] {
            assert!(Fields(wrong).last(1).is_err(), "{wrong:?}");
        }
    }
}
