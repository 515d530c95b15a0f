import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../root.ts';
import { THOROUGH_ONLY } from './thorough-only.ts';

test('each file of the list exists', () => {
  expect(THOROUGH_ONLY.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});
