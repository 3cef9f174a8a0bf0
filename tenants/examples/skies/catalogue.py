"""Eight constellations: right ascension in hours, declination in degrees (J2000), apparent magnitude."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple


class Star(NamedTuple):
    name: str
    ra: float
    dec: float
    magnitude: float


class Constellation(NamedTuple):
    name: str
    meaning: str
    story: str
    stars: tuple[Star, ...]
    lines: tuple[tuple[int, int], ...]

    @property
    def brightest(self) -> Star:
        return min(self.stars, key=lambda star: star.magnitude)

    @property
    def centre(self) -> tuple[float, float]:
        """The middle as (hours, degrees): the mean of the stars' directions."""
        x = sum(math.cos(math.radians(s.dec)) * math.cos(math.radians(15 * s.ra)) for s in self.stars)
        y = sum(math.cos(math.radians(s.dec)) * math.sin(math.radians(15 * s.ra)) for s in self.stars)
        z = sum(math.sin(math.radians(s.dec)) for s in self.stars)
        return math.degrees(math.atan2(y, x)) / 15 % 24, math.degrees(math.atan2(z, math.hypot(x, y)))


def chain(*indices: int) -> tuple[tuple[int, int], ...]:
    return tuple(itertools.pairwise(indices))


CONSTELLATIONS = (
    Constellation(
        "Orion",
        "the hunter",
        "Three stars in a row make his belt; they point down to Sirius and up to Aldebaran.",
        (
            Star("Betelgeuse", 5.919, 7.41, 0.50),
            Star("Bellatrix", 5.419, 6.35, 1.64),
            Star("Mintaka", 5.533, -0.30, 2.23),
            Star("Alnilam", 5.604, -1.20, 1.69),
            Star("Alnitak", 5.679, -1.94, 1.77),
            Star("Saiph", 5.796, -9.67, 2.06),
            Star("Rigel", 5.242, -8.20, 0.13),
            Star("Meissa", 5.585, 9.93, 3.33),
        ),
        (*chain(7, 0, 4, 5, 6, 2, 1, 7), *chain(2, 3, 4)),
    ),
    Constellation(
        "Ursa Major",
        "the great bear",
        "Its seven brightest are the Plough. Merak and Dubhe point to the pole star.",
        (
            Star("Dubhe", 11.062, 61.75, 1.79),
            Star("Merak", 11.031, 56.38, 2.37),
            Star("Phecda", 11.897, 53.69, 2.44),
            Star("Megrez", 12.257, 57.03, 3.31),
            Star("Alioth", 12.900, 55.96, 1.77),
            Star("Mizar", 13.399, 54.93, 2.04),
            Star("Alkaid", 13.792, 49.31, 1.86),
        ),
        (*chain(0, 1, 2, 3, 0), *chain(3, 4, 5, 6)),
    ),
    Constellation(
        "Cassiopeia",
        "the queen",
        "A bright W across the pole from the Plough, up all night from most of Europe.",
        (
            Star("Caph", 0.153, 59.15, 2.27),
            Star("Schedar", 0.675, 56.54, 2.23),
            Star("Gamma", 0.945, 60.72, 2.47),
            Star("Ruchbah", 1.430, 60.24, 2.68),
            Star("Segin", 1.906, 63.67, 3.37),
        ),
        chain(0, 1, 2, 3, 4),
    ),
    Constellation(
        "Cygnus",
        "the swan",
        "Flies along the Milky Way; Deneb, its tail, is one corner of the summer triangle.",
        (
            Star("Deneb", 20.690, 45.28, 1.25),
            Star("Sadr", 20.370, 40.26, 2.20),
            Star("Aljanah", 20.770, 33.97, 2.46),
            Star("Fawaris", 19.750, 45.13, 2.87),
            Star("Eta", 19.938, 35.08, 3.89),
            Star("Albireo", 19.512, 27.96, 3.18),
        ),
        (*chain(0, 1, 4, 5), *chain(2, 1, 3)),
    ),
    Constellation(
        "Lyra",
        "the lyre",
        "Small, and easy to find by Vega, the brightest star of the northern summer.",
        (
            Star("Vega", 18.616, 38.78, 0.03),
            Star("Zeta", 18.746, 37.61, 4.36),
            Star("Sheliak", 18.835, 33.36, 3.45),
            Star("Sulafat", 18.982, 32.69, 3.24),
            Star("Delta", 18.908, 36.90, 4.30),
        ),
        (*chain(0, 1, 2, 3, 4, 1),),
    ),
    Constellation(
        "Leo",
        "the lion",
        "A hook like a mirrored question mark is his mane; Regulus is the dot below it.",
        (
            Star("Regulus", 10.140, 11.97, 1.35),
            Star("Eta", 10.122, 16.76, 3.48),
            Star("Algieba", 10.333, 19.84, 2.01),
            Star("Adhafera", 10.278, 23.42, 3.44),
            Star("Rasalas", 9.879, 26.01, 3.88),
            Star("Epsilon", 9.764, 23.77, 2.98),
            Star("Zosma", 11.235, 20.52, 2.56),
            Star("Chertan", 11.237, 15.43, 3.32),
            Star("Denebola", 11.818, 14.57, 2.14),
        ),
        (*chain(5, 4, 3, 2, 1, 0, 7, 8, 6, 2), *chain(6, 7)),
    ),
    Constellation(
        "Scorpius",
        "the scorpion",
        "Red Antares is its heart, and the tail curls into the thick of the Milky Way.",
        (
            Star("Acrab", 16.091, -19.81, 2.62),
            Star("Dschubba", 16.006, -22.62, 2.32),
            Star("Pi", 15.981, -26.11, 2.89),
            Star("Alniyat", 16.353, -25.59, 2.89),
            Star("Antares", 16.490, -26.43, 0.96),
            Star("Tau", 16.598, -28.22, 2.82),
            Star("Larawag", 16.836, -34.29, 2.29),
            Star("Mu", 16.865, -38.05, 3.04),
            Star("Zeta", 16.910, -42.36, 3.62),
            Star("Eta", 17.203, -43.24, 3.33),
            Star("Sargas", 17.622, -43.00, 1.87),
            Star("Iota", 17.793, -40.13, 3.03),
            Star("Kappa", 17.708, -39.03, 2.41),
            Star("Shaula", 17.560, -37.10, 1.63),
        ),
        (*chain(0, 1, 2), *chain(1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)),
    ),
    Constellation(
        "Crux",
        "the southern cross",
        "The smallest of all, and the one that leads southerners to their pole.",
        (
            Star("Acrux", 12.443, -63.10, 0.76),
            Star("Mimosa", 12.795, -59.69, 1.25),
            Star("Gacrux", 12.519, -57.11, 1.63),
            Star("Imai", 12.252, -58.75, 2.79),
        ),
        (*chain(0, 2), *chain(1, 3)),
    ),
)

