import { expect, it } from 'vitest';
import { queryOf } from './query.ts';

it('omits parameters with an invalid escape or a semicolon, and reads the others', () => {
  const query = queryOf('/x?a=1&continue=%&b=%zz&c=x;y&d=%20e+f');
  expect([...query]).toEqual([
    ['a', '1'],
    ['d', ' e f'],
  ]);
  expect([...queryOf('/x')]).toEqual([]);
});
