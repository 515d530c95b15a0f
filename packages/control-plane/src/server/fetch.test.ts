import { expect, test } from 'vitest';
import { toFetch } from './fetch.ts';

const request = new Request('https://127.0.0.1/');

test.each<[title: string, headers: Record<string, string>, type: string | null]>([
  ['a type that is named stands', { 'content-type': 'application/json' }, 'application/json'],
  ['a type that is not named is not made up', {}, null],
])('%s', async (_title, headers, type) => {
  const response = toFetch({ status: 404, headers, body: '"ä"' }, request);
  expect([response.headers.get('content-type'), response.headers.get('content-length')]).toEqual([type, '4']);
  expect(await response.text()).toBe('"ä"');
});

test('an answer that nothing has changed has no body', () => {
  expect(toFetch({ status: 304, headers: { etag: '"x"' }, body: '' }, request).body).toBeNull();
});