BY_NAME = {c.name: c for c in CONSTELLATIONS}


def flat(constellation: Constellation) -> list[tuple[float, float]]:
    """Each star's place on a flat chart, -1 to 1 both ways, north up and east to the left as seen from the ground."""
    ra0, dec0 = (math.radians(v) for v in (15 * constellation.centre[0], constellation.centre[1]))
    places = []
    for star in constellation.stars:  # gnomonic projection about the centre
        ra, dec = math.radians(15 * star.ra), math.radians(star.dec)
        depth = math.sin(dec0) * math.sin(dec) + math.cos(dec0) * math.cos(dec) * math.cos(ra - ra0)
        x = math.cos(dec) * math.sin(ra - ra0) / depth
        y = (math.cos(dec0) * math.sin(dec) - math.sin(dec0) * math.cos(dec) * math.cos(ra - ra0)) / depth
        places.append((-x, y))
    left, right = min(x for x, _ in places), max(x for x, _ in places)
    low, high = min(y for _, y in places), max(y for _, y in places)
    half = max(right - left, high - low) / 2
    return [(round((x - (left + right) / 2) / half, 4), round((y - (low + high) / 2) / half, 4)) for x, y in places]


def place(constellation: Constellation, latitude: float, month: int, hour: float) -> tuple[float, float]:
    """(altitude, azimuth) in degrees of its middle, in the middle of the month at `hour` local solar time."""
    ra, dec = constellation.centre
    day = 30.44 * (month - 0.5)
    sidereal = (hour + 24 * (day - 265) / 365.25 + 0) % 24  # sidereal time equals solar time about 22 September
    angle, dec, latitude = math.radians(15 * (sidereal - ra)), math.radians(dec), math.radians(latitude)
    up = math.sin(latitude) * math.sin(dec) + math.cos(latitude) * math.cos(dec) * math.cos(angle)
    north = math.cos(latitude) * math.sin(dec) - math.sin(latitude) * math.cos(dec) * math.cos(angle)
    east = -math.cos(dec) * math.sin(angle)
    return math.degrees(math.asin(up)), math.degrees(math.atan2(east, north)) % 360
