import { expect, test } from 'vitest';
import { startControlPlane } from '../../plane.ts';
import { deepestBracket, MAX_ALIASES, MAX_DEPTH, yamlExcess } from './nesting.ts';

const json = (depth: number): string => '{"a":'.repeat(depth - 1) + '[' + ']' + '}'.repeat(depth - 1);
const indented = (depth: number): string =>
  Array.from({ length: depth }, (_, level) => `${' '.repeat(level)}a:`).join('\n');

test('the depth of JSON is counted outside of its texts', () => {
  expect(deepestBracket(json(MAX_DEPTH))).toBeUndefined();
  expect(deepestBracket(json(MAX_DEPTH + 1))).toBe('[');
  expect(deepestBracket(`["${'['.repeat(2 * MAX_DEPTH)}\\"${'{'.repeat(2 * MAX_DEPTH)}"]`)).toBeUndefined();
  expect(deepestBracket('[],'.repeat(MAX_DEPTH))).toBeUndefined();
});

test.each([
  ['lists in brackets', '['],
  ['maps in braces', '{a: '],
  ['lists in lists', '- '],
  ['keys in keys', '? '],
])('the depth of YAML is counted: %s', (_, level) => {
  expect(yamlExcess(level.repeat(MAX_DEPTH + 1))).toBe('exceeded max depth of 10000');
  expect(yamlExcess(`${level.repeat(MAX_DEPTH / 2)}a`)).toBeUndefined();
});

test('the depth of YAML is counted by its indentation, which ends too', () => {
  expect(yamlExcess(indented(MAX_DEPTH + 1))).toBe(`line ${MAX_DEPTH + 1}: exceeded max depth of 10000`);
  expect(yamlExcess(indented(MAX_DEPTH))).toBeUndefined();
  expect(yamlExcess(Array.from({ length: 20 }, () => indented(100)).join('\n'))).toBeUndefined();
  expect(yamlExcess('- - a\n'.repeat(MAX_DEPTH))).toBeUndefined();
  expect(
    yamlExcess(`a: |\n${Array.from({ length: 1200 }, (_, at) => ' '.repeat(1 + at)).join('x\n')}`),
  ).toBeUndefined();
});

test('aliases of YAML are counted, signs of multiplication are not', () => {
  const aliases = (count: number): string => `a: &a [${'x'.repeat(MAX_DEPTH)}]\n${'- *a\n'.repeat(count)}`;
  expect(yamlExcess(aliases(MAX_ALIASES))).toBeUndefined();
  expect(yamlExcess(aliases(MAX_ALIASES + 1))).toBe('document contains excessive aliasing');
  expect(yamlExcess("- x *a\n- '*a'\n".repeat(MAX_DEPTH))).toBeUndefined();
});

const bomb = `a0: &a0 [x,x]\n${Array.from({ length: 30 }, (_, at) => `a${at + 1}: &a${at + 1} [*a${at}, *a${at}]`).join('\n')}`;

test.each([
  ['JSON', 'application/json', json(200_000), "invalid character '{' exceeded max depth"],
  ['a list without an end', 'application/json', '['.repeat(1_000_000), "invalid character '[' exceeded max depth"],
  ['JSON with braces in a text', 'application/json', `{"a":"${'{'.repeat(500_000)}]",,`, "invalid character ','"],
  ['YAML', 'application/yaml', '['.repeat(200_000), 'exceeded max depth of 10000'],
  ['YAML of commas', 'application/yaml', `[${','.repeat(3000)}]`, 'Unexpected , in flow sequence'],
  ['aliases of aliases', 'application/yaml', bomb, 'document contains excessive aliasing'],
])('a body that is too expensive to parse is refused at once: %s', async (_, type, body, words) => {
  const plane = await startControlPlane({ controllers: false });
  const send = (path: string, method: string, form: string): Promise<Response> =>
    plane.fetch(new Request(`https://plane${path}`, { method, headers: { 'content-type': form }, body }));
  const created = await send('/api/v1/namespaces/default/configmaps', 'POST', type);
  expect(created.status).toBe(400);
  expect(await created.text()).toContain(words);
  const patch = type === 'application/yaml' ? 'application/apply-patch+yaml' : 'application/merge-patch+json';
  const patched = await send('/api/v1/namespaces/default?fieldManager=x', 'PATCH', patch);
  expect(patched.status).toBe(400);
  expect(await patched.text()).toContain(words);
  await plane.close();
});
