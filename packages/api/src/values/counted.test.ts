import { expect, test } from 'vitest';
import { counted } from './counted.ts';

test('a text counts one machine in the singular', () => {
  expect([0, 1, 2].map((count) => counted(count, 'machine'))).toEqual(['0 machines', '1 machine', '2 machines']);
});
