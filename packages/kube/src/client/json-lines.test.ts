import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jsonLines } from './json-lines.ts';

async function* cut(text: string, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  let at = 0;
  for (let i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? 1;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

async function collect(chunks: AsyncIterable<Uint8Array>): Promise<string[]> {
  const all: string[] = [];
  for await (const lines of jsonLines(chunks)) all.push(...lines);
  return all;
}

describe('jsonLines', () => {
  test('the lines are the same for each split into chunks', async () => {
    const line = fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => !text.includes('\n'));
    await fc.assert(
      fc.asyncProperty(
        fc.array(line),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
        async (lines, sizes) => {
          const text = lines.map((each) => `${each}\n`).join('');
          expect(await collect(cut(text, sizes))).toEqual(lines.map((each) => Buffer.from(each).toString()));
        },
      ),
    );
  });

  test('an unfinished last line is dropped', async () => {
    expect(await collect(cut('{"a":1}\n{"b"', [3]))).toEqual(['{"a":1}']);
  });

  test('empty lines are ignored', async () => {
    expect(await collect(cut('\n\n{}\n\n', [2]))).toEqual(['{}']);
  });

  test('a long line in many chunks is joined once', async () => {
    const text = `${'x'.repeat(3_000_000)}\n`;
    expect((await collect(cut(text, [100])))[0]?.length).toBe(3_000_000);
  });
});
