import { describe, expect, it } from 'vitest';
import { countIndexes, indexesProblem, sharedIndex } from './job-indexes.ts';

describe('completion indexes of a job', () => {
  it('a job counts the completion indexes of all intervals', () => {
    expect(countIndexes('', 10)).toBe(0);
    expect(countIndexes('0,2-4,9', 10)).toBe(5);
  });

  it('a job refuses a completion index beyond 64 bits as text that is no integer', () => {
    expect(indexesProblem('9223372036854775808', 10)).toBe(
      'cannot convert string to integer for index: "9223372036854775808"',
    );
    expect(indexesProblem('9223372036854775807', 10)).toBe('too large index: "9223372036854775807"');
  });

  it('finds the first index that two lists share and skips intervals that it cannot read', () => {
    expect(sharedIndex('1-3,5', '0,4-6', 10)).toBe(5);
    expect(sharedIndex('1-3,5', '0,4', 10)).toBeUndefined();
    expect(sharedIndex('x,3', 'y,3', 10)).toBe(3);
    expect(sharedIndex('', '0', 10)).toBeUndefined();
  });
});
