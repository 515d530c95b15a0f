import { expect, test } from 'vitest';
import { ascii, isAscii } from './ascii.ts';

test('trees, counts and dots are drawn in ASCII; other text is unchanged', () => {
  const drawn = '│  ├─ machine/m  – Größe (×3), the cloud’s\n│  └─ node/n  ● …';
  expect(ascii(drawn)).toBe("|  |- machine/m  - Größe (x3), the cloud's\n|  `- node/n  * ...");
});

test.each([
  [{ LANG: 'C' }, true],
  [{ LANG: 'POSIX' }, true],
  [{ LANG: 'de_DE.ISO-8859-1' }, true],
  [{ LC_ALL: 'C', LANG: 'en_US.UTF-8' }, true],
  [{ LC_ALL: '', LC_CTYPE: 'C', LANG: 'en_US.UTF-8' }, true],
  [{ LANG: 'C.UTF-8' }, false],
  [{ LANG: 'en_US.utf8' }, false],
  [{}, false],
])('%o means ASCII only: %s', (env, only) => {
  expect(isAscii(env)).toBe(only);
});
