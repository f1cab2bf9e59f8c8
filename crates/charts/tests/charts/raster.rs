//! Curves as pixels, for a comparison that knows nothing of how a curve was reduced.

/// A position in drawn pixels, downwards.
pub(crate) type Place = (f64, f64);

/// The pixels that lines pass through.
pub(crate) struct Raster {
    width: i64,
    height: i64,
    inked: Vec<bool>,
}

impl Raster {
    /// Draws the line through `corners`; parts outside are left out.
    pub(crate) fn of(corners: &[Place], (width, height): (i64, i64)) -> Self {
        let mut raster = Self { width, height, inked: vec![false; (width * height) as usize] };
        if let [(x, y)] = corners {
            raster.ink(*x, *y);
        }
        for pair in corners.windows(2) {
            let [(x0, y0), (x1, y1)] = [pair[0], pair[1]];
            let steps = ((x1 - x0).abs().max((y1 - y0).abs()) * 2.0).ceil().max(1.0);
            for i in 0..=steps as i64 {
                let share = i as f64 / steps;
                raster.ink(x0 + (x1 - x0) * share, y0 + (y1 - y0) * share);
            }
        }
        raster
    }

    fn ink(&mut self, x: f64, y: f64) {
        let (x, y) = (x.floor() as i64, y.floor() as i64);
        if (0..self.width).contains(&x) && (0..self.height).contains(&y) {
            self.inked[(y * self.width + x) as usize] = true;
        }
    }

    fn is_inked(&self, x: i64, y: i64) -> bool {
        (0..self.width).contains(&x)
            && (0..self.height).contains(&y)
            && self.inked[(y * self.width + x) as usize]
    }

    /// Returns a pixel of this curve that is further than `most` pixels from every one of `other`,
    /// horizontally or vertically.
    fn stray(&self, other: &Self, most: i64) -> Option<(i64, i64)> {
        let near = |x: i64, y: i64| {
            other.is_inked(x, y)
                || (-most..=most).any(|dx| (-most..=most).any(|dy| other.is_inked(x + dx, y + dy)))
        };
        let all = (0..self.height).flat_map(|y| (0..self.width).map(move |x| (x, y)));
        all.into_iter().find(|(x, y)| self.is_inked(*x, *y) && !near(*x, *y))
    }
}

/// Returns a place at which one of two curves is further than `most` pixels from the other.
pub(crate) fn difference(
    a: &[Place],
    b: &[Place],
    size: (i64, i64),
    most: i64,
) -> Option<(&'static str, i64, i64)> {
    let (a, b) = (Raster::of(a, size), Raster::of(b, size));
    let missing = a.stray(&b, most).map(|(x, y)| ("not drawn", x, y));
    missing.or_else(|| b.stray(&a, most).map(|(x, y)| ("drawn", x, y)))
}

/// Returns the corners of a staircase whose values hold to the next point.
pub(crate) fn staircase(points: &[Place]) -> Vec<Place> {
    let mut corners = Vec::new();
    for (x, y) in points {
        if let Some((_, before)) = corners.last().copied() {
            corners.push((*x, before));
        }
        corners.push((*x, *y));
    }
    corners
}
