import { expect, test } from 'vitest';
import { parseYamlText } from './yaml-body.ts';

// The expected JSON comes from sigs.k8s.io/yaml, with which kube-apiserver reads bodies.
test.each([
  ['12:30', '12:30'],
  ['190:20:30.15', '190:20:30.15'],
  ['2020-01-01', '2020-01-01'],
  ['2001-12-14 21:59:43.10 -5', '2001-12-14 21:59:43.10 -5'],
  ['!!timestamp 2020-01-01', '2020-01-01'],
  ['!!binary aGVsbG8=', 'hello'],
  ['!!omap [x: 1]', [{ x: 1 }]],
  ['!!set {x, z}', { x: null, z: null }],
  ['0o7', 7],
  ['0o8', '0o8'],
  ['010', 8],
  ['1_000', 1000],
  ['0b101', 5],
  ['yes', true],
])('%s is %j', (text, value) => {
  expect(parseYamlText(`a: ${text}`)).toEqual({ a: value });
});

test('a time as a key stays a text', () => {
  expect(parseYamlText('12:30: x\n2020-01-01: z')).toEqual({ '12:30': 'x', '2020-01-01': 'z' });
});

test.each([
  ['.inf', '+Inf'],
  ['-.Inf', '-Inf'],
  ['.NaN', 'NaN'],
])('%s is not JSON', (text, word) => {
  expect(() => parseYamlText(`a: [${text}]`)).toThrow(
    `error converting YAML to JSON: json: unsupported value: ${word}`,
  );
});

test.each(['@x', '`x'])('%s cannot start a value', (text) => {
  expect(() => parseYamlText(`a: ${text}`)).toThrow('yaml: found character that cannot start any token');
});
