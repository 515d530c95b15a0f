import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { eachFormatted, formatted, OUTPUT_FORMATS } from './format.ts';

test('every format prints the same model; wide prints text', () => {
  const model = { name: 'a', items: [1] };
  const reported = Object.fromEntries(
    OUTPUT_FORMATS.map((format) => [format, formatted(format, model, (_, wide) => [`text ${wide}`]).join('\n')]),
  );
  expect([reported['text'], reported['wide']]).toEqual(['text false', 'text true']);
  expect([JSON.parse(reported['json'] ?? ''), parse(reported['yaml'] ?? '')]).toEqual([model, model]);
});

test('a sequence is one object per line, or one document each', () => {
  const models = [{ a: 1 }, { a: 2 }];
  const lines = models.flatMap((model) => eachFormatted('json', model, 'text'));
  expect(lines.map((line) => JSON.parse(line))).toEqual(models);
  const documents = models.flatMap((model) => eachFormatted('yaml', model, 'text')).join('\n');
  expect(parseAllDocuments(documents).map((document) => document.toJS())).toEqual(models);
  expect(eachFormatted('wide', {}, 'text')).toEqual(['text']);
});
