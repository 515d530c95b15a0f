import { expect, it } from 'vitest';
import { yamlText } from './yaml-text.ts';

it('sorts keys, and quotes what a parser of YAML 1.1 would read as something else', () => {
  const texts = {
    time: '2020-01-01T00:00:00Z',
    version: '518',
    word: 'yes',
    base: '1:20',
    none: '',
    plain: 'a b',
    colon: 'a: b',
  };
  expect(yamlText({ z: [1, true, null], ...texts })).toBe(
    [
      'base: "1:20"',
      "colon: 'a: b'",
      'none: ""',
      'plain: a b',
      'time: "2020-01-01T00:00:00Z"',
      'version: "518"',
      'word: "yes"',
      'z:',
      '- 1',
      '- true',
      '- null',
      '',
    ].join('\n'),
  );
});
