import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** The IDs of all rows in docs/compatibility/rules-drivers.md. */
const ROWS = {
  aws: 'A1 A2 A4 A7 A9 A10 A11 A15 A16 A18 A19 A21 A22 A23 A24 A27 A28 A30 A32 A36 A37 A38 A39 A40 A41 A42 A43 A44 A45 A46 A47 A48 A49 A50 A51 A52 A54 A55 A56 A57 A59 A60 A61',
  azure:
    'Z2 Z4 Z5 Z7 Z9 Z10 Z12 Z13 Z14 Z16 Z17 Z18 Z20 Z22 Z24 Z25 Z26 Z28 Z29 Z30 Z31 Z33 Z34 Z35 Z36 Z39 Z40 Z42 Z43 Z44 Z45 Z46 Z48 Z49 Z50 Z51 Z52',
  gcp: 'G2 G3 G4 G7 G8 G9 G10 G11 G15 G16 G17 G18 G19 G20 G21 G23 G24 G25 G26 G27 G28 G29 G31 G32 G34 G36 G37 G39 G40 G41 G42 G43',
  local: 'P1 P2 P3 P4 P7 P10 P12 P13 P14 P15 P16 P19 P20',
};

const sourcesOf = (provider: string): readonly URL[] =>
  provider === 'local'
    ? [new URL('../../../../providers/local/src/pods/rows.test.ts', import.meta.url)]
    : readdirSync(new URL('.', import.meta.url), { recursive: true, encoding: 'utf8' })
        .filter(
          (file) => file === `${provider}.test.ts` || (file.startsWith(`${provider}/`) && file.endsWith('.test.ts')),
        )
        .map((file) => new URL(`./${file}`, import.meta.url));

test.each(Object.entries(ROWS))(
  'every row of docs/compatibility/rules-drivers.md for %s is a test with its name',
  (provider, rows) => {
    const source = sourcesOf(provider)
      .map((file) => readFileSync(file, 'utf8'))
      .join('\n');
    const named = new Set([...source.matchAll(/ \[([A-Z]\d+)\]'/g)].map(([, id]) => id));
    expect(rows.split(' ').filter((id) => !named.has(id))).toEqual([]);
  },
);
