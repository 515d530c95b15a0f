import { expect, test } from 'vitest';
import { z } from 'zod';
import { issueText } from './issue-text.ts';

const textsFor = (schema: z.ZodType, value: unknown): readonly string[] =>
  (schema.safeParse(value).error?.issues ?? []).map(issueText);

test.each<[schema: z.ZodType, value: unknown, text: string]>([
  [z.string(), undefined, 'must be a string, but the field is missing'],
  [z.string(), 7, 'must be a string, not a number'],
  [z.number(), 'x', 'must be a number, not a string'],
  [z.number().int(), 1.5, 'must be an integer, not a number'],
  [z.array(z.string()), {}, 'must be a list, not an object'],
  [z.object({}), null, 'must be an object, not null'],
  [z.record(z.string(), z.string()), [], 'must be an object, not a list'],
  [z.boolean(), 'true', 'must be a boolean, not a string'],
  [z.number(), Number.NaN, 'must be a number, not NaN'],
  [z.enum(['small', 'large']), 'huge', 'must be one of small, large'],
  [z.enum(['small', 'large']), undefined, 'must be one of small, large'],
  [z.literal('v1'), 'v2', 'must be v1'],
  [z.string().min(1), '', 'must have at least 1 character'],
  [z.string().max(3), 'long text', 'must have at most 3 characters'],
  [z.array(z.string()).min(2), ['a'], 'must have at least 2 items'],
  [z.number().min(1), 0, 'must be at least 1'],
  [z.number().positive(), 0, 'must be more than 0'],
  [z.number().max(9), 10, 'must be at most 9'],
  [z.number().lt(9), 9, 'must be less than 9'],
])('default message %#: the text is $2', (schema, value, text) => {
  expect(textsFor(schema, value)).toEqual([text]);
});

test('a message that the author of the schema wrote stays', () => {
  expect(textsFor(z.string({ error: 'write the name of a zone' }), 7)).toEqual(['write the name of a zone']);
  expect(textsFor(z.string().regex(/^a/, 'must start with a'), 'b')).toEqual(['must start with a']);
});
