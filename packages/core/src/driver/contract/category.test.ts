import { expect, test } from 'vitest';
import { errorKindOf } from './category.ts';

test.each([
  ['ResourceExhausted', 'capacity or quota', 'the cloud'],
  ['Unauthenticated', 'credentials', 'the user'],
  ['PermissionDenied', 'credentials', 'the user'],
  ['InvalidArgument', 'invalid input', 'the user'],
  ['Unavailable', 'transient', 'a retry'],
  ['Internal', 'internal', 'the cloud'],
])('incident 29: %s is of the kind "%s", fixed by %s', (code, category, fault) => {
  expect(errorKindOf(code)).toEqual({ category, fault });
});

test('a text that is not a code has no kind', () => {
  expect([errorKindOf(''), errorKindOf('toString'), errorKindOf('Quota')]).toEqual([undefined, undefined, undefined]);
});
